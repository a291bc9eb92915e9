"""Workers that die or are restarted under load, and streams that only wait."""

import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.route.measure import Load, Setup, figures
from benchmarks.route.routers import Kind, Running

__all__ = ["idle", "kill", "rolling"]

COSTS = {"capacity_blocks": 800, "block_s": 0.002}


def kill(kind: Kind, seed: int, *, midstream: bool, log: Path | None = None) -> Any:
    """SIGKILL of one of four workers a second into 2,000 requests, or into paced streams."""
    setup = Setup(
        plan={"kind": "zipf", "seed": seed, "count": 400 if midstream else 2_000},
        costs={**COSTS, "token_s": 0.01} if midstream else COSTS,
        concurrency=24,
        stream=midstream,
        tokens=100 if midstream else 1,
    )
    with ExitStack() as stack:
        fleet = setup.begin(stack, kind, apart=True)
        gateway = stack.enter_context(Running(kind, fleet, log))
        load = Load(setup.job(kind, [gateway.url]))
        deadline_s = time.monotonic() + 20
        while time.monotonic() < deadline_s:
            counts = fleet.counts()[1]
            if sum(each.get("requests", 0) for each in counts) > (100 if midstream else 400):
                break
            time.sleep(0.05)
        fleet.kill(1)
        report = load.end()
        found = figures(report, fleet.counts()[1])
    slowest = max(shot[2] - shot[0] for shot in report["shots"])
    return {**found, "slowest_s": round(slowest, 3)}


def rolling(kind: Kind, seed: int, *, stream: bool = False, log: Path | None = None) -> Any:
    """Every worker restarted in turn, a second apart, under load; each comes back empty."""
    setup = Setup(
        plan={"kind": "zipf", "seed": seed, "count": 6_000},
        costs=COSTS,
        concurrency=16,
        stream=stream,
        tokens=4 if stream else 1,
    )
    marks: list[float] = []
    samples: list[tuple[float, int, int]] = []
    over = threading.Event()
    with ExitStack() as stack:
        fleet = setup.begin(stack, kind, apart=True)
        gateway = stack.enter_context(Running(kind, fleet, log))

        def watch() -> None:
            while not over.wait(0.25):
                counts = fleet.counts()[1]
                samples.append(
                    (
                        time.monotonic(),
                        sum(each.get("characters", 0) for each in counts),
                        sum(each.get("cached_blocks", 0) for each in counts) * 64,
                    )
                )

        load = Load(setup.job(kind, [gateway.url]))
        watcher = threading.Thread(target=watch)
        watcher.start()
        time.sleep(5.0)
        for worker in range(4):
            marks.append(time.monotonic())
            fleet.restart(worker, 0.5)
            time.sleep(1.0)
        marks.append(time.monotonic())
        report = load.end()
        over.set()
        watcher.join()
        found = figures(report, fleet.counts()[1])
    rates = windows(samples)
    before = [rate for at_s, rate in rates if marks[0] - 2.0 < at_s < marks[0]]
    usual = sum(before) / len(before) if before else None
    lowest = min((rate for at_s, rate in rates if at_s > marks[0]), default=None)
    return {
        **found,
        "usual_hit_rate": round(usual, 3) if usual is not None else None,
        "lowest_hit_rate": round(lowest, 3) if lowest is not None else None,
        "restarts_took_s": round(marks[-1] - marks[0], 2),
        "recovered_s": recovered(rates, marks[-1], usual),
        "load_ended_s": round(report["begun_s"] + report["wall_s"] - marks[-1], 2),
        "outcomes": dict(Counter(shot[4] for shot in report["shots"])),
    }


def windows(samples: list[tuple[float, int, int]], span: int = 4) -> list[tuple[float, float]]:
    """Hit rates over the last `span` samples, at each."""
    found = []
    for before, now in zip(samples, samples[span:], strict=False):
        asked = now[1] - before[1]
        if asked > 0:
            found.append((now[0], (now[2] - before[2]) / asked))
    return found


def recovered(
    rates: list[tuple[float, float]], since_s: float, usual: float | None
) -> float | None:
    """Seconds until the hit rate is within two points of what it was; None: never."""
    for at_s, rate in rates:
        if usual is not None and at_s >= since_s and rate >= usual - 0.02:
            return round(at_s - since_s, 2)
    return None


def idle(kind: Kind, streams: int = 8_000, log: Path | None = None) -> Any:
    """So many streams that have begun and wait; what each costs the gateway in memory."""
    setup = Setup(
        plan={"kind": "zipf", "seed": 1, "count": streams, "groups": 1, "prefix": 200, "tail": 20},
        costs={"capacity_blocks": 800, "slots": streams + 100, "hold": True},
        stream=True,
        tokens=2,
    )
    with ExitStack() as stack:
        fleet = setup.begin(stack, kind)
        gateway = stack.enter_context(Running(kind, fleet, log))
        time.sleep(1.0)
        before = gateway.rss_bytes()
        load = Load(setup.job(kind, [gateway.url], hold_s=1.0))
        assert load.process.stdout is not None, "piped"
        load.process.stdout.readline()
        time.sleep(1.0)
        _, counts = fleet.counts()
        held = sum(each["running"] for each in counts)
        during = gateway.rss_bytes()
        used_s = gateway.cpu_s()
        time.sleep(3.0)
        used_s = gateway.cpu_s() - used_s
        fleet.tell("/release")
        report = load.end()
        time.sleep(2.0)
        after = gateway.rss_bytes()
    return {
        "streams": streams,
        "held": held,
        "rss_before_mb": round(before / 2**20, 1),
        "rss_held_mb": round(during / 2**20, 1),
        "rss_after_mb": round(after / 2**20, 1),
        "kib_per_stream": round((during - before) / 1024 / max(held, 1), 2),
        "cores_while_idle": round(used_s / 3.0, 4),
        "outcomes": dict(Counter(shot[4] for shot in report["shots"])),
    }
