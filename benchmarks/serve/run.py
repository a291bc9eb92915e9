"""What a served request costs, cold and warm, and what caching brings to the loads it is for.

Starts `stemcache serve` as a user would and asks it with the official client. Writes one JSON file
that the README's tables are generated from.

    python -m benchmarks.serve.run --output benchmarks/serve/results.json
    python -m benchmarks.serve.run --only latency --model DIR
"""

import argparse
import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

from rich.console import Console

from benchmarks.machine import machine
from benchmarks.serve.loads import LOADS, Dialogue
from benchmarks.serve.server import Timed, ask, forget, serving, together

SEED = 20261130
SIZES = (512, 1024, 2048, 4096)
CROWDS = (1, 2, 4, 8, 16)
TALK = Console(stderr=True)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles, milliseconds."""
    low, _, high = quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return {
        "median_ms": round(1e3 * median(values), 1),
        "p25_ms": round(1e3 * low, 1),
        "p75_ms": round(1e3 * high, 1),
        "n": len(values),
    }


def tokens(random: Random, count: int) -> list[int]:
    """Ordinary tokens of the embedded model's vocabulary."""
    return [random.randrange(100, 40_000) for _ in range(count)]


def latency(flags: Sequence[str], repeats: int) -> list[dict[str, Any]]:
    """TTFT of a prompt of each size, cold, then warm with another question; both forms."""
    rows = []
    for form in ("hash", "radix"):
        with serving("--index", form, *flags) as url:
            random = Random(SEED)
            together(ask(url, max_tokens=2, prompt=tokens(random, 64)))
            for size in SIZES:
                cold, warm, speeds, cached = [], [], [], []
                for _ in range(repeats):
                    stem = tokens(random, size)
                    (first,) = together(ask(url, max_tokens=2, prompt=stem + tokens(random, 32)))
                    (second,) = together(ask(url, max_tokens=33, prompt=stem + tokens(random, 32)))
                    cold.append(first.ttft_s)
                    warm.append(second.ttft_s)
                    cached.append(second.cached_tokens)
                    speeds.append(32 / (second.total_s - second.ttft_s))
                rows.append(
                    {
                        "index": form,
                        "prefix_tokens": size,
                        "cold": spread(cold),
                        "warm": spread(warm),
                        "warm_over_cold": round(median(warm) / median(cold), 4),
                        "cached_tokens": min(cached),
                        "decode_tokens_per_s": round(median(speeds), 1),
                    }
                )
                TALK.print(rows[-1])
    return rows


def crowd(flags: Sequence[str], repeats: int) -> list[dict[str, Any]]:
    """Requests at once that share 1,500 tokens: output tokens a second, warm."""
    rows = []
    with serving(*flags) as url:
        random = Random(SEED)
        stem = tokens(random, 1500)
        together(ask(url, max_tokens=2, prompt=stem + tokens(random, 8)))
        for size in CROWDS:
            speeds, ttfts = [], []
            for _ in range(repeats):
                done = together(
                    *(
                        ask(url, max_tokens=32, prompt=stem + tokens(random, 16))
                        for _ in range(size)
                    )
                )
                wall = max(each.total_s for each in done)
                speeds.append(sum(each.completion_tokens for each in done) / wall)
                ttfts += [each.ttft_s for each in done]
            rows.append(
                {
                    "concurrency": size,
                    "output_tokens_per_s": round(median(speeds), 1),
                    "output_tokens_per_s_range": [round(min(speeds), 1), round(max(speeds), 1)],
                    "ttft": spread(ttfts),
                }
            )
            TALK.print(rows[-1])
    return rows


def loads(flags: Sequence[str], repeats: int, dialogues: list[Dialogue]) -> list[dict[str, Any]]:
    """Each load with the cache on and off, the same requests in both."""
    results: dict[tuple[str, bool], list[list[Timed]]] = {}
    for caching in (True, False):
        with serving(*flags, *(() if caching else ("--no-prefix-caching",))) as url:
            together(ask(url, max_tokens=2, prompt=tokens(Random(SEED), 64)))
            for name, load in LOADS.items():
                for repeat in range(repeats):
                    forget(url)
                    done = asyncio.run(load(url, dialogues, Random(f"{SEED} {repeat}")))
                    results.setdefault((name, caching), []).append(done)
                TALK.print(name, "cache on" if caching else "cache off", len(done), "requests")
    rows = []
    for name in LOADS:
        on = [each for run in results[name, True] for each in run]
        off = [each for run in results[name, False] for each in run]
        ratios = [
            median(t.ttft_s for t in warm) / median(t.ttft_s for t in cold)
            for warm, cold in zip(results[name, True], results[name, False], strict=True)
        ]
        prompt = sum(each.prompt_tokens for each in on)
        cached = sum(each.cached_tokens for each in on)
        rows.append(
            {
                "load": name,
                "requests": len(on) // repeats,
                "prompt_tokens": prompt // repeats,
                "hit_rate": round(cached / prompt, 4),
                "prefill_tokens_saved": cached // repeats,
                "ttft_on": spread([each.ttft_s for each in on]),
                "ttft_off": spread([each.ttft_s for each in off]),
                "ttft_ratio": round(median(ratios), 3),
                "ttft_ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
                "wall_s_on": round(sum(each.total_s for each in on) / repeats, 1),
                "wall_s_off": round(sum(each.total_s for each in off) / repeats, 1),
            }
        )
        TALK.print(rows[-1])
    return rows


def naive(model: str | None) -> dict[str, Any] | None:
    """Stock transformers on the same machine, in the same run."""
    if model is None:
        return None
    command = [sys.executable, "-m", "benchmarks.serve.naive", model]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    TALK.print(result)
    return result


def main() -> int:
    """Measure what was asked for and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", help="a model directory; the embedded one without it")
    parser.add_argument("--naive-model", help="directory for stock transformers to measure")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", choices=["latency", "crowd", "loads", "naive"], action="append")
    parser.add_argument(
        "--trajectories",
        type=Path,
        default=Path("../shared/traces/tau_bench_airline.json.gz"),
        help="airline trajectories of tau-bench, gzipped JSON",
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    flags = ["--dtype", options.dtype, "--kv-memory", "2GiB"]
    if options.model:
        flags += ["--model", options.model]
    parts = options.only or ["latency", "crowd", "loads", "naive"]
    report: dict[str, Any] = {"machine": machine(), "seed": SEED}
    if options.output and options.output.exists():
        report = json.loads(options.output.read_text(encoding="utf-8")) | report
    if "naive" in parts:
        report["naive"] = naive(options.naive_model or options.model)
    if "latency" in parts:
        report["latency"] = latency(flags, options.repeats)
    if "crowd" in parts:
        report["crowd"] = crowd(flags, options.repeats)
    if "loads" in parts:
        with gzip.open(options.trajectories, "rt", encoding="utf-8") as file:
            dialogues: list[Dialogue] = [each["traj"] for each in json.load(file)]
        report["loads"] = loads(flags, min(options.repeats, 5), dialogues)
    text = json.dumps(report, indent=2) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
