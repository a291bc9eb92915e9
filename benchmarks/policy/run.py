"""How `odds` does beside `lru`, other policies and the optimum, and what each thing it knows gives.

    python -m benchmarks.policy.run --traces DIR [--seeds 6] [--no-ablations]

Hit rates come from the command that a user runs. `mooncake_conversation` is played as it is;
sessions are 200 of `claude_code_sessions` on one clock, in blocks of 512 tokens, once a seed.
Ablations hide one feature from the policy at a time. Everything but times is the same every run.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

from stemcache.lab.policy_cache import PolicyCache
from stemcache.lab.visit import Visit, visits
from stemcache.policy import evict
from stemcache.policy.evict.odds import FEATURES, Odds
from stemcache.policy.evict.returns import Returns, Stay
from stemcache.trace.multiplex import Mix, multiplex
from stemcache.trace.open import open_trace

RESULTS = Path(__file__).with_name("results.json")
CONVERSATION = "mooncake_conversation.jsonl.gz"
SESSIONS = "claude_code_sessions_rle.jsonl.gz"
BLOCKS = (1_000, 5_000, 10_000, 30_000, 50_000, 100_000)
TOKENS = ("0.5Mtok", "1Mtok", "2Mtok", "4Mtok", "8Mtok", "16Mtok")
TOKEN_BLOCKS = (976, 1_953, 3_906, 7_812, 15_625, 31_250)


class Blinded(Returns):
    """Returns that never look at some of the features."""

    def __init__(self, hidden: Iterable[int]) -> None:
        super().__init__(list(FEATURES.values()))
        self._hidden = frozenset(hidden)

    def _blind(self, kind: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if at in self._hidden else value for at, value in enumerate(kind))

    def observe(self, stay: Stay, *, returned: bool) -> None:
        """As if all hidden features had one value."""
        super().observe(stay._replace(kind=self._blind(stay.kind)), returned=returned)

    def fit(self, waiting: Iterable[Stay], *, requests: int) -> None:
        """As if all hidden features had one value."""
        stays = [stay._replace(kind=self._blind(stay.kind)) for stay in waiting]
        super().fit(stays, requests=requests)

    def index(self, kind: tuple[int, ...], age_s: float) -> float:
        """As if all hidden features had one value."""
        return super().index(self._blind(kind), age_s)


def simulated(trace: Path, *flags: str) -> dict[str, list[float]]:
    """Block hit rates by policy, in the order of the capacities, from the command."""
    command = [sys.executable, "-m", "stemcache", "simulate", str(trace), "--output-format", "json"]
    done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    rates: dict[str, list[float]] = {}
    for row in json.loads(done.stdout)["results"]:
        rates.setdefault(row["policy"], []).append(round(row["block_hit_rate"], 5))
    return rates


def played(policy: Any, capacity: int, trace: Sequence[Visit]) -> float:
    """Block hit rate."""
    cache = PolicyCache(policy, capacity)
    return sum(map(cache.feed, trace)) / sum(len(visit.ids) for visit in trace)


def timed(name: str, capacity: int, trace: Sequence[Visit]) -> dict[str, float]:
    """Processor time a request, and the longest that one request took."""
    cache = PolicyCache(evict.make(name), capacity)
    took: list[float] = []
    for visit in trace:
        start = time.process_time()
        cache.feed(visit)
        took.append(time.process_time() - start)
    took.sort()
    return {
        "mean_us": round(1e6 * mean(took), 1),
        "p99_us": round(1e6 * took[-len(took) // 100], 1),
        "max_us": round(1e6 * took[-1], 1),
    }


def costs(trace: Sequence[Visit]) -> dict[str, dict[str, Any]]:
    """Times by what was timed."""
    return {
        f"conversation, {capacity} blocks, {name}": timed(name, capacity, trace)
        for capacity in (1_000, 10_000, 100_000)
        for name in ("lru", "odds")
    } | {"commit": {"id": commit()}}


def commit() -> str:
    """What is measured."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def ablations(trace: Sequence[Visit], capacities: Sequence[int]) -> dict[str, list[float]]:
    """Without each feature, and with only one."""
    everything = range(len(FEATURES))
    cases: dict[str, Sequence[int]] = {"all": [], "none": everything}
    cases |= {f"without {name}": [at] for at, name in enumerate(FEATURES)}
    cases |= {
        f"only {name}": [other for other in everything if other != at]
        for at, name in enumerate(FEATURES)
    }
    rates: dict[str, list[float]] = {}
    for name, hidden in cases.items():
        rates[name] = []
        for capacity in capacities:
            policy = Odds(returns=Blinded(hidden))
            rates[name].append(round(played(policy, capacity, trace), 5))
        print(f"{name:20s}", rates[name], flush=True)
    return rates


