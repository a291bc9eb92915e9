"""What a gateway adds to an answer, and what it costs: beside no gateway, at two concurrencies.

Workers answer without a prefill. Plain: one token. Paced: 200 tokens, one every 5 ms, all streams
of a worker in step. Burst: 200 tokens in one write.
"""

from pathlib import Path
from typing import Any

from benchmarks.route.measure import Setup, measure
from benchmarks.route.routers import DIRECT, Kind

__all__ = ["CELLS", "cell"]

_PREFIX = 2_000
CELLS: dict[str, dict[str, Any]] = {
    "plain-16": {"concurrency": 16, "stream": False, "tokens": 1, "count": 6_000},
    "plain-64": {"concurrency": 64, "stream": False, "tokens": 1, "count": 6_000},
    "burst-16": {"concurrency": 16, "stream": True, "tokens": 200, "count": 2_000},
    "burst-64": {"concurrency": 64, "stream": True, "tokens": 200, "count": 2_000},
    "paced-16": {"concurrency": 16, "stream": True, "tokens": 200, "token_s": 0.005, "count": 96},
    "paced-64": {"concurrency": 64, "stream": True, "tokens": 200, "token_s": 0.02, "count": 192},
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
        costs={"capacity_blocks": 4_000, "token_s": how.get("token_s", 0.0)},
        concurrency=how["concurrency"],
        stream=how["stream"],
        tokens=how["tokens"],
        warmup=how["concurrency"],
        workers=1 if kind is DIRECT else 4,
    )
    return measure(setup, kind, log)
