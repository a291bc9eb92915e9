"""Seconds, CPU and memory of `stemcache lint` on a large log, and of other linters beside it.

    python -m benchmarks.lint.run                        1,000 MB, three times
    python -m benchmarks.lint.run --megabytes 50         five times
    python -m benchmarks.lint.run --peers DIR            the others too

Others get the same traffic in their own form, in sizes that grow as long as the next one should
end within `--limit-s`. DIR is a virtual environment that holds them, see scripts/lint-matrix.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.lint.logs import Log, write
from benchmarks.lint.measure import Measured, measure
from benchmarks.lint.tools import STEMCACHE, Tool, peers
from benchmarks.machine import machine
from benchmarks.peers_matrix.peers.asked import Environment
from stemcache import __version__

__all__ = ["main"]

RESULTS = Path(__file__).with_name("results.json")
_SIZES = (2.0, 10.0, 50.0, 200.0)


def _filled(command: Sequence[str], log: Path, store: Path) -> list[str]:
    return [str({"LOG": log, "STORE": store}.get(part, part)) for part in command]


def _entry(tool: Tool, version: str, log: Log, runs: Sequence[Measured]) -> dict[str, Any]:
    done: dict[str, Any] = {
        "tool": tool.name,
        "version": version,
        "command": tool.title,
        "form": tool.form,
        "megabytes": round(log.megabytes, 1),
        "calls": log.calls,
        "wall_s": [round(run.wall_s, 2) for run in runs],
        "cpu_s": [round(run.cpu_s, 2) for run in runs],
        "peak_mb": [round(run.peak_mb, 1) for run in runs],
        "stopped": any(run.stopped for run in runs),
        "codes": sorted({run.code for run in runs}),
    }
    wall = statistics.median(done["wall_s"])
    print(
        f"{tool.name:16} {log.megabytes:7,.1f} MB {log.calls:6,} calls  {wall:8.2f} s wall "
        f"({log.megabytes / wall:6.2f} MB/s), {statistics.median(done['cpu_s']):8.2f} s CPU, "
        f"peak {max(done['peak_mb']):7,.1f} MB{'  stopped' * done['stopped']}",
        flush=True,
    )
    return done


def _run(tool: Tool, log: Log, repeats: int, limit_s: float) -> list[Measured]:
    store = log.path.with_suffix(".ctrace")
    output = log.path.with_suffix(f".{tool.name}.out")
    command = _filled(tool.command, log.path, store)
    runs = []
    for _ in range(repeats):
        run = measure(command, limit_s=limit_s, output=output, environment=tool.environment)
        runs.append(run)
        if run.stopped:
            break
        if run.code not in {0, 1}:
            raise RuntimeError(f"{tool.name} exited with {run.code}: {run.error}")
    output.unlink()
    return runs


def _others(environment: Environment, folder: Path, limit_s: float, seed: int) -> list[Any]:
    """Every other linter in growing sizes."""
    entries = []
    for tool in peers(environment, folder):
        version = environment.version(tool.name)
        last: tuple[float, float] | None = None
        for megabytes in _SIZES:
            if last is not None and last[1] * (megabytes / last[0]) > limit_s:
                break
            log = write(folder / f"log-{tool.name}.jsonl", tool.form, megabytes, seed)
            imported = None
            if tool.before:
                store = log.path.with_suffix(".ctrace")
                store.unlink(missing_ok=True)
                imported = measure(
                    _filled(tool.before, log.path, store),
                    limit_s=limit_s,
                    output=folder / "import.out",
                )
            entry = _entry(tool, version, log, _run(tool, log, 1, limit_s))
            if imported is not None:
                entry["import_s"] = round(imported.wall_s, 2)
            entries.append(entry)
            if entry["stopped"]:
                break
            last = (log.megabytes, entry["wall_s"][0] + entry.get("import_s", 0.0))
        for left in folder.glob(f"log-{tool.name}.*"):
            left.unlink()
    return entries


def _corpus(folder: Path, repeats: int, limit_s: float) -> dict[str, Any]:
    """The log of examples/corpus_log.py: 2,000 queries over one corpus of 100,000 tokens."""
    path = folder / "corpus.jsonl"
    script = Path(__file__).parents[2] / "examples" / "corpus_log.py"
    subprocess.run([sys.executable, script, path], check=True)
    log = Log(path, path.stat().st_size, 2_000)
    entry = _entry(STEMCACHE, __version__, log, _run(STEMCACHE, log, repeats, limit_s))
    path.unlink()
    return entry


def main() -> None:
    """Measure, print, and write results.json where the whole was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=1_000.0)
    parser.add_argument("--repeats", type=int, help="default: 3 from 500 MB on, else 5")
    parser.add_argument("--peers", type=Path, help="virtual environment with other linters")
    parser.add_argument("--limit-s", type=float, default=600.0, help="for each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-corpus", action="store_true", help="leave out the example's log")
    parser.add_argument("--write", action="store_true", help="renew results.json")
    asked = parser.parse_args()
    load = round(os.getloadavg()[0], 2)
    if load > 1.5:
        print(f"the machine is busy, its load is {load}: seconds of wall will be too many")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = []
        # Small first: it shows what does not grow with the log.
        for megabytes in sorted({min(50.0, asked.megabytes), asked.megabytes}):
            log = write(folder / "log.jsonl", STEMCACHE.form, megabytes, asked.seed)
            repeats = asked.repeats or (3 if megabytes >= 500 else 5)
            timed = _run(STEMCACHE, log, repeats, asked.limit_s)
            runs.append(_entry(STEMCACHE, __version__, log, timed))
            log.path.unlink()
        corpus = None if asked.no_corpus else _corpus(folder, asked.repeats or 3, asked.limit_s)
        if asked.peers is not None:
            environment = Environment(asked.peers.resolve())
            runs += _others(environment, folder, asked.limit_s, asked.seed)
    if asked.write:
        report = {
            "machine": machine(),
            "load": load,
            "seed": asked.seed,
            "runs": runs,
            "corpus": corpus,
        }
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
