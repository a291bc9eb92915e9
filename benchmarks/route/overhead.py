"""What a gateway adds to an answer, and what it costs: beside no gateway, at two concurrencies.

Workers answer without a prefill, after a fixed delay, so that neither side is saturated: 16 at a
time of 40 ms, 64 of 100 ms. Plain: one token. Burst: 200 tokens in one write. Paced: 200 tokens one
by one, all streams of a worker in step, 16 of them every 5 ms, 64 every 20 ms.
"""

from pathlib import Path
from typing import Any

from benchmarks.route.measure import Setup, measure
from benchmarks.route.routers import DIRECT, Kind

__all__ = ["CELLS", "cell"]

_PREFIX = 2_000
_PLAIN = {"stream": False, "tokens": 1, "count": 4_000}
_BURST = {"stream": True, "tokens": 200, "count": 2_000}
_PACED = {"stream": True, "tokens": 200}
CELLS: dict[str, dict[str, Any]] = {
    "plain-16": {"concurrency": 16, "delay_s": 0.04, **_PLAIN},
    "plain-64": {"concurrency": 64, "delay_s": 0.1, **_PLAIN},
    "burst-16": {"concurrency": 16, "delay_s": 0.04, **_BURST},
    "burst-64": {"concurrency": 64, "delay_s": 0.1, **_BURST},
    "paced-16": {"concurrency": 16, "token_s": 0.005, **_PACED, "count": 160},
    "paced-64": {"concurrency": 64, "token_s": 0.02, **_PACED, "count": 320},
}


def cell(name: str, kind: Kind, seed: int, scale: float = 1.0, log: Path | None = None) -> Any:
    """One measurement."""
    how = CELLS[name]
    setup = Setup(
        plan={
            "kind": "zipf",
            "seed": seed,
            "count": max(how["concurrency"] * 3, int(how["count"] * scale)),
            "prefix": _PREFIX,
        },
        costs={
            "capacity_blocks": 4_000,
            "delay_s": how.get("delay_s", 0.0),
            "token_s": how.get("token_s", 0.0),
        },
        concurrency=how["concurrency"],
        stream=how["stream"],
        tokens=how["tokens"],
        warmup=how["concurrency"],
        workers=1 if kind is DIRECT else 4,
    )
    return measure(setup, kind, log)
