"""`stemcache route` as a process of its own, and fake replicas in a thread."""

import asyncio
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
from typing import Any

import httpx

from tests.server.gateway.fakes import Call, FakeReplica, Script, json_answer

__all__ = ["LiveGateway", "fails", "fleet", "gateway", "served"]


def served(call: Call, *, models: tuple[str, ...] = ("m",)) -> None:
    """A script: a replica that is well, serves models, and answers chats."""
    match call.target:
        case "/health":
            call.transport.write(json_answer({}))
        case "/v1/models":
            data = [{"id": model, "owned_by": "vllm"} for model in models]
            call.transport.write(json_answer({"data": data}))
        case "/metrics":
            call.transport.write(json_answer({}, status=404))
        case _:
            usage = {"prompt_tokens": len(call.body) // 4, "completion_tokens": 1}
            answer = {"choices": [{"message": {"content": "hi"}}], "usage": usage}
            call.transport.write(json_answer(answer))


@contextmanager
def fleet(*scripts: Script) -> Iterator[list[FakeReplica]]:
    """Fake replicas, each on a port of its own."""
    fakes = [FakeReplica(script, f"r{number}") for number, script in enumerate(scripts)]
    loop = asyncio.new_event_loop()

    async def start() -> None:
        for fake in fakes:
            await fake.start()

    async def stop() -> None:
        for fake in fakes:
            fake.stop()
        await asyncio.sleep(0.01)  # for the connections to be told

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield fakes
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@dataclass
class LiveGateway:
    """A running gateway; standard error holds its log, and its screen if it has one."""

    process: "subprocess.Popen[str]"
    url: str = ""
    screen: list[str] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    said: threading.Condition = field(default_factory=threading.Condition)
    reader: threading.Thread | None = None

    @property
    def port(self) -> str:
        """That it listens on."""
        return self.url.rpartition(":")[2]

    @property
    def text(self) -> str:
        """All that it has said."""
        return "".join(self.screen) + "".join(json.dumps(line) for line in self.log)

    def wait_said(self, message: str, *, count: int = 1) -> dict[str, Any]:
        """Until the log has such a line so often; the last of them."""

        def found() -> list[dict[str, Any]]:
            return [line for line in self.log if line.get("message") == message]

        with self.said:
            assert self.said.wait_for(lambda: len(found()) >= count, 20), self.text
            return found()[count - 1]

    def ask(self, content: str = "Hi", **more: Any) -> httpx.Response:
        """A chat of one message."""
        body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
        return httpx.post(f"{self.url}/v1/chat/completions", json=body, timeout=20)

    def fleet(self) -> dict[str, Any]:
        """Replicas by name, as /v1/fleet has them."""
        answer = httpx.get(f"{self.url}/v1/fleet", timeout=20).json()
        return {replica["name"]: replica for replica in answer["replicas"]}

    def signal(self, number: signal.Signals) -> None:
        """Send it one."""
        self.process.send_signal(number)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        if self.reader is not None:
            self.reader.join(10)
        return code

    def read(self) -> None:
        """Take what it says until its end; in a thread."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self.said:
                if line.startswith("{"):
                    self.log.append(json.loads(line))
                    if self.log[-1]["message"] == "listening":
                        self.url = self.log[-1]["address"]
                else:
                    self.screen.append(line)
                    found = re.match(r"address\s+(\S+)", line)
                    if found:
                        self.url = found[1]
                self.said.notify_all()
        with self.said:
            self.said.notify_all()


@contextmanager
def gateway(*flags: str, **environment: str) -> Iterator[LiveGateway]:
    """Start a process on a free port, wait until it is ready, and stop it in the end."""
    command = [sys.executable, "-m", "stemcache", "route", "--port", "0", "--log-format", "json"]
    process = subprocess.Popen(
        [*command, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "src", **environment},
    )
    live = LiveGateway(process)
    live.reader = threading.Thread(target=live.read, daemon=True)
    live.reader.start()
    try:
        with live.said:
            ready = live.said.wait_for(
                lambda: (
                    any(line.startswith("  -d ") for line in live.screen)
                    or any(line["message"] == "listening" for line in live.log)
                    or process.poll() is not None
                ),
                60,
            )
        assert ready, live.text
        assert live.url, f"the gateway did not start: {live.text}"
        yield live
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        live.reader.join(10)
        assert process.stdout is not None
        assert process.stdout.read() == "", "standard output is not for talk"
        process.stdout.close()
        assert process.stderr is not None
        process.stderr.close()


def fails(*arguments: str, **environment: str) -> str:
    """What `stemcache route` says on stderr when it exits with 2, in one line and no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "stemcache", "route", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": "src", **environment},
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]
