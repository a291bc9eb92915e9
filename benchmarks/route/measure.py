"""One measurement: fresh workers, fresh gateways, one load; what came of it as numbers."""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.route.cache import BLOCK_CHARACTERS, BlockCache
from benchmarks.route.processes import ROOT, Fleet
from benchmarks.route.redis import redis
from benchmarks.route.routers import Kind, Running

__all__ = ["Load", "Setup", "figures", "measure", "one_cache"]

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setup:
    """What is measured, but for the gateway."""

    plan: dict[str, Any]
    workers: int = 4
    costs: dict[str, Any] = field(default_factory=dict)
    concurrency: int | None = 24
    stream: bool = False
    tokens: int = 1
    gateways: int = 1
    warmup: int = 0

    def fleet(self, kind: Kind) -> dict[str, Any]:
        """The workers that this gateway needs."""
        return {
            "workers": self.workers,
            "costs": self.costs,
            "tokenize": kind.tokenize,
            "events": kind.events,
        }

    def begin(self, stack: ExitStack, kind: Kind, *, apart: bool = False) -> Fleet:
        """Start the workers, and the Redis that its gateways need, until the stack ends."""
        fleet = stack.enter_context(Fleet(self.fleet(kind), apart=apart))
        if kind.redis:
            fleet.redis = stack.enter_context(redis())
        return fleet

    def job(self, kind: Kind, targets: Sequence[str], **more: Any) -> dict[str, Any]:
        """The load."""
        return {
            "targets": list(targets),
            "plan": self.plan,
            "concurrency": self.concurrency,
            "stream": self.stream,
            "tokens": self.tokens,
            "session": kind.session,
            "warmup": self.warmup,
            **more,
        }


class Load:
    """A load process that has been begun; `end` waits for it and gives its report."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="route-load-")
        self._file = Path(self._folder.name) / "report.json"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.route.load", json.dumps(job), str(self._file)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )

    def end(self, limit_s: float = 600.0) -> Any:
        """What it reports; RuntimeError where it fails or takes longer."""
        try:
            code = self.process.wait(limit_s)
            if code != 0:
                raise RuntimeError(f"the load ended with {code}")
            return json.loads(self._file.read_bytes())
        finally:
            self.process.kill()
            self.process.wait()
            self._folder.cleanup()


def measure(setup: Setup, kind: Kind, log: Path | None = None) -> Figures:
    """Start everything, send the load, stop everything."""
    with ExitStack() as stack:
        fleet = setup.begin(stack, kind)
        gateways = [
            stack.enter_context(Running(kind, fleet, log, gateways=setup.gateways))
            for _ in range(setup.gateways)
        ]
        fleet.tell("/reset")
        before_s, _ = fleet.counts()
        used_s = sum(each.cpu_s() for each in gateways)
        report = Load(setup.job(kind, [each.url for each in gateways])).end()
        used_s = sum(each.cpu_s() for each in gateways) - used_s
        after_s, counts = fleet.counts()
        rss = sum(each.rss_bytes() for each in gateways)
    found = figures(report, counts)
    share = (after_s - before_s + report["cpu_s"]) / report["wall_s"]
    found["load_and_workers_cores"] = round(share, 3)
    found["gateway_us_per_request"] = round(1e6 * used_s / report["sent"], 1)
    found["gateway_cores"] = round(used_s / report["wall_s"], 3)
    found["gateway_rss_mb"] = round(rss / 2**20, 1)
    time.sleep(0.2)
    return found


def figures(report: Any, counts: Sequence[dict[str, Any]]) -> Figures:
    """What a load process and the workers' counts say together."""
    shots = report["shots"]
    outcomes = Counter(f"status {shot[3]}" if shot[4] == "status" else shot[4] for shot in shots)
    good = [shot for shot in shots if shot[4] == "ok"]
    ttft = np.array([shot[1] - shot[0] for shot in good] or [np.nan])
    total = np.array([shot[2] - shot[0] for shot in good] or [np.nan])
    requests = [each.get("requests", 0) for each in counts]
    characters = sum(each.get("characters", 0) for each in counts)
    cached = sum(each.get("cached_blocks", 0) for each in counts) * BLOCK_CHARACTERS
    busy = [each.get("busy_s", 0.0) for each in counts]
    return {
        "hit_rate": round(cached / characters, 4) if characters else None,
        "requests": requests,
        "max_over_mean": _imbalance(requests),
        "busy_max_over_mean": _imbalance(busy),
        "busy_share": round(sum(busy) / len(busy) / report["wall_s"], 3) if busy else 0.0,
        "requests_per_s": round(len(good) / report["wall_s"], 1),
        "ttft_mean_ms": _ms(ttft.mean()),
        "ttft_p50_ms": _ms(np.percentile(ttft, 50)),
        "ttft_p99_ms": _ms(np.percentile(ttft, 99)),
        "total_p50_ms": _ms(np.percentile(total, 50)),
        "total_p99_ms": _ms(np.percentile(total, 99)),
        "failed": {name: count for name, count in outcomes.items() if name != "ok"},
        "wall_s": round(report["wall_s"], 2),
        "upstream_connections": sum(each.get("connections", 0) for each in counts),
        "worker_requests": sum(requests),
    }


def one_cache(texts: Sequence[Sequence[int]], capacity_blocks: int) -> float:
    """Block hit rate of one cache of so many blocks that sees every prompt in order."""
    cache = BlockCache(capacity_blocks)
    asked = found = 0
    for keys in texts:
        asked += len(keys)
        found += cache.match(keys)
        cache.store(keys)
    return found / asked if asked else 0.0


def _imbalance(loads: Sequence[float]) -> float | None:
    mean = sum(loads) / len(loads) if loads else 0.0
    return round(max(loads) / mean, 3) if mean else None


def _ms(seconds: Any) -> float | None:
    value = float(seconds)
    return None if np.isnan(value) else round(1e3 * value, 3)
