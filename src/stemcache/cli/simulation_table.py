"""A simulation as people read it."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from stemcache.cli.durations import lasting
from stemcache.cli.fitting_table import Column, fitting_table
from stemcache.cli.printable import printable
from stemcache.lab.report.summary import nothing_found

__all__ = ["concise_lines", "show_simulation"]

_BAR_CELLS = 12
_MOST_TENANTS = 20
_MOST_TENANT_COLUMNS = 4


def show_simulation(out: Console, answer: dict[str, Any]) -> None:
    """Facts about the trace, a row for each cache, what follows from them."""
    out.print(Group(*_facts(answer), ""))
    fitting_table(out, _columns(answer))
    if answer["ideal"]["tenants"]:
        out.print("")
        fitting_table(out, _tenants(answer))
        out.print(Group(*_about_tenants(answer)))
    out.print(Group("", *_reading(answer)))


def concise_lines(answer: dict[str, Any]) -> list[str]:
    """A line for each cache, to grep."""
    ideal = answer["ideal"]
    lines = [f"ideal block={_rate(ideal['block_hit_rate'])} token={_rate(ideal['token_hit_rate'])}"]
    lines += [
        f"{row['policy']} capacity={_or_inf(row['capacity_blocks'])} ttl={_or_inf(row['ttl_s'])} "
        f"block={_rate(row['block_hit_rate'])} token={_rate(row['token_hit_rate'])}"
        for row in answer["results"]
    ]
    return lines


def _facts(answer: dict[str, Any]) -> list[Text]:
    unit, size = answer["unit"], answer["block_size"]
    ideal = answer["ideal"]
    alone = answer["caches"] != "one"
    lasts = f"{'sessions of up to' if alone else 'over'} {lasting(answer['span_s'])}"
    if answer["without_time"]:
        lasts = "without times"
    lines = [
        (
            f"{printable(answer['trace'])}: {_count(answer['requests'], 'request')}, {lasts}, "
            f"{answer['prompt_tokens']:,} prompt {unit}, "
            f"{_count(answer['distinct_blocks'], 'distinct block')} of {size:,}"
        ),
        (
            f"ideal hit rate {_percent(ideal['token_hit_rate']) or 'unknown'} of {unit}, "
            f"{_percent(ideal['block_hit_rate']) or 'unknown'} of blocks: what an unbounded cache "
            "finds, from cold"
        ),
    ]
    if alone:
        lines.append(
            "times count from the start of each session, so each session has a cache of its own; "
            "--multiplex puts them on one clock"
        )
    late = answer["out_of_order"]
    if late["requests"]:
        lines.append(
            f"{_count(late['requests'], 'request')} came before the one ahead in the file, by up "
            f"to {lasting(late['furthest_back_s'])}; they were taken in the file's order"
        )
    return [Text(line) for line in lines]


def _columns(answer: dict[str, Any]) -> list[Column]:
    """Every column that some row has something for; those that can be spared say so."""
    rows = answer["results"]

    def cells(*path: str) -> list[Any]:
        found = rows
        for name in path:
            found = [None if each is None else each.get(name) for each in found]
        return list(found)

    bound = ["no bound" if blocks is None else f"{blocks:,}" for blocks in cells("capacity_blocks")]
    held = [
        "" if blocks is None else _short(blocks * answer["block_size"])
        for blocks in cells("capacity_blocks")
    ]
    lives = ["no bound" if ttl_s is None else lasting(ttl_s) for ttl_s in cells("ttl_s")]
    columns = [
        Column("policy", cells("policy"), left=True),
        Column("blocks", bound),
        Column(answer["unit"], held, spare=2),
    ]
    if any(ttl_s is not None for ttl_s in cells("ttl_s")):
        columns.append(Column("time to live", lives))
    bars = ["━" * round(_BAR_CELLS * (rate or 0)) for rate in cells("token_hit_rate")]
    columns += [
        Column("hit rate", _percents(cells("token_hit_rate"))),
        Column("", bars, left=True, spare=5),
        Column("of ideal", _percents(cells("efficiency")), spare=1),
        Column("of blocks", _percents(cells("block_hit_rate")), spare=3),
    ]
    if any(cells("regret")):
        times = cells("regret", "computed_over_optimum")
        columns += [
            Column("regret", _percents(cells("regret", "block_hit_rate"))),
            Column("computed", ["" if each is None else f"{each:.2f}x" for each in times], spare=4),
        ]
    if any(cells("second_tier")):
        sizes = cells("second_tier", "capacity_blocks")
        columns += [
            Column("2nd tier", ["" if size is None else f"{size:,}" for size in sizes], spare=3),
            Column("found there", _percents(cells("second_tier", "token_hit_rate"))),
        ]
    if any(cells("keep_alive")):
        sent = cells("keep_alive", "requests")
        read = cells("keep_alive", "cached_tokens_read")
        columns += [
            Column("keep-alives", ["" if each is None else f"{each:,}" for each in sent]),
            Column(
                f"{answer['unit']} read",
                ["" if each is None else _short(each) for each in read],
                spare=2,
            ),
        ]
    return columns


def _shown_rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows worth a column for tenants: what is run before the optimum, spread over capacities."""
    rows = [row for row in answer["results"] if row["tenants"]]
    run = [row for row in rows if not row["policy"].startswith("min")] or rows
    if len(run) <= _MOST_TENANT_COLUMNS:
        return run
    step = (len(run) - 1) / (_MOST_TENANT_COLUMNS - 1)
    return [run[round(step * at)] for at in range(_MOST_TENANT_COLUMNS)]


