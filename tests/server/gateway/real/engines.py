"""Real engines and the gateway as processes, started and stopped by a test."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

__all__ = ["Answer", "RunningGateway", "Vllm", "free_ports"]

BLOCK = 32


def free_ports(count: int) -> list[int]:
    """Ports that nobody listened on a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client sees."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def decision(self) -> dict[str, str]:
        """The parts of X-Stemcache-Decision."""
        found = re.findall(r'([\w-]+)="?([^;"]*)"?', self.headers["x-stemcache-decision"])
        return dict(found)

    @property
    def cached_tokens(self) -> int:
        """As the engine reports."""
        return int(self.body["usage"]["prompt_tokens_details"]["cached_tokens"] or 0)


def ask(port: int, method: str, path: str, body: Any = None) -> Answer:
    """One request on a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        payload = None if body is None else json.dumps(body)
        connection.request(method, path, payload, {"content-type": "application/json"})
        response = connection.getresponse()
        raw = response.read()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(
            response.status, headers, json.loads(raw) if raw[:1] in b"{[" and raw else raw
        )
    finally:
        connection.close()


@dataclass
class Vllm:
    """A vLLM server that publishes KV events, at ports that stay its own over restarts."""

    python: str
    model: Path
    log: Path
    blocks: int
    replay: bool = True
    ports: list[int] = field(default_factory=lambda: free_ports(3))
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Begin to start; see `wait`."""
        events = {
            "enable_kv_cache_events": True,
            "publisher": "zmq",
            "endpoint": f"tcp://*:{self.ports[1]}",
            "replay_endpoint": f"tcp://*:{self.ports[2]}" if self.replay else None,
        }
        environment = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": "1",
            "VLLM_SERVER_DEV_MODE": "1",
            "VLLM_NO_USAGE_STATS": "1",
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(self.python, "-m", "vllm.entrypoints.openai.api_server"),
                    *("--model", str(self.model), "--served-model-name", "smol"),
                    *("--dtype", "bfloat16", "--max-model-len", "2048", "--enforce-eager"),
                    *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
                    *("--block-size", str(BLOCK), "--num-gpu-blocks-override", str(self.blocks)),
                    *("--host", "127.0.0.1", "--port", str(self.ports[0])),
                    *("--kv-events-config", json.dumps(events)),
                ],
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def wait(self, most_s: float = 600) -> None:
        """Until it answers."""
        _wait(self.ports[0], self.process, self.log, most_s)

    def stop(self, *, kill: bool = False) -> None:
        """End it and all its processes."""
        if self.process is not None:
            _end(self.process, signal.SIGKILL if kill else signal.SIGTERM)
            self.process = None


@dataclass
class RunningGateway:
    """`stemcache route` before some engines."""

    engines: Mapping[str, Vllm]
    model: Path
    log: Path
    flags: tuple[str, ...] = ()
    port: int = field(default_factory=lambda: free_ports(1)[0])
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "stemcache", "route", "--port", str(self.port)]
        for name, engine in self.engines.items():
            command += ["--replica", f"{name}=http://127.0.0.1:{engine.ports[0]}"]
            command += ["--events", f"{name}=tcp://127.0.0.1:{engine.ports[1]}"]
            if engine.replay:
                command += ["--events-replay", f"{name}=tcp://127.0.0.1:{engine.ports[2]}"]
        command += ["--tokenizer", str(self.model), "--log-format", "json", *self.flags]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        _wait(self.port, self.process, self.log, 60)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    def chat(self, messages: list[dict[str, str]], **more: Any) -> Answer:
        """One chat completion."""
        body = {"model": "smol", "messages": messages, "temperature": 0, "max_tokens": 4, **more}
        return ask(self.port, "POST", "/v1/chat/completions", body)

    def fleet(self) -> Any:
        """`/v1/fleet`."""
        return ask(self.port, "GET", "/v1/fleet").body


def _wait(port: int, process: "subprocess.Popen[bytes] | None", log: Path, most_s: float) -> None:
    assert process is not None, "not started"
    end_s = time.monotonic() + most_s
    while time.monotonic() < end_s:
        assert process.poll() is None, f"it has ended:\n{log.read_text()[-4000:]}"
        try:
            if ask(port, "GET", "/health").status == 200:
                return
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"no answer within {most_s} s:\n{log.read_text()[-4000:]}")


def _end(process: "subprocess.Popen[bytes]", how: signal.Signals) -> None:
    try:
        os.killpg(process.pid, how)
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
    except ProcessLookupError:
        process.wait(60)
