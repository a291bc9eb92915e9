"""A simulated fleet as people read it."""

from typing import Any

from rich.console import Console, Group
from rich.text import Text

from stemcache.cli.durations import lasting
from stemcache.cli.fitting_table import Column, fitting_table
from stemcache.cli.printable import printable
from stemcache.lab.report.wording import compact, percent

__all__ = ["fleet_lines", "show_fleet"]

_MOST_REPLICAS = 16
"""Columns that a table of replicas has at most."""


def show_fleet(out: Console, answer: dict[str, Any]) -> None:
    """Facts, a row for each routing, who got what, and why."""
    out.print(Group(*_facts(answer), ""))
    fitting_table(out, _columns(answer))
    out.print("")
    fitting_table(out, _loads(answer))
    out.print(Group("", *_said(answer)))


def fleet_lines(answer: dict[str, Any]) -> list[str]:
    """A line for each routing, to grep."""
    one, ideal = answer["one_cache"], answer["ideal"]
    lines = [
        f"{name} block={_rate(row['block_hit_rate'])} token={_rate(row['token_hit_rate'])}"
        for name, row in (("ideal", ideal), ("one-cache", one))
    ]
    for row in answer["results"]:
        waits = row["ttft_s"]
        lines.append(
            f"{row['routing']} block={_rate(row['block_hit_rate'])} "
            f"token={_rate(row['token_hit_rate'])} "
            + " ".join(f"ttft_{name}={waits[name]:.6f}" for name in ("mean", "p50", "p90", "p99"))
            + f" max_over_mean={row['max_over_mean']['requests']:.6f}"
        )
    return lines


def _facts(answer: dict[str, Any]) -> list[Text]:
    fleet, ideal, one = answer["fleet"], answer["ideal"], answer["one_cache"]
    unit, size = answer["unit"], answer["block_size"]
    if fleet["concurrency"] is not None:
        coming = f"from {_count(fleet['concurrency'], 'client')} that wait for their answers"
    else:
        pace = "" if fleet["speed"] == 1 else f", {fleet['speed']:g} times as fast"
        if fleet["spread_s"]:
            pace += f", those of one moment spread over {_waiting(fleet['spread_s'])}"
        coming = f"over {lasting(answer['span_s'])}{pace}"
    each = "no bound" if fleet["capacity_blocks"] is None else _blocks(fleet["capacity_blocks"])
    decode = "at once" if fleet["decode_rate"] is None else f"at {fleet['decode_rate']:,g}/s"
    gateways = fleet["gateways"]
    who = "one gateway" if gateways == 1 else f"{gateways} gateways ({fleet['agree']})"
    knows = {
        "exact": "what replicas hold",
        "guess": "what was sent there and what answers report",
    }[fleet["knowledge"]]
    lines = [
        (
            f"{printable(answer['trace'])}: {_count(answer['requests'], 'request')} {coming}, "
            f"{answer['prompt_tokens']:,} prompt {unit}, "
            f"{_count(answer['distinct_blocks'], 'distinct block')} of {size:,}"
        ),
        (
            f"{_count(fleet['replicas'], 'replica')} with {each} each ({fleet['policy']}), prefill "
            f"at {fleet['prefill_rate']:,g} {unit}/s and {_waiting(fleet['overhead_s'])}, answers "
            f"{decode} in {_count(fleet['slots'], 'slot')}; {who} with knowledge of {knows}"
        ),
        (
            f"hit rate of one cache as large as all: {percent(one['token_hit_rate'])} of {unit}, "
            f"{percent(one['block_hit_rate'])} of blocks; ideal: "
            f"{percent(ideal['token_hit_rate'])} and {percent(ideal['block_hit_rate'])}"
        ),
    ]
    return [Text(line) for line in lines]


def _columns(answer: dict[str, Any]) -> list[Column]:
    rows = answer["results"]

    def waits(name: str) -> list[str]:
        return [_waiting(row["ttft_s"][name]) for row in rows]

    def rates(name: str) -> list[str]:
        return [percent(row[name]) for row in rows]

    busiest = [max((each["busy"] or 0.0) for each in row["replicas"]) for row in rows]
    return [
        Column("routing", [row["routing"] for row in rows], left=True),
        Column("hit rate", rates("token_hit_rate")),
        Column("of blocks", rates("block_hit_rate"), spare=4),
        Column("of one cache", rates("of_one_cache"), spare=3),
        Column("of ideal", rates("efficiency"), spare=6),
        Column("TTFT mean", waits("mean")),
        Column("p50", waits("p50"), spare=2),
        Column("p90", waits("p90"), spare=5),
        Column("p99", waits("p99")),
        Column("max/mean", [f"{row['max_over_mean']['requests']:.2f}" for row in rows], spare=1),
        Column("busiest", [percent(each) for each in busiest], spare=7),
    ]


def _loads(answer: dict[str, Any]) -> list[Column]:
    """Requests and computed tokens of each replica, the busiest first."""
    rows = answer["results"]
    shown = min(answer["fleet"]["replicas"], _MOST_REPLICAS)
    names, ordered = [], []
    for row in rows:
        names += [row["routing"], ""]
        replicas = sorted(row["replicas"], key=lambda each: -each["requests"])[:shown]
        ordered += [
            [f"{each['requests']:,}" for each in replicas],
            [compact(each["computed_tokens"]) for each in replicas],
        ]
    columns = [
        Column("", names, left=True),
        Column("", ["requests", f"{answer['unit']} computed"] * len(rows), left=True),
    ]
    columns += [
        Column("busiest first" if not at else "", [cells[at] for cells in ordered], spare=at)
        for at in range(shown)
    ]
    return columns


def _said(answer: dict[str, Any]) -> list[Text]:
    """Why requests went where they went."""
    said = []
    for row in answer["results"]:
        reasons = sorted(row["reasons"].items(), key=lambda pair: -pair[1])
        words = ", ".join(f"{count / answer['requests']:.0%} {reason}" for reason, count in reasons)
        off = row["mispredicted_tokens"] / answer["prompt_tokens"] if answer["prompt_tokens"] else 0
        said.append(Text(f"{row['routing']}: {words}; its predictions were {off:.2%} off"))
    return said


def _blocks(number: int) -> str:
    return _count(number, "block")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _rate(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:.6f}"


def _waiting(seconds: float) -> str:
    """Milliseconds below a second, three digits."""
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms" if seconds else "0 s"
    return f"{seconds:.3g} s" if seconds < 100 else lasting(seconds)
