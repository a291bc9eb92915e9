"""Does `stemcache replay` measure what is there? Against a server whose delays are known.

The server is `tests/replay/fake_server.py`, a process of its own; it writes down when each request
was complete and when its first token left. Client and server each take what they need of the
machine; both are counted.

    python -m benchmarks.replay.run --output benchmarks/replay/results.json
    python -m benchmarks.replay.run --repeats 1 --seconds 5

Three questions: how far are the client's TTFTs from the truth at a steady rate; how far with the
bursts of a recorded trace; and is a stall of the server charged to those who would have come?
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console

from benchmarks.machine import machine
from stemcache.replay.body import BodyMaker
from stemcache.replay.prompts import TokenPrompts, TokenRange
from stemcache.replay.selection import select
from stemcache.trace.open import open_trace

SEED = 20261130
TALK = Console(stderr=True)
PERCENTILES = (50, 90, 99)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """Of one run: what the client says, and what was true of the same requests."""

    ttft_s: Floats
    truth_s: Floats
    """From arrival to first write, by the server's clock."""
    late_s: Floats
    """From due to first write: what a user would have waited, but for the network."""
    lag_s: Floats
    client_cpu_s: float
    server_cpu_s: float
    window_s: float
    failed: int

    @property
    def cores(self) -> float:
        """Of both together, the client's start and end included."""
        return (self.client_cpu_s + self.server_cpu_s) / self.window_s


def write_trace(path: Path, count: int, rate: float, seed: int) -> None:
    """Requests of a Poisson process, each with a prompt of its own."""
    random, moment_s = Random(seed), 0.0
    with path.open("w", encoding="utf-8") as out:
        for number in range(count):
            line = {
                "timestamp": 1e3 * moment_s,
                "input_length": 256,
                "output_length": 16,
                "hash_ids": [number],
            }
            out.write(json.dumps(line) + "\n")
            moment_s += random.expovariate(rate)


def checksums(trace: Path, flags: dict[str, int], salt: str) -> list[int]:
    """Of the body of each request, by its number."""
    bodies = BodyMaker(
        api="openai-completions", model="fake", prompts=TokenPrompts(salt, TokenRange(1000, 30000))
    )
    with open_trace(trace) as reader:
        chosen = select(reader, **flags)
    sums = []
    for planned in chosen.planned:
        before, after = bodies.around(planned.output_tokens)
        sums.append(zlib.crc32(b"".join([before, *bodies.prompts.pieces(planned), after])))
    return sums


def matched(truth: list[list[float]], sums: list[int], due: Floats) -> Floats:
    """Arrival and first write of each request; equal ones arrived in the order of being due."""
    by_sum: dict[int, list[list[float]]] = {}
    for checksum, *times in sorted(truth, key=lambda each: each[1]):
        by_sum.setdefault(int(checksum), []).append(times[:2])
    found: dict[int, list[float]] = {}
    for at in np.argsort(due, kind="stable").tolist():
        found[at] = by_sum[sums[at]].pop(0)
    return np.array([found[at] for at in range(len(sums))], np.float64)


