"""How much later does an answer come through `stemcache record` than without it?

Server, proxy and client are processes of their own on one machine. The server writes the moment of
each write into what it writes, so the delay of every event of a stream is known: arrival minus
write, by one clock. Direct and proxied rounds take turns, so that what else the machine does meets
both.

    python -m benchmarks.record.run --output benchmarks/record/results.json
    python -m benchmarks.record.run --repeats 1 --calls 20

Of a plain answer the time from the first byte sent to the last one received is taken, less what the
server waits; of a stream, the delay of each event.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import uvloop
from rich.console import Console

from benchmarks.machine import machine

TALK = Console(stderr=True)
PERCENTILES = (50, 99)
SENT = re.compile(rb'"sent":([0-9.]+)')


@contextmanager
def process(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A running process, ended with SIGTERM."""
    running = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield running
    finally:
        running.send_signal(signal.SIGTERM)
        _, talk = running.communicate(timeout=60)
        TALK.print(talk.strip())


async def call(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, *, stream: bool
) -> list[float]:
    """One call on a connection that is kept: the seconds that are measured."""
    begun_s = time.monotonic()
    writer.write(request)
    delays = []
    data = b""
    while True:
        part = await reader.read(65536)
        now_s = time.monotonic()
        assert part, "the connection was closed"
        data += part
        if stream:
            delays += [now_s - float(found) for found in SENT.findall(part)]
            if data.endswith(b"0\r\n\r\n"):
                return delays
        else:
            head, found, body = data.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            if found and length is not None and len(body) == int(length[1]):
                return [now_s - begun_s]


async def round_of(url: str, *, stream: bool, clients: int, calls: int, body: bytes) -> list[float]:
    """So many clients, each with a connection of its own, and their calls one after the other."""
    host, port = url.removeprefix("http://").split(":")
    path = "stream" if stream else "plain"
    request = (
        b"POST /%b/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
        % (path.encode(), len(body), body)
    )

    async def client() -> list[float]:
        reader, writer = await asyncio.open_connection(host, int(port))
        await call(reader, writer, request, stream=stream)  # connections are made, code is warm
        found = []
        for _ in range(calls):
            found += await call(reader, writer, request, stream=stream)
        writer.close()
        return found

    every = await asyncio.gather(*(client() for _ in range(clients)))
    return [delay for each in every for delay in each]


def figures(delays: list[float], waited_s: float) -> dict[str, float]:
    """Milliseconds."""
    values = np.percentile(np.array(delays) - waited_s, PERCENTILES)
    return {f"p{p}_ms": round(1e3 * float(v), 3) for p, v in zip(PERCENTILES, values, strict=True)}


def part(name: str, direct: list[dict[str, float]], proxied: list[dict[str, float]]) -> Any:
    """All repeats of one question: what the proxy adds, its median and its range."""
    found: dict[str, Any] = {"name": name, "repeats": len(direct)}
    for percent in PERCENTILES:
        key = f"p{percent}_ms"
        added = [b[key] - a[key] for a, b in zip(direct, proxied, strict=True)]
        found[f"added_{key}"] = round(median(added), 3)
        found[f"added_{key}_range"] = [round(min(added), 3), round(max(added), 3)]
        found[f"direct_{key}"] = round(median(each[key] for each in direct), 3)
        found[f"proxied_{key}"] = round(median(each[key] for each in proxied), 3)
    TALK.print(found)
    return {**found, "direct": direct, "proxied": proxied}


def main() -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--calls", type=int, default=200, help="of each client in a round")
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--wait-ms", type=float, default=50.0, help="before an answer begins")
    parser.add_argument("--gap-ms", type=float, default=10.0, help="between events of a stream")
    parser.add_argument("--body-kib", type=int, default=64)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    text = "x" * (options.body_kib * 1024)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    server_flags = ["--tokens", str(options.tokens), "--wait-ms", str(options.wait_ms)]
    server_flags += ["--gap-ms", str(options.gap_ms)]
    parts = []
    with (
        tempfile.TemporaryDirectory() as directory,
        process("benchmarks.record.server", *server_flags) as server,
    ):
        assert server.stdout is not None
        direct_url = server.stdout.readline().strip()
        output = Path(directory, "calls.jsonl")
        flags = ["--target", direct_url, "--port", "0", "--output", str(output)]
        made = 0
        with process("stemcache", "record", *flags) as proxy:
            assert proxy.stdout is not None
            proxy_url = proxy.stdout.readline().split()[1]
            for stream in (False, True):
                for clients in options.clients:
                    calls = max(options.calls // (options.tokens if stream else 1), 5)
                    direct: list[dict[str, float]] = []
                    proxied: list[dict[str, float]] = []
                    for _ in range(options.repeats):
                        for url, rows in ((direct_url, direct), (proxy_url, proxied)):
                            delays = uvloop.run(
                                round_of(
                                    url, stream=stream, clients=clients, calls=calls, body=body
                                )
                            )
                            waited_s = 0.0 if stream else options.wait_ms / 1e3
                            rows.append(figures(delays, waited_s))
                        made += clients * (calls + 1)
                    kind = "each event of a stream" if stream else "a plain answer"
                    parts.append(part(f"{kind}, {clients} at once", direct, proxied))
        recorded = output.read_bytes().count(b"\n")
        assert recorded == made, f"{made} calls were made and {recorded} recorded"
    report = {
        "machine": machine(),
        "load_average": round(os.getloadavg()[0], 1),
        "body_kib": options.body_kib,
        "tokens": options.tokens,
        "wait_ms": options.wait_ms,
        "gap_ms": options.gap_ms,
        "calls": options.calls,
        "recorded": recorded,
        "parts": parts,
    }
    result = json.dumps(report, indent=1) + "\n"
    if options.output:
        options.output.write_text(result, encoding="utf-8")
    else:
        sys.stdout.write(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
