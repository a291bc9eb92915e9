"""Replicas that the gateway starts itself, with small programs in place of `stemcache serve`."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from stemcache.clock import MonotonicClock
from stemcache.errors import UsageError
from stemcache.gateway.deployment import LocalReplicas
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.server.gateway.local import LocalFleet
from tests.server.gateway.quiet import Said, Sleeps, until

SERVES = """
import json, os, signal, sys, time
with open({log!r}, "a") as file:
    file.write(json.dumps([os.getpid(), sys.argv[1:]]) + "\\n")
port = sys.argv[sys.argv.index("--port") + 1]
port = "4321" if port == "0" else port
print("stemcache serve", flush=True)
print("address       http://127.0.0.1:" + port, flush=True)
print("print(answer)", flush=True)
print("warned", file=sys.stderr, flush=True)
while os.read(0, 100): pass
"""


class Bench:
    """A fleet of programs that this source is of."""

    def __init__(self, directory: Path, source: str, **fields: Any) -> None:
        self.log = directory / "log"
        self.log.touch()
        self.said = Said()
        self.sleeps = Sleeps()
        self.restarts: list[str] = []
        program = directory / "program.py"
        program.write_text(source.format(log=str(self.log)))
        self.fleet = LocalFleet(
            LocalReplicas(**{"replicas": 2, **fields}),
            clock=MonotonicClock(),
            logger=self.said.logger,
            on_restart=self.restarts.append,
            command=(sys.executable, str(program)),
            sleep=self.sleeps,
        )

    @property
    def started(self) -> list[tuple[int, list[str]]]:
        """Process ids and arguments."""
        return [tuple(json.loads(line)) for line in self.log.read_text().splitlines()]


def running(bench: Bench, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """In a loop, closed in the end; no process is left."""

    async def main() -> None:
        try:
            await work()
        finally:
            await bench.fleet.close()

    asyncio.run(main())
    for process, _ in bench.started:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_so_many_are_started_and_waited_for(tmp_path: Path) -> None:
    """On free ports of this machine; what they warn of is passed on."""
    bench = Bench(tmp_path, SERVES, model="toy", flags=("--kv-memory", "8MiB"))

    async def work() -> None:
        await bench.fleet.start()
        assert bench.fleet.replicas == tuple(
            ReplicaSpec(name=name, url="http://127.0.0.1:4321", engine=Engine.STEMCACHE)
            for name in ("local-0", "local-1")
        )
        words = "serve --model toy --host 127.0.0.1 --port 0 --log-format json --log-level warning"
        assert [words for _, words in bench.started] == [
            [*words.split(), "--kv-memory", "8MiB"] for _ in range(2)
        ]
        await until(lambda: len(bench.said.lines) == 2)
        assert bench.said.lines[0]["line"] == "warned"

    running(bench, work)


def test_one_that_dies_is_started_again_at_its_address(tmp_path: Path) -> None:
    """After a rest, which grows while it goes on dying."""
    bench = Bench(tmp_path, SERVES, replicas=1)

    async def work() -> None:
        await bench.fleet.start()
        for number in range(3):
            process, _ = bench.started[-1]
            os.kill(process, signal.SIGKILL)
            await bench.sleeps.end()
            await until(lambda: len(bench.restarts) == number + 1)  # noqa: B023
            words = bench.started[-1][1]
            assert words[words.index("--port") + 1] == "4321"
        assert bench.sleeps.asked_s == [0.5, 1.0, 2.0]
        assert bench.restarts == ["local-0"] * 3
        assert "local replica has ended; starting it again" in bench.said.events

    running(bench, work)


def test_one_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    """And the others are ended."""
    source = """
import json, os, sys
with open({log!r}, "a") as file:
    file.write(json.dumps([os.getpid(), []]) + "\\n")
print("no such model", file=sys.stderr)
sys.exit(2)
"""
    bench = Bench(tmp_path, source)

    async def work() -> None:
        with pytest.raises(UsageError) as raised:
            await bench.fleet.start()
        name, _, said = str(raised.value).partition(" ")
        assert name.startswith("local-")  # whichever ended first
        assert said == (
            "of --local did not start: stemcache serve ended with code 2 (no such model); "
            "try: stemcache serve --model toy"
        )

    running(bench, work)


def test_one_that_does_not_come_up_again_is_tried_again(tmp_path: Path) -> None:
    """For ever; the gateway has others."""
    source = SERVES.replace(
        "port = sys.argv",
        'sys.exit(3) if os.path.exists({log!r} + ".no") else 0\nport = sys.argv',
        1,
    )
    bench = Bench(tmp_path, source, replicas=1)
    no = tmp_path / "log.no"

    async def work() -> None:
        await bench.fleet.start()
        no.touch()
        os.kill(bench.started[-1][0], signal.SIGKILL)
        for _ in range(2):
            await bench.sleeps.end()
        await until(lambda: len(bench.sleeps.asked_s) == 3)
        assert bench.restarts == []
        no.unlink()
        await bench.sleeps.end()
        await until(lambda: bench.restarts == ["local-0"])

    running(bench, work)


def test_one_that_does_not_heed_is_ended(tmp_path: Path, monkeypatch: Any) -> None:
    """After the time that it had."""
    monkeypatch.setattr("stemcache.server.gateway.local._STOP_S", 0.05)
    source = SERVES.replace("print(", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(", 1)
    source = source.replace("while os.read(0, 100): pass", "time.sleep(60)")
    bench = Bench(tmp_path, source, replicas=1)

    async def work() -> None:
        await bench.fleet.start()

    running(bench, work)


def test_lines_without_end_are_survived(tmp_path: Path) -> None:
    """What a child prints may not stop it or us."""
    source = SERVES.replace('"warned"', '"x" * 1_000_000 + "\\nlast"')
    bench = Bench(tmp_path, source, replicas=1)

    async def work() -> None:
        await bench.fleet.start()
        await until(lambda: any(line.get("line") == "last" for line in bench.said.lines))

    running(bench, work)


def test_none_are_started_where_none_are_wanted(tmp_path: Path) -> None:
    """Which is the default."""
    bench = Bench(tmp_path, SERVES, replicas=0)

    async def work() -> None:
        await bench.fleet.start()
        assert bench.fleet.replicas == ()

    running(bench, work)
    assert bench.started == []


def test_a_child_ends_with_its_parent() -> None:
    """However that ends: the child's standard input closes."""
    command = [sys.executable, "-m", "stemcache.server.gateway.local_child"]
    child = subprocess.Popen(
        [*command, "serve", "--model", "toy", "--port", "0", "--log-level", "error"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("print("):
            break
    child.stdin.close()
    assert child.wait(30) == 0
    child.stdout.close()