def shares(rates: dict[str, list[float]], policy: str) -> list[float | None]:
    """Of the way from LRU to the optimum, how much a policy goes; None where there is none."""
    return [
        round((ours - lru) / (best - lru), 3) if best - lru > 1e-4 else None
        for ours, lru, best in zip(rates[policy], rates["lru"], rates["min"], strict=True)
    ]


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--no-ablations", action="store_true")
    parser.add_argument("--only-cost", action="store_true", help="renew the times alone")
    parser.add_argument("--output", type=Path, default=RESULTS)
    asked = parser.parse_args()
    conversation, sessions = asked.traces / CONVERSATION, asked.traces / SESSIONS
    if asked.only_cost:
        report = json.loads(asked.output.read_text())
        with open_trace(conversation) as reader:
            report["cost"] = costs(list(visits(reader)))
        asked.output.write_text(json.dumps(report, indent=1) + "\n")
        print(json.dumps(report["cost"], indent=1))
        return
    sizes = ",".join(map(str, BLOCKS))
    rates = simulated(
        conversation,
        *("--capacity", sizes),
        *("--policy", "lru,odds,cost,lfu,slru,fifo,arc,s3-fifo,min"),
    )
    for policy, row in rates.items():
        print(f"conversation {policy:8s}", row, flush=True)
    mixes: list[dict[str, list[float]]] = []
    for seed in range(asked.seeds):
        mixes.append(
            simulated(
                sessions,
                *("--multiplex", "200", "--merge-blocks", "8", "--seed", str(seed)),
                *("--capacity", ",".join(TOKENS), "--policy", "lru,odds,min"),
            )
        )
        for policy, row in mixes[-1].items():
            print(f"seed {seed} {policy:8s}", row, flush=True)
    with open_trace(conversation) as reader:
        chat = list(visits(reader))
    with open_trace(sessions) as reader:
        drawn = multiplex(reader, Mix(sessions=200, within_s=7200.0, cut_s=14_400.0, seed=0))
    mixed = list(visits(drawn, regroup=8))
    silent = [visit._replace(output_tokens=None) for visit in chat]
    untold = [visit._replace(output_tokens=None) for visit in mixed]
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "commit": commit(),
        "conversation": {
            "capacity_blocks": BLOCKS,
            "block_hit_rate": rates,
            "share_of_gap": {
                policy: shares(rates, policy) for policy in rates if policy not in {"lru", "min"}
            },
            "odds_without_output_lengths": [
                round(played(Odds(), capacity, silent), 5) for capacity in BLOCKS
            ],
        },
        "sessions": {
            "capacity": TOKENS,
            "seeds": [
                {"block_hit_rate": mix, "share_of_gap": shares(mix, "odds")} for mix in mixes
            ],
            "odds_without_output_lengths_seed_0": [
                round(played(Odds(), capacity, untold), 5) for capacity in TOKEN_BLOCKS
            ],
        },
        "cost": costs(chat),
    }
    if not asked.no_ablations:
        report["ablations"] = {
            "conversation": ablations(chat, BLOCKS),
            "sessions, seed 0": ablations(mixed, TOKEN_BLOCKS),
        }
    asked.output.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report["cost"], indent=1))


if __name__ == "__main__":
    main()