def _largest_tenants(answer: dict[str, Any]) -> list[str]:
    tenants = answer["ideal"]["tenants"]
    return sorted(tenants, key=lambda name: -tenants[name]["prompt_tokens"])[:_MOST_TENANTS]


def _tenants(answer: dict[str, Any]) -> list[Column]:
    tenants, names = answer["ideal"]["tenants"], _largest_tenants(answer)
    columns = [
        Column("tenant", [printable(name) or "(none)" for name in names], left=True),
        Column("requests", [f"{tenants[name]['requests']:,}" for name in names], spare=1),
        Column("ideal", _percents([tenants[name]["token_hit_rate"] for name in names])),
    ]
    for row in _shown_rows(answer):
        capacity = row["capacity_blocks"]
        title = [row["policy"], "no bound" if capacity is None else _short(capacity)]
        if row["ttl_s"] is not None:
            title.append(lasting(row["ttl_s"]))
        of_each = [(row["tenants"].get(name) or {}).get("token_hit_rate") for name in names]
        columns.append(Column("\n".join(title), _percents(of_each)))
    return columns


def _about_tenants(answer: dict[str, Any]) -> list[RenderableType]:
    left = len(answer["ideal"]["tenants"]) - len(_largest_tenants(answer))
    rows = len(answer["results"]) - len(_shown_rows(answer))
    said = [f"{left:,} smaller tenants"] if left else []
    said += [f"{rows:,} of the rows above"] if rows else []
    return [f"not shown: {' and '.join(said)}; --output-format json has them"] if said else []


def _reading(answer: dict[str, Any]) -> list[str]:
    """What the LRU curve says, in a sentence."""
    if not answer["ideal"]["token_hit_rate"]:
        return [nothing_found(answer)]
    said = [
        f"{need['share_of_ideal']:.0%} of the ideal at "
        f"{_count(need['capacity_blocks'], 'block')} "
        f"({_short(need['capacity_blocks'] * answer['block_size'])} {answer['unit']})"
        for need in answer["lru_needs"]
        if need["capacity_blocks"] is not None
    ]
    each = "" if answer["caches"] == "one" else " a session"
    return [f"lru reaches {', '.join(said)}{each}."] if said else []


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _rate(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:.6f}"


def _or_inf(value: float | None) -> str:
    return "inf" if value is None else f"{value:g}"


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.1%}"


def _percents(rates: Sequence[float | None]) -> list[str]:
    return [_percent(rate) for rate in rates]


def _short(number: int) -> str:
    """Three digits or so, with a prefix."""
    for prefix, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g}{prefix}"
    return str(number)
