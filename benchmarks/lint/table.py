"""How fast logs are read, as Markdown, made from results.json, and put where documents quote it.

    python -m benchmarks.lint.table                print all tables
    python -m benchmarks.lint.table --write FILE   renew those that FILE quotes

A quoted table stands between `<!-- benchmarks.lint: NAME -->` and `<!-- end -->`.
"""

import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.peers_matrix.table import show

__all__ = ["tables"]

RESULTS = Path(__file__).with_name("results.json")

Report = dict[str, Any]


def tables(report: Report) -> dict[str, str]:
    """The speeds, the log of the example, and what both were taken on."""
    corpus = report["corpus"]
    return {
        "speed": _speed(report["runs"]),
        "corpus": _speed([corpus]) if corpus else "Not measured.\n",
        "machine": _machine(report),
    }


def _speed(runs: list[Report]) -> str:
    heads = ["", "log", "calls", "wall", "CPU", "MB/s of wall", "of CPU", "peak memory"]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    lines += ["| " + " | ".join(_cells(run)) + " |" for run in runs]
    return "\n".join(lines) + "\n"


def _cells(run: Report) -> list[str]:
    wall, cpu = (statistics.median(run[key]) for key in ("wall_s", "cpu_s"))
    size = run["megabytes"]
    name = f"{run['tool']} {run['version']}"
    if "import_s" in run:
        name += f" (and {run['import_s']:,.1f} s to record)"
    if run["stopped"]:
        return [name, f"{size:,.0f} MB", f"{run['calls']:,}", f"over {wall:,.0f} s"] + [""] * 4
    spread = f" ({min(run['wall_s']):,.1f}–{max(run['wall_s']):,.1f})" * (len(run["wall_s"]) > 1)  # noqa: RUF001  # a range
    return [
        name,
        f"{size:,.0f} MB",
        f"{run['calls']:,}",
        f"{wall:,.1f} s{spread}",
        f"{cpu:,.1f} s",
        f"{size / wall:,.2f}",
        f"{size / cpu:,.2f}",
        f"{max(run['peak_mb']):,.0f} MB",
    ]


def _machine(report: Report) -> str:
    made = report["machine"]
    return (
        f"`scripts/bench-lint` at {made['commit']}, {made['date']}, {made['cpu']}, "
        f"{made['cores']} cores, Python {made['python']}, load {report['load']} before; "
        "medians, the range in brackets where a run was repeated.\n"
    )


if __name__ == "__main__":
    show("benchmarks.lint", tables(json.loads(RESULTS.read_text(encoding="utf-8"))))
