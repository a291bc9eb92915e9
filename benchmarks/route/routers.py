"""The gateways that are measured, how each is started, and when it is ready.

Everybody is told to listen on loopback only, to log little, and which policy to use; all else is
left as it comes.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.route.processes import (
    ROOT,
    Fleet,
    cpu_s,
    free_port,
    get,
    rss_bytes,
    stop,
    wait_until,
)
from benchmarks.route.redis import installed
from benchmarks.route.tokens import BLOCK_TOKENS, write_tokenizer

__all__ = ["DIRECT", "Kind", "Running", "kinds", "named", "versions"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A gateway with a policy."""

    name: str
    policy: str
    command: Callable[[Fleet, int, int], list[str]]
    """Of the workers, its port, and how many gateways there are."""
    session: bool = False
    """Whether it goes by a session, so that clients should name one."""
    tokenize: bool = False
    """Whether workers must answer /tokenize."""
    events: bool = False
    """Whether workers must publish KV events."""
    redis: bool = False
    """Whether its gateways tell each other through Redis."""
    note: str = ""

    @property
    def label(self) -> str:
        """For a row of a table and the command line."""
        return f"{self.name} {self.policy}{self.note}"


DIRECT = Kind("none", "direct", lambda _fleet, _port, _gateways: [])
"""No gateway: the first worker is asked."""


class Running:
    """A gateway that runs. One where `command` is empty is the worker itself."""

    def __init__(
        self, kind: Kind, fleet: Fleet, log: Path | None = None, *, gateways: int = 1
    ) -> None:
        self.kind = kind
        self.port = free_port()
        command = kind.command(fleet, self.port, gateways)
        self.url = f"http://127.0.0.1:{self.port}" if command else fleet.urls[0]
        self._process: subprocess.Popen[bytes] | None = None
        if not command:
            return
        output = log.open("ab") if log else subprocess.DEVNULL
        self._process = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            cwd=ROOT,
            env={**os.environ, "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "1"},
        )
        try:
            wait_until(self._ready, 30.0, kind.label)
        except RuntimeError:
            stop(self._process)
            raise

    def _ready(self) -> bool:
        assert self._process is not None, "it was started"
        if self._process.poll() is not None:
            raise RuntimeError(f"{self.kind.label} ended with {self._process.returncode}")
        if get(f"{self.url}/health", 2.0)[0] != 200:
            return False
        return get(f"{self.url}/v1/models", 2.0)[0] == 200

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            stop(self._process)

    def cpu_s(self) -> float:
        """Seconds of CPU so far."""
        return cpu_s(self._process.pid) if self._process else 0.0

    def rss_bytes(self) -> int:
        """Resident memory."""
        return rss_bytes(self._process.pid) if self._process else 0


def _rust(program: Sequence[str], policy: str, *more: str, level: str = "warn") -> Any:
    def command(fleet: Fleet, port: int, _gateways: int) -> list[str]:
        flags = ["--host", "127.0.0.1", "--port", str(port), "--worker-urls", *fleet.urls]
        flags += ["--policy", policy, "--log-level", level]
        flags += ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port())]
        return [*program, *flags, *more]

    return command


def _kv_aware(program: str) -> Any:
    def command(fleet: Fleet, port: int, gateways: int) -> list[str]:
        made: list[str] = _rust([program], "kv_aware", level="warning")(fleet, port, gateways)
        made += ["--kv-event-model", "fake", "--kv-event-block-size", str(BLOCK_TOKENS)]
        for url, endpoint in zip(fleet.urls, fleet.events, strict=True):
            made += ["--kv-event-source", f"{url}={endpoint}"]
        return made

    return command


