"""`stemcache serve --model toy` as a process of its own, as users run it."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

__all__ = ["LiveServer", "serve"]


@dataclass
class LiveServer:
    """A running server; `metrics` and `log` say what it does."""

    process: "subprocess.Popen[str]"
    url: str
    screen: list[str]
    """Standard output, until the server was ready."""
    log: list[dict[str, Any]] = field(default_factory=list)
    """Standard error, a line an entry."""
    _client: httpx.Client = field(default_factory=httpx.Client)
    """Kept: making one costs more than what it asks."""

    def metrics(self) -> dict[str, float]:
        """Samples by name, labels in braces."""
        text = self._client.get(f"{self.url}/metrics").text
        return {
            sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def wait_for(self, name: str, value: float, *, within_s: float = 120) -> dict[str, float]:
        """Ask for metrics until one has this value."""
        end_s = monotonic() + within_s
        while True:
            metrics = self.metrics()
            if metrics[name] == value:
                return metrics
            assert monotonic() < end_s, f"{name} is {metrics[name]}, not {value}"

    def wait_until_idle(self) -> dict[str, float]:
        """Ask for metrics until no request holds a page; checks the pages' arithmetic."""
        self.wait_for("stemcache_requests_waiting", 0)
        metrics = self.wait_for("stemcache_requests_running", 0)
        pages = {s: metrics[f"stemcache_pages{{{s}}}"] for s in ("free", "owned", "pinned", "idle")}
        assert sum(pages.values()) == metrics["stemcache_pages_capacity"]
        assert pages["owned"] == pages["pinned"] == 0
        return metrics

    def stop(self) -> int:
        """Send SIGTERM and wait for the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def _entry(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:
        return {"raw": line}


@contextmanager
def serve(*flags: str, **environment: str) -> Iterator[LiveServer]:
    """Start a server on a free port, wait until it is ready, and stop it in the end."""
    command = [sys.executable, "-m", "stemcache.cli.main", "serve", "--model", "toy", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--log-format", "json", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    server = LiveServer(process, "", [])
    stderr = process.stderr

    def read_log() -> None:
        server.log.extend(_entry(line) for line in stderr)

    reader = threading.Thread(target=read_log, daemon=True)
    reader.start()
    try:
        for line in process.stdout:
            server.screen.append(line)
            found = re.match(r"address\s+(\S+)", line)
            if found:
                server.url = found[1]
            if line.startswith("print("):
                break
        assert server.url, f"the server did not start: {server.log}"
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join()
        server._client.close()
        process.stdout.close()
        process.stderr.close()
