"""The LRU curve of a trace, its time beside kvcache-simulator, and memory over a long log.

Every figure is of a whole command, as a user runs it: interpreter, imports, reading and all.
Commands of ours and theirs take turns, so that what else the machine does hits both.

    python -m benchmarks.lab.run --trace TRACE [--kvcache-simulator PATH] [--log-bytes 5e9]

kvcache-simulator takes budgets in GiB for a model of its catalogue, scores tokens over the second
half of the requests, and lets a request pass by the cache. So ours is asked with --warmup, and
theirs with budgets that come to the same numbers of blocks.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.machine import machine

CAPACITIES = (1_000, 2_048, 5_000, 8_192, 10_000, 20_480, 30_000, 32_768, 50_000, 100_000)
MODEL = "llama-3.1-8b"
RESULTS = Path(__file__).with_name("results.json")


def timed(command: Sequence[str], **more: Any) -> tuple[float, float, str]:
    """Seconds by the clock, seconds of processor time, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used, done.stdout


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles, seconds."""
    low, _, high = quantiles(values, n=4)
    return {
        "median_s": round(median(values), 3),
        "p25_s": round(low, 3),
        "p75_s": round(high, 3),
        "n": len(values),
    }


def ours(trace: Path, *flags: str) -> list[str]:
    """A command of ours."""
    command = [sys.executable, "-m", "stemcache", "simulate", str(trace), "--output-format", "json"]
    return [*command, *flags]


def contest(trace: Path, peer: str | None, repeats: int) -> list[dict[str, Any]]:
    """The same capacities by everybody, in turns."""
    sizes = ",".join(map(str, CAPACITIES))
    requests = json.loads(timed(ours(trace, "--capacity", "1", "--policy", "lru"))[2])["requests"]
    warmup = ("--warmup", str(requests // 2))
    commands = {
        "stemcache, lru (and the whole curve)": ours(
            trace, "--capacity", sizes, "--policy", "lru", *warmup
        ),
        "stemcache, lru and min-bypass": ours(
            trace, "--capacity", sizes, "--policy", "lru,min-bypass", *warmup
        ),
        "stemcache, fifo": ours(trace, "--capacity", sizes, "--policy", "fifo", *warmup),
    }
    if peer:
        budgets = peer_budgets(peer, trace)
        for backend in ("cpp", "python"):
            for label, policies in (
                ("lru", "lru"),
                ("lru and optimal", "lru,optimal"),
                ("fifo", "fifo"),
            ):
                commands[f"kvcache-simulator {backend}, {label}"] = [
                    *(peer, "run", "--trace", str(trace), "--model", MODEL, "--block-size", "512"),
                    *("--backend", backend, "--budgets-gib", budgets, "--policies", policies),
                    *("--no-progress", "--format", "json"),
                ]
    clock: dict[str, list[float]] = {name: [] for name in commands}
    work: dict[str, list[float]] = {name: [] for name in commands}
    printed: dict[str, str] = {}
    for repeat in range(repeats + 1):
        for name, command in commands.items():
            seconds, used, printed[name] = timed(command)
            if repeat:  # the first fills caches, and compiles their C++
                clock[name].append(seconds)
                work[name].append(used)
    return [
        {
            "command": name,
            "wall": spread(clock[name]),
            "processor": spread(work[name]),
            "token_hit_rates": rates(json.loads(printed[name])),
        }
        for name in commands
    ]


def peer_budgets(peer: str, trace: Path) -> str:
    """GiB that come to the capacities, with half a block to spare."""
    command = [peer, "run", "--trace", str(trace), "--model", MODEL, "--block-size", "512"]
    command += ["--budgets-gib", "1024", "--policies", "lru", "--no-progress", "--format", "json"]
    report = json.loads(timed(command)[2])
    blocks = report["points"][0]["cacheBlocks"]
    size = report["metadata"]["bytesPerBlock"]
    assert abs(blocks - 1024 * 2**30 / size) < 1, "bytes a block are what they seem"
    return ",".join(repr((count + 0.5) * size / 2**30) for count in CAPACITIES)


def rates(report: dict[str, Any]) -> dict[str, dict[str, float]]:
    """By policy and capacity."""
    found: dict[str, dict[str, float]] = {}
    if "results" in report and "ideal" in report:
        for row in report["results"]:
            by_size = found.setdefault(row["policy"], {})
            by_size[str(row["capacity_blocks"])] = row["token_hit_rate"]
        return found
    for point in report["points"]:
        for policy, result in point["results"].items():
            found.setdefault(policy, {})[str(point["cacheBlocks"])] = round(result["hitRate"], 6)
    return found


def long_log(total_bytes: float) -> dict[str, Any]:
    """Peak memory of `stemcache simulate` while a log of request bodies runs through a pipe."""
    maker = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.lab.long_log", str(int(total_bytes))],
        stdout=subprocess.PIPE,
    )
    start = time.perf_counter()
    reader = subprocess.Popen(
        [*ours(Path("-"), "--policy", "lru")], stdin=maker.stdout, stdout=subprocess.PIPE
    )
    assert maker.stdout is not None
    maker.stdout.close()
    assert reader.stdout is not None
    report = json.loads(reader.stdout.read())
    _, status, usage = os.wait4(reader.pid, 0)
    assert status == 0, "the simulation ended well"
    maker.wait()
    return {
        "log_bytes": int(total_bytes),
        "requests": report["requests"],
        "prompt_characters": report["prompt_tokens"],
        "distinct_blocks": report["distinct_blocks"],
        "ideal": report["ideal"]["token_hit_rate"],
        "peak_rss_mib": round(usage.ru_maxrss / 1024, 1),
        "seconds": round(time.perf_counter() - start, 1),
    }


def main() -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--kvcache-simulator", help="its executable, to measure beside ours")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--log-bytes", type=float, default=5e9)
    parser.add_argument("--only", choices=["contest", "log"])
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    report: dict[str, Any] = {}
    if options.output.exists():
        report = json.loads(options.output.read_text(encoding="utf-8"))
    report |= {
        "machine": {**machine(), "load": [round(each, 2) for each in os.getloadavg()]},
        "trace": options.trace.name,
    }
    if options.only != "log":
        report["contest"] = contest(options.trace, options.kvcache_simulator, options.repeats)
    if options.only != "contest":
        report["long_log"] = [long_log(options.log_bytes / 10), long_log(options.log_bytes)]
    options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
