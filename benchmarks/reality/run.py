"""Simulated against reported hit rates: the same requests in the simulator and in real engines.

Takes the first requests of a trace with each block shrunk to 32 tokens, finds the capacity at which
simulated LRU gets half of the ideal, starts each engine with that many blocks, replays the
requests in the trace's order with so many at once, and compares the hit rates.

    python -m benchmarks.reality.run --trace TRACE --tokenizer MODEL_DIR [--vllm PYTHON]
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.reality.tiny import CONTEXT_TOKENS, KV_BYTES_PER_TOKEN, make_tiny
from stemcache.lab.question import Capacity, Question
from stemcache.lab.simulate import Simulation, simulate
from stemcache.replay.shrink import shrunk
from stemcache.trace.open import open_trace
from stemcache.trace.record import TraceRequest

BLOCK_TOKENS = 32
REQUESTS = 1000
LONGEST_PROMPT = CONTEXT_TOKENS - 2
CONCURRENCIES = (1, 8)
RESULTS = Path(__file__).with_name("results.json")


def workload(trace: Path) -> list[TraceRequest]:
    """What is replayed, as the simulator reads it."""
    with open_trace(trace) as reader:
        small = (shrunk(each, BLOCK_TOKENS) for each in islice(reader, REQUESTS))
        return [each for each in small if 0 < each.prompt_tokens <= LONGEST_PROMPT]


def half_of_ideal(requests: list[TraceRequest]) -> int:
    """The smallest capacity, in blocks, at which LRU finds half of what there is to find."""
    survey = simulate(requests, Question(engine_rules=True)).survey
    wanted = survey.ideal.hit_tokens / 2
    low, high = 1, survey.curve.largest
    while low < high:
        middle = (low + high) // 2
        if survey.curve.token_hits([middle], BLOCK_TOKENS)[0] >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


def simulated(requests: list[TraceRequest], blocks: int, page_tokens: int) -> Simulation:
    """LRU at that memory with pages of so many tokens."""
    capacity = Capacity(blocks=blocks * BLOCK_TOKENS // page_tokens)
    split = BLOCK_TOKENS // page_tokens
    return simulate(requests, Question(capacities=(capacity,), split=split, engine_rules=True))


@contextmanager
def started(command: list[str], port: int, environment: dict[str, str]) -> Iterator[str]:
    """A server, from when it is healthy until the end."""
    log = tempfile.TemporaryFile("w+")  # noqa: SIM115  it goes with the process
    process = subprocess.Popen(
        command, stdout=log, stderr=log, env={**os.environ, **environment}, start_new_session=True
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            if process.poll() is not None:
                log.seek(0)
                raise SystemExit(f"{command[0]} ended:\n{log.read()[-4000:]}")
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=2):
                    break
            except OSError:
                time.sleep(0.5)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def stemcache(
    form: str, page_tokens: int, model: Path
) -> Callable[[int, int], tuple[list[str], dict[str, str]]]:
    """How to start ours with so many blocks."""

    def command(blocks: int, port: int) -> tuple[list[str], dict[str, str]]:
        memory = blocks * BLOCK_TOKENS * KV_BYTES_PER_TOKEN
        return (
            [
                *(sys.executable, "-m", "stemcache", "serve", "--model", str(model)),
                *("--index", form, "--block-size", str(page_tokens), "--dtype", "float32"),
                *("--kv-memory", str(memory), "--port", str(port)),
            ],
            {},
        )

    return command


def vllm(python: str, model: Path) -> Callable[[int, int], tuple[list[str], dict[str, str]]]:
    """How to start vLLM with so many blocks; it keeps one of its own for padding."""

    def command(blocks: int, port: int) -> tuple[list[str], dict[str, str]]:
        return (
            [
                *(python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)),
                *("--dtype", "float32", "--max-model-len", str(CONTEXT_TOKENS), "--enforce-eager"),
                *("--block-size", str(BLOCK_TOKENS), "--num-gpu-blocks-override", str(blocks + 1)),
                *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
                *("--port", str(port), "--host", "127.0.0.1"),
            ],
            {
                "HF_HUB_OFFLINE": "1",
                "VLLM_CPU_KVCACHE_SPACE": "1",
                "VLLM_CPU_OMP_THREADS_BIND": "nobind",
                "OMP_NUM_THREADS": "2",
            },
        )

    return command


def replayed(trace: Path, url: str, concurrency: int) -> dict[str, Any]:
    """The report of `stemcache replay`."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "stemcache", "replay", str(trace), "--target", url),
                *("--limit", str(REQUESTS), "--tokens-per-block", str(BLOCK_TOKENS)),
                *("--max-prompt-tokens", str(LONGEST_PROMPT), "--max-tokens", "1"),
                *("--concurrency", str(concurrency), "--think", "0", "--json", str(report)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in {0, 1}:
            raise SystemExit(done.stderr)
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found


def main() -> int:
    """Compare and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True, help="a model directory")
    parser.add_argument("--vllm", help="an interpreter that has vLLM")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "tiny-llama")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    model = make_tiny(options.scratch, options.tokenizer)
    requests = workload(options.trace)
    blocks = half_of_ideal(requests)
    engines: list[tuple[str, int, Callable[[int, int], tuple[list[str], dict[str, str]]]]] = [
        ("stemcache serve --index hash", BLOCK_TOKENS, stemcache("hash", BLOCK_TOKENS, model)),
        ("stemcache serve --index radix", 1, stemcache("radix", 1, model)),
    ]
    if options.vllm:
        engines.append(("vLLM", BLOCK_TOKENS, vllm(options.vllm, model)))
    rows = []
    for name, page_tokens, make in engines:
        simulation = simulated(requests, blocks, page_tokens)
        total = simulation.results[0].total
        for concurrency in CONCURRENCIES:
            port = free_port()
            with started(*_split(make(blocks, port), port)) as url:
                report = replayed(options.trace, url, concurrency)
            reported = {each["source"]: each for each in report["hit_rates"]}
            rate = total.hit_tokens / total.tokens
            row = {
                "engine": name,
                "concurrency": concurrency,
                "page_tokens": page_tokens,
                "answered": report["counts"]["ok"],
                "window_s": round(report["window_s"], 1),
                "ideal": round(simulation.survey.ideal.token_hit_rate or 0, 5),
                "simulated": round(rate, 5),
                "simulated_cached_tokens": total.hit_tokens,
                "usage": round(reported["usage"]["hit_rate"], 5),
                "usage_cached_tokens": reported["usage"]["cached_tokens"],
                "metrics": round(reported["metrics"]["hit_rate"], 5),
                "difference_points": round(100 * (reported["usage"]["hit_rate"] - rate), 3),
            }
            rows.append(row)
            print(json.dumps(row), file=sys.stderr)
    result = {
        "machine": machine(),
        "trace": options.trace.name,
        "requests": len(requests),
        "prompt_tokens": sum(each.prompt_tokens for each in requests),
        "capacity_blocks": blocks,
        "block_tokens": BLOCK_TOKENS,
        "rows": rows,
    }
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _split(
    made: tuple[list[str], dict[str, str]], port: int
) -> tuple[list[str], int, dict[str, str]]:
    command, environment = made
    return command, port, environment


if __name__ == "__main__":
    sys.exit(main())
