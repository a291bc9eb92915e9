"""`stemcache record` for tests: within this process, or as one of its own."""

import asyncio
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvloop

from stemcache.clock import MonotonicClock
from stemcache.record.proxy.relay import Means
from stemcache.record.proxy.run import bind, relay_until, url_of
from stemcache.record.proxy.target import Routes, parse_route
from stemcache.record.record import Keep
from stemcache.record.recorder import Recorder
from stemcache.wire.origin import parse_origin

__all__ = ["LiveProxy", "NearProxy", "near_proxy", "proxy", "read_records"]


def read_records(output: Path) -> list[dict[str, Any]]:
    """Every line of a file of records."""
    return [json.loads(line) for line in output.read_bytes().splitlines()]


@dataclass
class NearProxy:
    """A proxy in a thread of this process."""

    recorder: Recorder
    output: Path
    talk: list[str]
    url: str = ""
    cut: int = 0
    """Calls cut off when it was stopped."""
    loop: asyncio.AbstractEventLoop | None = None
    thread: threading.Thread | None = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    errors: list[dict[str, Any]] = field(default_factory=list)
    """What was raised where nobody expected it."""

    def begin_stop(self) -> None:
        """Begin to drain."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self._stop.set)

    def stop(self) -> None:
        """Drain, end and flush."""
        assert self.thread is not None
        if self.thread.is_alive():
            self.begin_stop()
            self.thread.join(20)
            assert not self.thread.is_alive(), "the proxy did not end"
            assert not self.errors
        self.recorder.close()

    def records(self) -> list[dict[str, Any]]:
        """Stop the proxy and read what it recorded."""
        self.stop()
        return read_records(self.output)


@contextmanager
def near_proxy(
    target: str | None,
    output: Path,
    *,
    keep: Keep | None = None,
    routes: tuple[str, ...] = (),
    tls: ssl.SSLContext | None = None,
    grace_s: float = 10.0,
    recorder: Recorder | None = None,
    **limits: Any,
) -> Iterator[NearProxy]:
    """Start a proxy, and stop it in the end."""
    talk: list[str] = []
    recorder = recorder or Recorder(output, keep=keep, tell=talk.append, **limits)
    near = NearProxy(recorder, output, talk)
    ways = Routes(
        None if target is None else parse_origin(target, "--target"),
        tuple(parse_route(route) for route in routes),
    )
    sock = bind("127.0.0.1", 0)
    near.url = url_of(sock)
    means = Means(
        recorder=recorder,
        clock=MonotonicClock(),
        wall=time.time,
        tls=tls or ssl.create_default_context(),
    )
    ready = threading.Event()

    async def main() -> None:
        near.loop = asyncio.get_running_loop()
        near.loop.set_exception_handler(lambda _, context: near.errors.append(context))
        near.cut = await relay_until(
            near._stop, near.hurry, sock, ways, means, grace_s=grace_s, on_ready=ready.set
        )

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main())

    near.thread = threading.Thread(target=run, daemon=True)
    near.thread.start()
    assert ready.wait(10), "the proxy did not start"
    try:
        yield near
    finally:
        near.stop()


@dataclass
class LiveProxy:
    """A proxy that is a process."""

    process: "subprocess.Popen[str]"
    output: Path
    url: str = ""
    screen: list[str] = field(default_factory=list)
    talk: list[str] = field(default_factory=list)
    """Standard error, a line an entry; complete after `stop`."""
    reader: threading.Thread | None = None

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        if self.reader is not None:
            self.reader.join(10)
        return code

    def records(self) -> list[dict[str, Any]]:
        """Stop the proxy and read what it recorded."""
        self.stop()
        return read_records(self.output)


@contextmanager
def proxy(target: str, output: Path, *flags: str) -> Iterator[LiveProxy]:
    """Start a process on a free port, wait until it is ready, and stop it in the end."""
    command = [sys.executable, "-m", "stemcache", "record", "--target", target, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--output", str(output), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "src"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    live = LiveProxy(process, output)
    stderr = process.stderr
    live.reader = threading.Thread(target=lambda: live.talk.extend(stderr), daemon=True)
    live.reader.start()
    try:
        for line in process.stdout:
            live.screen.append(line)
            found = re.match(r"relaying (\S+) to", line)
            if found and not live.url:
                live.url = found[1]
            if line.startswith("Then:"):
                break
        assert live.url, f"the proxy did not start: {live.talk}"
        yield live
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        live.reader.join(10)
        process.stdout.close()
        process.stderr.close()
