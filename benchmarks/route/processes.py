"""Processes that are measured: what they have used, and how they are begun and ended."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

__all__ = ["Fleet", "children", "cpu_s", "free_port", "get", "rss_bytes", "stop"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
ROOT = Path(__file__).parents[2]


def children(pid: int) -> list[int]:
    """A process and all that it has begun."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            text = (task / "children").read_text(encoding="ascii")
        except OSError:
            continue
        for child in text.split():
            found += children(int(child))
    return found


def cpu_s(pid: int) -> float:
    """User and system seconds that a process and its children have used."""
    used = 0
    for each in children(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        except OSError:
            continue
        user, system = fields.split()[11:13]
        used += int(user) + int(system)
    return used / _TICKS


def rss_bytes(pid: int) -> int:
    """Memory that a process and its children have resident."""
    used = 0
    for each in children(pid):
        used += int(Path(f"/proc/{each}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    return used


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def get(url: str, timeout_s: float = 30.0) -> tuple[int, bytes]:
    """Status and body; 0 where nobody answers."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port or 80, timeout=timeout_s
    )
    try:
        connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def stop(process: "subprocess.Popen[Any]", grace_s: float = 3.0) -> None:
    """End a process of ours and what it has begun."""
    every = children(process.pid)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for each in every[1:]:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Fleet:
    """Fake workers, in one process or one each."""

    def __init__(self, spec: dict[str, Any], *, apart: bool = False) -> None:
        self._apart = apart
        self._folder = tempfile.TemporaryDirectory(prefix="route-fleet-")
        self.folder = Path(self._folder.name)
        """For files that live as long as the workers."""
        count = spec.get("workers", 4)
        specs = [{**spec, "workers": 1}] * count if apart else [spec]
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.route.worker", json.dumps(each)],
                stdout=subprocess.PIPE,
                cwd=ROOT,
            )
            for each in specs
        ]
        said = [json.loads(each.stdout.readline()) for each in self.processes if each.stdout]
        self.urls: list[str] = [url for each in said for url in each["urls"]]
        self.events: list[str] = [end for each in said for end in each["events"]]
        self.replays: list[str] = [end for each in said for end in each["replays"]]
        self.redis = ""
        """The URL through which their gateways may tell each other."""
        self._controls: list[str] = [each["control"] for each in said]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.processes:
            stop(each, 0.5)
        self._folder.cleanup()

    def counts(self) -> tuple[float, list[dict[str, Any]]]:
        """CPU seconds of all, and what each has counted. Of one that is dead: nothing."""
        used, found = 0.0, []
        for control in self._controls:
            status, data = get(f"{control}/counts")
            if status == 200:
                read = json.loads(data)
                used += read["cpu_s"]
                found += read["workers"]
            else:
                found.append({})
        return used, found

    def tell(self, what: str) -> None:
        """Ask the control pages for something."""
        for control in self._controls:
            get(f"{control}{what}")

    def restart(self, worker: int, down_s: float) -> None:
        """Restart one worker in place; returns when it listens again."""
        control = self._controls[worker if self._apart else 0]
        local = 0 if self._apart else worker
        get(f"{control}/restart?worker={local}&down_s={down_s}", 60.0)

    def kill(self, worker: int) -> None:
        """SIGKILL the process of one worker."""
        assert self._apart, "each worker must have a process of its own to be killed"
        self.processes[worker].kill()
        self.processes[worker].wait()


def wait_until(ready: Any, limit_s: float, what: str) -> None:
    """Ask until it says yes."""
    deadline_s = time.monotonic() + limit_s
    while not ready():
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"{what} was not ready after {limit_s:.0f} s")
        time.sleep(0.1)