def cpu_of(process: "subprocess.Popen[str]") -> float:
    """CPU seconds of a process, whose end is waited for."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def measure(
    trace: Path,
    server_flags: Sequence[str],
    client_flags: Sequence[str],
    selected: dict[str, int],
    seed: int,
) -> Result:
    """One run, both processes fresh."""
    salt = f"bench-{seed}"
    with tempfile.TemporaryDirectory() as directory:
        truth_path, report_path = Path(directory, "truth.json"), Path(directory, "report.json")
        command = [sys.executable, "-m", "tests.replay.fake_server", "--seed", str(seed)]
        server = subprocess.Popen(
            [*command, "--truth", str(truth_path), *server_flags], stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        command = [sys.executable, "-m", "stemcache", "replay", str(trace), "--target", url]
        command += ["--model", "fake", "--no-probe", "--quiet", "--salt", salt]
        for name, value in selected.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        client = subprocess.Popen(
            [*command, "--json", str(report_path), *client_flags],
            stdout=subprocess.DEVNULL,
            text=True,
        )
        client_cpu_s = cpu_of(client)
        server.send_signal(signal.SIGTERM)
        server_cpu_s = cpu_of(server)
        truth = json.loads(truth_path.read_text(encoding="utf-8"))
        report = json.loads(report_path.read_text(encoding="utf-8"))
    columns = report["columns"]
    due = np.array(columns["due_s"], np.float64)
    times = matched(truth["requests"], checksums(trace, selected, salt), due)
    arrived, written = times[:, 0], times[:, 1]
    # No request can arrive before it is sent, so the earliest tells where the client's zero is.
    origin_s = float((arrived - due).min())
    return Result(
        ttft_s=np.array(columns["ttft_s"], np.float64),
        truth_s=written - arrived,
        late_s=written - (origin_s + due),
        lag_s=np.array(columns["send_lag_s"], np.float64),
        client_cpu_s=client_cpu_s,
        server_cpu_s=server_cpu_s,
        window_s=report["window_s"],
        failed=report["counts"]["failed"],
    )


def row(result: Result) -> dict[str, Any]:
    """One run's figures, milliseconds."""
    figures: dict[str, Any] = {
        "requests": len(result.ttft_s),
        "failed": result.failed,
        "cores": round(result.cores, 3),
        "client_cpu_s": round(result.client_cpu_s, 2),
        "server_cpu_s": round(result.server_cpu_s, 2),
        "window_s": round(result.window_s, 2),
        "lag_p99_ms": round(1e3 * float(np.percentile(result.lag_s, 99)), 2),
    }
    for percent in PERCENTILES:
        figures[f"p{percent}"] = {
            "measured_ms": round(1e3 * float(np.percentile(result.ttft_s, percent)), 2),
            "server_ms": round(1e3 * float(np.percentile(result.truth_s, percent)), 2),
            "from_due_ms": round(1e3 * float(np.percentile(result.late_s, percent)), 2),
        }
    return figures


def part(name: str, results: Sequence[Result], truth: str) -> dict[str, Any]:
    """All repeats of one question: the error against `truth`, worst and median."""
    rows = [row(each) for each in results]
    errors = {}
    for percent in PERCENTILES:
        key = f"p{percent}"
        off = [each[key]["measured_ms"] - each[key][truth] for each in rows]
        shares = [abs(x) / each[key][truth] for x, each in zip(off, rows, strict=True)]
        errors[key] = {
            "truth_ms": round(median(each[key][truth] for each in rows), 2),
            "measured_ms": round(median(each[key]["measured_ms"] for each in rows), 2),
            "error_ms": round(median(off), 2),
            "error_ms_range": [round(min(off), 2), round(max(off), 2)],
            "within_3ms_or_2_percent": sum(
                abs(x) <= 3 or share <= 0.02 for x, share in zip(off, shares, strict=True)
            ),
        }
    cores = [each["cores"] for each in rows]
    found = {
        "name": name,
        "compared_with": truth,
        "repeats": len(rows),
        "errors": errors,
        "cores": round(median(cores), 3),
        "cores_range": [min(cores), max(cores)],
        "runs": rows,
    }
    TALK.print({key: value for key, value in found.items() if key != "runs"})
    return found


def main() -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--stall-s", type=float, default=2.0)
    parser.add_argument(
        "--trace",
        type=Path,
        default=Path("../shared/traces/mooncake_conversation.jsonl.gz"),
        help="for the bursts",
    )
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="before all other processes of the machine, as if it were quiet; needs root",
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # children inherit it
    count = int(options.rate * options.seconds)
    stall = ["--stall-after", f"{options.seconds / 4}", "--stall-for", f"{options.stall_s}"]
    steady, bursts, stalled = [], [], []
    recorded = {
        "limit": count,
        "tokens_per_block": 32,
        "max_prompt_tokens": 100_000,
        "max_tokens": 16,
    }
    with tempfile.TemporaryDirectory() as directory:
        trace = Path(directory, "poisson.jsonl")
        for repeat in range(options.repeats):
            seed = SEED + repeat
            write_trace(trace, count, options.rate, seed)
            steady.append(measure(trace, [], [], {}, seed))
            bursts.append(measure(options.trace, [], ["--rate", str(options.rate)], recorded, seed))
            stalled.append(measure(trace, stall, [], {}, seed))
            TALK.print("repeat", repeat, [round(each[-1].cores, 2) for each in (steady, bursts)])
    report = {
        "machine": machine(),
        "seed": SEED,
        "rate": options.rate,
        "seconds": options.seconds,
        "stall_s": options.stall_s,
        "realtime": options.realtime,
        "load_average": round(os.getloadavg()[1], 1),
        "parts": [
            part("Poisson arrivals", steady, "server_ms"),
            part("bursts of a recorded trace", bursts, "from_due_ms"),
            part("the server stalls", stalled, "from_due_ms"),
        ],
    }
    text = json.dumps(report, indent=1) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