def _stemcache(policy: str, *, events: bool = False, redis: bool = False) -> Any:
    def command(fleet: Fleet, port: int, gateways: int) -> list[str]:
        program = [str(ROOT / ".venv" / "bin" / "stemcache"), "route", "--policy", policy]
        program += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
        if gateways > 1:
            program += ["--gateways", str(gateways)]
        if redis:
            program += ["--agree", "redis", "--redis", fleet.redis]
        elif gateways > 1:
            program += ["--agree", "hash"]
        for number, url in enumerate(fleet.urls):
            program += ["--replica", f"w{number}={url}"]
        if events:
            directory = fleet.folder / "tokenizer"
            write_tokenizer(directory)
            program += ["--tokenizer", str(directory)]
            for number, endpoint in enumerate(fleet.events):
                program += ["--events", f"w{number}={endpoint}"]
            for number, endpoint in enumerate(fleet.replays):
                program += ["--events-replay", f"w{number}={endpoint}"]
        return program

    return command


def kinds(peers: Path | None) -> list[Kind]:
    """Every gateway and policy: ours, and of the peers those that are installed under `peers`."""
    found: list[Kind] = []
    if peers is not None:
        sglang = [str(peers / "sglang/bin/python"), "-m", "sglang_router.launch_router"]
        smg = [str(peers / "smg/bin/smg"), "launch"]
        vllm = str(peers / "vllm/bin/vllm-router")
        if Path(sglang[0]).exists():
            found += [
                Kind("sglang-router", policy, _rust(sglang, policy))
                for policy in ("round_robin", "cache_aware")
            ]
        if Path(smg[0]).exists():
            found += [
                Kind("smg", policy, _rust(smg, policy))
                for policy in ("round_robin", "cache_aware", "prefix_hash")
            ]
            warm = _rust(smg, "cache_aware", "--worker-warmup-secs", "0")
            found.append(Kind("smg", "cache_aware", warm, note=" (no warm-up)"))
            consistent = _rust(smg, "consistent_hashing", "--routing-key-headers", "x-session-id")
            found.append(Kind("smg", "consistent_hashing", consistent, session=True))
        if Path(vllm).exists():
            round_robin = _rust([vllm], "round_robin", level="warning")
            aware = _rust([vllm], "cache_aware", level="warning")
            consistent = _rust([vllm], "consistent_hash", level="warning")
            found += [
                Kind("vllm-router", "round_robin", round_robin),
                Kind("vllm-router", "cache_aware", aware, tokenize=True),
                Kind("vllm-router", "cache_aware", aware, note=" (no /tokenize)"),
                Kind("vllm-router", "consistent_hash", consistent, session=True),
                Kind("vllm-router", "kv_aware", _kv_aware(vllm), tokenize=True, events=True),
            ]
    found += [
        Kind("stemcache", "round-robin", _stemcache("round-robin")),
        Kind("stemcache", "auto", _stemcache("auto")),
        Kind("stemcache", "session", _stemcache("session"), session=True),
        Kind("stemcache", "prefix-hash", _stemcache("prefix-hash")),
        Kind("stemcache", "auto", _stemcache("auto", events=True), events=True, note=" + events"),
    ]
    if installed():
        found.append(
            Kind("stemcache", "auto", _stemcache("auto", redis=True), redis=True, note=" + redis")
        )
    return found


def named(every: list[Kind], labels: Sequence[str]) -> list[Kind]:
    """Those whose label is one of `labels`, or begins with one that ends in a star."""
    return [
        kind
        for kind in every
        if any(
            kind.label == label or (label.endswith("*") and kind.label.startswith(label[:-1]))
            for label in labels
        )
    ]


def versions(peers: Path | None) -> dict[str, str]:
    """Versions of what is installed."""
    found = {}
    for name in ("sglang", "smg", "vllm"):
        for info in (peers or Path("/nowhere")).glob(
            f"{name}/lib/python3*/site-packages/*.dist-info"
        ):
            package, _, version = info.name.removesuffix(".dist-info").partition("-")
            if package in {"sglang_router", "smg", "vllm_router"}:
                found[package.replace("_", "-")] = version
    return found
