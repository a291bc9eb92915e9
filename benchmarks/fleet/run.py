"""How each routing does on simulated fleets: hits, waits and balance, beside one large cache.

    python -m benchmarks.fleet.run --traces DIR [--repeats 5] [--only conversation [--routing auto]]

The conversation trace comes to 8 replicas of 3,750 blocks by its times (its clock ticks in 3 s:
as it is, and spread) and from clients that wait; 200 coding sessions on one clock likewise, in
blocks of 512, and with caches far too small. Then gateways: one and two, exact and guessing.
Policies that draw are repeated with other draws, sessions are drawn anew. The same every run.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.machine import machine
from stemcache.lab.fleet.answer import fleet_as_json
from stemcache.lab.fleet.job import Job, jobs
from stemcache.lab.fleet.setup import Agreement, FleetSetup, Knowledge
from stemcache.lab.fleet.simulate import FleetSimulation, play_fleet, simulate_fleet
from stemcache.lab.question import Capacity, Question
from stemcache.lab.visit import visits
from stemcache.policy import route
from stemcache.trace.multiplex import Mix, multiplex
from stemcache.trace.open import open_trace
from stemcache.trace.record import TraceRequest

RESULTS = Path(__file__).with_name("results.json")
CONVERSATION = "mooncake_conversation.jsonl.gz"
SESSIONS = "claude_code_sessions_rle.jsonl.gz"
EIGHT = FleetSetup(replicas=8, capacity=Capacity(3_750), routings=tuple(sorted(route.NAMES)))
FIXED = frozenset({"prefix-hash", "round-robin", "session"})
"""Policies that draw nothing: once is enough."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A fleet, and what comes to it."""

    name: str
    load: str
    """`conversation` or `sessions`."""
    setup: FleetSetup
    labels: Callable[[FleetSetup, Row], str] = field(default=lambda _, row: str(row["routing"]))


def cases() -> Iterator[Case]:
    """All of them."""
    few = replace(EIGHT, routings=("auto", "cache-aware", "least-load", "round-robin"))
    yield Case("conversation", "conversation", EIGHT)
    yield Case("conversation, spread over 3 s", "conversation", replace(few, spread_s=3.0))
    yield Case("conversation, 32 clients", "conversation", replace(few, concurrency=32))
    yield Case("sessions", "sessions", EIGHT)
    aware = ("auto", "cache-aware", "session")
    small = replace(EIGHT, capacity=Capacity(976), routings=aware)
    yield Case("sessions, caches of 976 blocks", "sessions", small)
    for knowledge in Knowledge:
        for agreement in (None, *Agreement):
            setup = replace(
                EIGHT,
                routings=("auto",),
                knowledge=knowledge,
                routers=1 if agreement is None else 2,
                agreement=agreement or Agreement.ALONE,
            )
            yield Case("gateways", "conversation", setup, _gateways)


def _gateways(setup: FleetSetup, row: Row) -> str:
    del row
    count = "one" if setup.routers == 1 else f"two, {setup.agreement}"
    return f"{setup.knowledge}, {count}"


def requests(traces: Path, load: str, seed: int) -> list[TraceRequest]:
    """The conversation trace, or sessions drawn by the seed."""
    if load == "conversation":
        with open_trace(traces / CONVERSATION) as reader:
            return list(reader)
    with open_trace(traces / SESSIONS) as reader:
        return multiplex(reader, Mix(sessions=200, within_s=7200.0, cut_s=14_400.0, seed=seed))


def measured(case: Case, traces: Path, repeats: int) -> dict[str, list[Row]]:
    """Rows of each routing, one a repeat; the large cache and the ideal among them."""
    rows: dict[str, list[Row]] = {}
    reading = Question(regroup=8 if case.load == "sessions" else 1)
    made: FleetSimulation | None = None
    ready: Sequence[Job] = ()
    for seed in range(repeats):
        setup = replace(case.setup, seed=seed)
        if made is None or case.load == "sessions":
            held = requests(traces, case.load, seed)
            made = simulate_fleet(held, setup, reading)
            ready = jobs(visits(held, regroup=reading.regroup))
        else:  # the same trace: what draws is all that is repeated
            made = replace(
                made,
                outcomes=tuple(
                    play_fleet(ready, setup, name, capacity_blocks=made.capacity_blocks)
                    for name in setup.routings
                    if name not in FIXED
                ),
            )
        told = fleet_as_json(made, trace=case.load, unit="tokens")
        for name in ("ideal", "one_cache"):
            rows.setdefault(name, []).append(told[name])
        for row in told["results"]:
            rows.setdefault(case.labels(setup, row), []).append(_kept(row))
    return rows


def _kept(row: Row) -> Row:
    """What is worth keeping of a row."""
    wanted = ("block_hit_rate", "token_hit_rate", "of_one_cache", "ttft_s", "max_over_mean")
    return {
        **{name: row[name] for name in wanted},
        "reasons": row["reasons"],
        "mispredicted_tokens": row["mispredicted_tokens"],
        "computed_over_one_cache": row["computed_over_one_cache"],
        "requests": [each["requests"] for each in row["replicas"]],
        "computed_tokens": [each["computed_tokens"] for each in row["replicas"]],
    }


def line(name: str, rows: Sequence[Row]) -> str:
    """For who watches."""
    if "ttft_s" not in rows[0]:
        return f"  {name:16} {mean(row['token_hit_rate'] for row in rows):.4f}"
    shares = [row["of_one_cache"] for row in rows]
    waits = [mean(row["ttft_s"][of] for row in rows) for of in ("mean", "p50", "p99")]
    return (
        f"  {name:16} {mean(row['token_hit_rate'] for row in rows):.4f} of one cache "
        f"{mean(shares):.4f} ({min(shares):.4f}-{max(shares):.4f}) TTFT "
        + " ".join(f"{each:.3f}" for each in waits)
        + f" max/mean {mean(row['max_over_mean']['requests'] for row in rows):.3f}"
    )


def main() -> None:
    """Run, print and write after each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="this case; the others stay")
    parser.add_argument("--routing", default="", help="with --only: renew these rows alone")
    parser.add_argument("--output", type=Path, default=RESULTS)
    asked = parser.parse_args()
    report: dict[str, Any] = {"cases": {}}
    if asked.only and asked.output.exists():
        report = json.loads(asked.output.read_text(encoding="utf-8"))
    alone = frozenset(filter(None, asked.routing.split(",")))
    renewed: set[str] = set()
    for each in cases():
        case = each
        if asked.only not in {"", case.name}:
            continue
        if alone:
            routings = tuple(name for name in case.setup.routings if name in alone)
            case = replace(case, setup=replace(case.setup, routings=routings))
        rows = measured(case, asked.traces, asked.repeats)
        if case.name in renewed or alone:
            report["cases"][case.name]["rows"] |= rows
        else:
            print(case.name, flush=True)
            report["cases"][case.name] = {**machine(), "repeats": asked.repeats, "rows": rows}
            renewed.add(case.name)
        for name, of_name in rows.items():
            print(line(name, of_name), flush=True)
        asked.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
