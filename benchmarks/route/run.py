"""How well gateways send requests to their prefixes, and what they cost, all beside each other.

    python -m benchmarks.route.run zipf paced hot --peers DIR --write
    python -m benchmarks.route.run overhead --only 'stemcache*' --repeats 1
    python -m benchmarks.route.run conversation --traces DIR

DIR of `--peers` holds an environment each for `sglang`, `smg` and `vllm`, as scripts/bench-route
makes them. Every measurement has workers and gateways of its own; repeats are outermost, so that
what else the machine does meets all alike.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.route import faults, overhead
from benchmarks.route.measure import measure
from benchmarks.route.routers import DIRECT, Kind, kinds, named, versions
from benchmarks.route.scenarios import AWARE, TURNS, Scenario, scenarios

RESULTS = Path(__file__).with_name("results.json")
ROUND_ROBIN = (*TURNS, "stemcache round-robin")
OTHERS = ("overhead", "kill", "kill-midstream", "rolling", "rolling-stream", "idle")
_FAULTS = (
    "sglang-router cache_aware",
    "smg cache_aware",
    "vllm-router cache_aware",
    "stemcache auto",
)

_BRIEF = (
    *("hit_rate", "max_over_mean", "requests_per_s", "ttft_mean_ms", "ttft_p99_ms"),
    *("total_p50_ms", "total_p99_ms", "gateway_us_per_request", "load_and_workers_cores"),
    *("failed", "recovered_s", "slowest_s", "held", "kib_per_stream", "outcomes"),
)

Entry = dict[str, Any]


def brief(found: Entry) -> str:
    """One line of what matters."""
    return " ".join(f"{key}={found[key]}" for key in _BRIEF if key in found)


def rounds(
    chosen: Sequence[Kind], repeats: int, seed: int, once: Callable[[Kind, int], Entry]
) -> list[Entry]:
    """Every gateway in turn, so many times; one that fails is told, and not asked again."""
    entries: dict[str, Entry] = {
        kind.label: {"label": kind.label, "name": kind.name, "runs": []} for kind in chosen
    }
    for repeat in range(repeats):
        for kind in chosen:
            entry = entries[kind.label]
            if "error" in entry:
                continue
            try:
                found = once(kind, seed + repeat)
            except Exception as error:  # noqa: BLE001  # the others are measured all the same
                entry["error"] = f"{type(error).__name__}: {error}"[:300]
                print(f"  {kind.label:38} {entry['error']}", flush=True)
                continue
            entry["runs"].append(found)
            print(f"  {kind.label:38} {brief(found)}", flush=True)
    return list(entries.values())


def of_scenario(scenario: Scenario, every: list[Kind], asked: argparse.Namespace) -> Entry:
    """One scenario as results.json keeps it."""
    labels = asked.only or scenario.kinds
    chosen = [kind for kind in named(every, labels) if kind in named(every, scenario.kinds)]
    if asked.only:
        chosen = named(every, asked.only)
    for label in labels:
        if not named(every, [label]):
            print(f"  {label:38} left out: not installed", flush=True)
    repeats = asked.repeats or scenario.repeats
    setup = scenario.setup(asked.seed)
    return {
        "what": scenario.what,
        "parameters": {
            "workers": setup.workers,
            "costs": setup.costs,
            "concurrency": setup.concurrency,
            "stream": setup.stream,
            "gateways": setup.gateways,
            "plan": {name: value for name, value in setup.plan.items() if name != "path"},
        },
        **scenario.more(setup),
        "entries": rounds(
            chosen,
            repeats,
            asked.seed,
            lambda kind, seed: measure(scenario.setup(seed), kind, asked.log),
        ),
    }


def _cell(name: str, asked: argparse.Namespace, kind: Kind, seed: int) -> Entry:
    found: Entry = overhead.cell(name, kind, seed, asked.scale, asked.log)
    return found


def of_other(name: str, every: list[Kind], asked: argparse.Namespace) -> Entry:
    """Overhead, faults and idle streams."""
    if name == "overhead":
        chosen = named(every, asked.only or (*ROUND_ROBIN, *AWARE[:6], "stemcache auto"))
        wanted = [each for each in overhead.CELLS if not asked.cells or each in asked.cells]
        repeats = asked.repeats or 5
        cells = {}
        for each in wanted:
            print(f" {each}", flush=True)
            once = partial(_cell, each, asked)
            cells[each] = rounds([DIRECT, *chosen], repeats, asked.seed, once)
        return {"parameters": overhead.CELLS, "cells": cells}
    chosen = named(every, asked.only or _FAULTS)
    calls: dict[str, Callable[[Kind, int], Entry]] = {
        "kill": lambda kind, seed: faults.kill(kind, seed, midstream=False, log=asked.log),
        "kill-midstream": lambda kind, seed: faults.kill(kind, seed, midstream=True, log=asked.log),
        "rolling": lambda kind, seed: faults.rolling(kind, seed, log=asked.log),
        "rolling-stream": lambda kind, seed: faults.rolling(kind, seed, stream=True, log=asked.log),
        "idle": lambda kind, _seed: faults.idle(kind, asked.streams, log=asked.log),
    }
    repeats = asked.repeats or (1 if name == "idle" else 3)
    return {"entries": rounds(chosen, repeats, asked.seed, calls[name])}


def main() -> int:
    """Measure what was asked for; with --write renew its part of results.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scenario", nargs="+", help="names, or all")
    parser.add_argument("--peers", type=Path, default=os.environ.get("ROUTE_PEERS"))
    parser.add_argument("--traces", type=Path, default=os.environ.get("ROUTE_TRACES"))
    parser.add_argument("--only", nargs="+", help="labels of gateways; a star ends a beginning")
    parser.add_argument("--cells", nargs="+", help="of overhead")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--count", type=int, help="requests, for a quick look")
    parser.add_argument("--scale", type=float, default=1.0, help="of overhead's requests")
    parser.add_argument("--slower", type=float, default=1.0, help="stretch the traces' time")
    parser.add_argument("--streams", type=int, default=8_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="where gateways' output goes")
    parser.add_argument("--write", action="store_true", help="renew results.json")
    parser.add_argument("--output", type=Path, default=RESULTS)
    asked = parser.parse_args()
    every = kinds(Path(asked.peers).resolve() if asked.peers else None)
    with tempfile.TemporaryDirectory() as name:
        known = scenarios(Path(asked.traces or "."), Path(name), asked.count, asked.slower)
        wanted = [*known, *OTHERS] if asked.scenario == ["all"] else asked.scenario
        for each in wanted:
            if each not in known and each not in OTHERS:
                parser.error(f"unknown scenario {each!r}; there are {', '.join([*known, *OTHERS])}")
        for each in wanted:
            print(f"{each} (load {os.getloadavg()[0]:.2f})", flush=True)
            load = round(os.getloadavg()[0], 2)
            found = (
                of_scenario(known[each], every, asked)
                if each in known
                else of_other(each, every, asked)
            )
            found |= {"machine": machine(), "load_before": load, "seed": asked.seed}
            if asked.write:
                keep(asked.output, each, found, versions(Path(asked.peers or ".")))
    return 0


def keep(path: Path, name: str, found: Entry, seen: dict[str, str]) -> None:
    """Put one scenario's results in the file, beside what others it has."""
    report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"scenarios": {}}
    report["scenarios"][name] = found
    report["versions"] = {**report.get("versions", {}), **seen}
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
