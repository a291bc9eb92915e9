"""How routings do on simulated fleets, as Markdown, made from results.json, and put into documents.

    python -m benchmarks.fleet.table                print all tables
    python -m benchmarks.fleet.table --write FILE   renew those that FILE quotes

A quoted table stands between `<!-- benchmarks.fleet: NAME -->` and `<!-- end -->`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.peers_matrix.table import show

__all__ = ["tables"]

RESULTS = Path(__file__).with_name("results.json")
NAMES = {
    "conversation": "conversation",
    "spread": "conversation, spread over 3 s",
    "clients": "conversation, 32 clients",
    "sessions": "sessions",
    "small": "sessions, caches of 976 blocks",
    "gateways": "gateways",
}
"""Tables by the case that they show."""

Report = dict[str, Any]


def tables(report: Report) -> dict[str, str]:
    """One for each case that was measured."""
    cases = report["cases"]
    return {name: _table(cases[case]) for name, case in NAMES.items() if case in cases}


def _table(case: Report) -> str:
    heads = [
        "routing",
        "hit rate",
        "of one cache",
        "TTFT mean",
        "p50",
        "p90",
        "p99",
        "requests, max/mean",
        "tokens computed, max/mean",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    lines += [
        "| " + " | ".join(_cells(name, rows)) + " |"
        for name, rows in case["rows"].items()
        if name not in {"ideal", "one_cache"}
    ]
    one, ideal = (case["rows"][name] for name in ("one_cache", "ideal"))
    lines.append(
        f"\nOf tokens. One cache as large as all: {_share(one)}; ideal: {_share(ideal)}. Mean of "
        f"{case['repeats']} draws (least to most); `python -m benchmarks.fleet.run --traces DIR` "
        f"at {case['commit']}, {case['date']}."
    )
    return "\n".join(lines) + "\n"


def _cells(name: str, rows: Sequence[Report]) -> list[str]:
    waits = [
        _waiting(mean(row["ttft_s"][of] for row in rows)) for of in ("mean", "p50", "p90", "p99")
    ]
    even = [
        f"{mean(row['max_over_mean'][of] for row in rows):.2f}"
        for of in ("requests", "computed_tokens")
    ]
    return [name, _share(rows), _spread([row["of_one_cache"] for row in rows]), *waits, *even]


def _share(rows: Sequence[Report]) -> str:
    return f"{mean(row['token_hit_rate'] for row in rows):.1%}"


def _spread(values: Sequence[float]) -> str:
    made = f"{mean(values):.3f}"
    if len(values) > 1:
        made += f" ({min(values):.3f} to {max(values):.3f})"
    return made


def _waiting(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms" if seconds < 1 else f"{seconds:,.3g} s"


if __name__ == "__main__":
    show("benchmarks.fleet", tables(json.loads(RESULTS.read_text(encoding="utf-8"))))
