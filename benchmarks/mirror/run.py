"""What the mirror takes: memory over a million prompts, and time to choose among 64 replicas.

    python -m benchmarks.mirror.run             writes benchmarks/mirror/results.json
    python -m benchmarks.mirror.run --quick     few prompts and repeats; writes nothing

One thread, a fixed seed. Memory is the process's resident set beside what the mirror accounts for
itself; its bound is 64 MiB, its seats are of unknown capacity, so that only the bound evicts. Times
are of calls one after another, by the clock and by processor time (a shared machine stops a thread
for milliseconds, which is no cost of the call's); percentiles of each repeat, median of repeats.
The garbage collector is on.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.machine import machine
from benchmarks.mirror.scenes import (
    KEYS,
    SEATS,
    Conversations,
    distinct,
    shared_by_groups,
    spine,
)
from stemcache.gateway.guess import Guess
from stemcache.gateway.keys import Keys
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Router
from stemcache.gateway.settings import GatewaySettings
from stemcache.gateway.usage import AnswerUsage
from stemcache.wire.api import Api

SEED = 20261130
RESULTS = Path(__file__).with_name("results.json")
BOUND = 64 * 2**20
BLOCK = 16

Report = dict[str, Any]


def resident() -> int:
    """Bytes of this process that are in memory."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(name: str, prompts: Iterator[list[int]], count: int) -> Report:
    """Route so many prompts, all of them different, over 64 seats."""
    gc.collect()
    before = resident()
    guess = Guess(most_bytes=BOUND)
    for seat in range(SEATS):
        guess.join(seat, capacity_units=None)
    most_used = most_resident = 0
    samples: list[Report] = []
    spent = time.process_time()
    for number, keys in enumerate(islice(prompts, count), start=1):
        seat = number % SEATS
        believed = guess.held(keys).get(seat, 0)
        guess.routed(seat, keys)
        guess.correct(seat, keys, held=believed)
        most_used = max(most_used, guess.bytes_used)
        if number % (count // 20) == 0:
            most_resident = max(most_resident, resident() - before)
            samples.append({"prompts": number, "accounted": guess.bytes_used})
    spent = time.process_time() - spent
    guess.check()
    held = sum(guess.held_units(seat) for seat in range(SEATS))
    return {
        "prompts": name,
        "count": count,
        "bound_bytes": BOUND,
        "most_accounted_bytes": most_used,
        "most_resident_bytes": most_resident,
        "units_held_at_the_end": held,
        "bytes_a_unit": round(guess.bytes_used / held, 1),
        "us_a_prompt_with_making_it": round(spent / count * 1e6, 1),
        "over_time": samples,
    }


class Calls:
    """Durations of one kind of call."""

    def __init__(self) -> None:
        self.clock_us: list[float] = []
        self.cpu_us: list[float] = []
        self._began = 0, 0

    def __enter__(self) -> None:
        """Begin one."""
        self._began = time.thread_time_ns(), time.perf_counter_ns()

    def __exit__(self, *_: object) -> None:
        """It has ended."""
        clock, cpu = time.perf_counter_ns(), time.thread_time_ns()
        self.clock_us.append((clock - self._began[1]) / 1e3)
        self.cpu_us.append((cpu - self._began[0]) / 1e3)


def percentiles(repeats: list[Calls]) -> Report:
    """Of each repeat; the median of repeats, and the worst one's p99."""
    report: Report = {"calls": len(repeats[0].cpu_us), "repeats": len(repeats)}
    for name in ("cpu_us", "clock_us"):
        cuts = [statistics.quantiles(getattr(each, name), n=100) for each in repeats]
        for part in (50, 90, 99):
            report[f"p{part}_{name}"] = round(statistics.median(cut[part - 1] for cut in cuts), 1)
        report[f"worst_p99_{name}"] = round(max(cut[98] for cut in cuts), 1)
    return report


def matching(calls: int, repeats: int) -> Report:
    """`held` and `routed` alone, on long conversations."""
    verbs: dict[str, list[Calls]] = {"held": [], "routed": [], "correct": []}
    for repeat in range(repeats):
        scene = Conversations(Random(SEED + repeat))
        guess = scene.guess
        for seat in range(SEATS):
            guess.join(seat, capacity_units=200_000)
        for seat, keys in scene.routed():
            guess.routed(seat, keys)
        held, routed, correct = Calls(), Calls(), Calls()
        gc.collect()
        for keys in islice(scene.follow_ups(), calls):
            with held:
                found = guess.held(keys)
            seat = max(found, key=found.__getitem__)
            with routed:
                guess.routed(seat, keys)
            with correct:
                guess.correct(seat, keys, held=found[seat])
        guess.check()
        for name, each in (("held", held), ("routed", routed), ("correct", correct)):
            verbs[name].append(each)
    return {
        "seats": SEATS,
        "keys": KEYS,
        "seats_that_held_some_of_the_last": len(found),
        "times": {name: percentiles(each) for name, each in verbs.items()},
    }


def choosing(calls: int, repeats: int) -> Report:
    """The whole router: views of 64 replicas and the choice, then what it learns."""
    verbs: dict[str, list[Calls]] = {"choose": [], "sent": [], "done": []}
    for repeat in range(repeats):
        scene = Conversations(Random(SEED + repeat))
        specs = tuple(ReplicaSpec(name=f"r{n}", url=f"http://r{n}") for n in range(SEATS))
        settings = GatewaySettings(replicas=specs, tokenizer="here")
        router = Router(settings, rng=Random(SEED))
        router.configure(settings, specs)
        now_s = 0.0
        for seat, keys in scene.routed():
            router.mirror.routed(seat, prompt_of(keys))
        choose, sent, done = Calls(), Calls(), Calls()
        gc.collect()
        for keys in islice(scene.follow_ups(), calls):
            prompt = prompt_of(keys)
            now_s += 0.05
            with choose:
                decision = router.choose(prompt, now_s=now_s)
            assert decision is not None, "somebody can take it"
            with sent:
                flight = router.sent(decision, prompt, now_s=now_s)
            now_s += 0.05
            router.first(flight, now_s=now_s)
            usage = AnswerUsage(decision.prompt_tokens, decision.predicted_cached, 100)
            with done:
                router.done(flight, usage, now_s=now_s)
        router.mirror.check()
        for name, each in (("choose", choose), ("sent", sent), ("done", done)):
            verbs[name].append(each)
    return {
        "policy": settings.policy,
        "replicas": SEATS,
        "keys": KEYS,
        "times": {name: percentiles(each) for name, each in verbs.items()},
    }


def prompt_of(keys: list[int]) -> Prompt:
    """A tokenized prompt of so many blocks."""
    tokens = len(keys) * BLOCK
    return Prompt(
        api=Api.CHAT,
        model="m",
        stream=True,
        wants_usage=True,
        session=None,
        text=Keys(keys, BLOCK, False),
        text_bytes=4 * tokens,
        tokens={BLOCK: Keys(keys, BLOCK, True)},
        prompt_tokens=tokens,
    )


def show(report: Report) -> None:
    """Lines for people."""
    for row in report["memory"]:
        print(
            f"{row['count']:>9,} {row['prompts']:<9} bound {row['bound_bytes'] / 2**20:.0f} MiB, "
            f"accounted {row['most_accounted_bytes'] / 2**20:.1f}, "
            f"resident {row['most_resident_bytes'] / 2**20:.1f}, {row['bytes_a_unit']} bytes a unit"
        )
    for part in ("matching", "choosing"):
        for verb, times in report[part]["times"].items():
            print(
                f"{verb:>9}  p50 {times['p50_cpu_us']:7.1f}  p99 {times['p99_cpu_us']:7.1f} us CPU"
                f"   p50 {times['p50_clock_us']:7.1f}  p99 {times['p99_clock_us']:7.1f} us"
            )


def main() -> int:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few prompts and repeats, no file")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    count, calls, repeats = (20_000, 200, 2) if options.quick else (1_000_000, 500, 5)
    gc.collect()
    gc.freeze()  # what importing made is no garbage, and no part of what is measured
    report: Report = {
        "machine": {**machine(), "load": [round(each, 2) for each in os.getloadavg()]},
        "seed": SEED,
        "memory": [],
    }
    scenes = {
        "distinct": (distinct, count),
        "grouped": (shared_by_groups, count // 20),
        "spine": (spine, count // 100),
    }
    for name, (scene, each) in scenes.items():
        report["memory"].append(memory(name, scene(Random(SEED)), each))
        print(f"  {each:,} {name} prompts done", file=sys.stderr)
    report["matching"] = matching(calls, repeats)
    report["choosing"] = choosing(calls, repeats)
    show(report)
    if not options.quick:
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
