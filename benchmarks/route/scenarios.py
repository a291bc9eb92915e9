"""What the gateways are put through. Each gives a setup for a seed, and says who takes part."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.route.cache import BLOCK_CHARACTERS, chain
from benchmarks.route.measure import Setup, one_cache
from benchmarks.route.plans import TracePlan, hot, zipf
from benchmarks.route.traces import conversation, sessions

__all__ = ["AWARE", "EVERYBODY", "TURNS", "Scenario", "scenarios"]

OURS = (
    "stemcache round-robin",
    "stemcache auto",
    "stemcache session",
    "stemcache prefix-hash",
    "stemcache auto + events",
)
EVERYBODY = ("sglang-router*", "smg*", "vllm-router*", *OURS)
AWARE = (
    "sglang-router cache_aware",
    "smg cache_aware",
    "smg cache_aware (no warm-up)",
    "smg prefix_hash",
    "smg consistent_hashing",
    "vllm-router cache_aware",
    "vllm-router consistent_hash",
    "stemcache auto",
    "stemcache auto + events",
    "stemcache session",
    "stemcache prefix-hash",
)
TURNS = ("sglang-router round_robin", "smg round_robin", "vllm-router round_robin")


def _zipf(seed: int, *, stream: bool, count: int, gateways: int = 1) -> Setup:
    return Setup(
        plan={"kind": "zipf", "seed": seed, "count": count},
        costs={"capacity_blocks": 800, "block_s": 0.002},
        concurrency=24,
        stream=stream,
        tokens=4 if stream else 1,
        gateways=gateways,
    )


def _paced(seed: int, *, stream: bool = False) -> Setup:
    return Setup(
        plan={"kind": "zipf", "seed": seed, "count": 300},
        costs={"capacity_blocks": 800, "block_s": 0.002},
        concurrency=1,
        stream=stream,
    )


def _hot(seed: int, *, stream: bool) -> Setup:
    return Setup(
        plan={"kind": "hot", "seed": seed, "count": 4_000},
        costs={"capacity_blocks": 800, "slots": 8, "block_s": 0.0005, "token_s": 0.002},
        concurrency=40,
        stream=stream,
        tokens=16,
    )


def _alone(setup: Setup) -> dict[str, Any]:
    """What one cache of all workers' size would find, one of one worker's, and one without end."""
    plan = {name: value for name, value in setup.plan.items() if name != "kind"}
    make = hot if setup.plan["kind"] == "hot" else zipf
    texts = [prompt.text for prompt in make(**plan)]
    keys = [chain(text) for text in texts]
    whole = sum(map(len, keys)) * BLOCK_CHARACTERS / sum(map(len, texts))
    capacity = setup.costs["capacity_blocks"]
    return {
        "prompts": len(texts),
        "one_cache": round(whole * one_cache(keys, setup.workers * capacity), 4),
        "one_worker": round(whole * one_cache(keys, capacity), 4),
        "ideal": round(whole * one_cache(keys, 1 << 60), 4),
    }


@dataclass(frozen=True, slots=True)
class Scenario:
    """One question, put to every gateway with the same seeds."""

    name: str
    what: str
    """For the table."""
    setup: Callable[[int], Setup]
    kinds: tuple[str, ...]
    repeats: int
    more: Callable[[Setup], dict[str, Any]] = _alone
    """Figures that need no gateway."""


BLOCK_S = 0.08
"""Prefill of a trace's block of 512 tokens at speed 1."""


class Traces:
    """The two trace scenarios; their plans are made once, in `folder`."""

    def __init__(self, traces: Path, folder: Path, count: int | None, slower: float) -> None:
        self._traces = traces
        self._slower = slower
        self._folder = folder
        self._count = count

    def conversation(self, _seed: int = 0) -> Setup:
        """One hour of chat in a minute."""
        return self._setup(self._conversation(), speed=60.0)

    def sessions(self, _seed: int = 0) -> Setup:
        """Four hours of 200 coding sessions in a minute."""
        return self._setup(self._sessions(), speed=240.0)

    def conversation_more(self, _setup: Setup) -> dict[str, Any]:
        """What one cache of all workers' size finds."""
        return self._one_cache(self._conversation())

    def sessions_more(self, _setup: Setup) -> dict[str, Any]:
        """The same."""
        return self._one_cache(self._sessions())

    def _setup(self, path: Path, speed: float) -> Setup:
        speed /= self._slower
        plan: dict[str, Any] = {"kind": "trace", "path": str(path), "speed": speed}
        if self._count:
            plan["count"] = self._count
        return Setup(
            plan=plan,
            workers=8,
            costs={"capacity_blocks": 3_750, "block_s": round(BLOCK_S / speed, 6)},
            concurrency=None,
            stream=True,
            tokens=2,
        )

    def _one_cache(self, path: Path) -> dict[str, Any]:
        plan = TracePlan.load(path)
        every = [plan.blocks(n) for n in range(min(len(plan), self._count or len(plan)))]
        return {
            "prompts": len(every),
            "one_cache": round(one_cache(every, 8 * 3_750), 4),
            "one_worker": round(one_cache(every, 3_750), 4),
            "ideal": round(one_cache(every, 1 << 60), 4),
        }

    def _conversation(self) -> Path:
        path = self._folder / "conversation.npz"
        if not path.exists():
            conversation(self._traces / "mooncake_conversation.jsonl.gz").save(path)
        return path

    def _sessions(self) -> Path:
        path = self._folder / "sessions.npz"
        if not path.exists():
            trace = self._traces / "claude_code_sessions_rle.jsonl.gz"
            sessions(trace, count=200, within_s=7_200, cut_s=14_400, seed=1).save(path)
        return path


def scenarios(
    traces: Path, folder: Path, count: int | None = None, slower: float = 1.0
) -> dict[str, Scenario]:
    """By name. `count` bounds the requests of the longer ones, for a quick look.

    `slower` stretches the traces' time, prefills with it, where the machine is too slow.
    """
    runs = Traces(traces, folder, count, slower)
    many = count or 3_000
    made = [
        Scenario(
            "zipf",
            f"60 Zipf groups, {many:,} requests, concurrency 24",
            lambda seed: _zipf(seed, stream=False, count=many),
            EVERYBODY,
            5,
        ),
        Scenario(
            "zipf-stream",
            f"60 Zipf groups, {many:,} streams, concurrency 24",
            lambda seed: _zipf(seed, stream=True, count=many),
            (*AWARE, *TURNS),
            5,
        ),
        Scenario("paced", "300 requests one after the other, cold", _paced, EVERYBODY, 5),
        Scenario(
            "paced-stream",
            "300 streams one after the other, cold",
            lambda seed: _paced(seed, stream=True),
            AWARE,
            5,
        ),
        Scenario(
            "hot",
            "one prefix of 8,000 characters, concurrency 40",
            lambda seed: _hot(seed, stream=False),
            EVERYBODY,
            5,
        ),
        Scenario(
            "hot-stream",
            "one prefix of 8,000 characters, 40 streams",
            lambda seed: _hot(seed, stream=True),
            ("smg*", "vllm-router*", *OURS),
            5,
        ),
        Scenario(
            "conversation",
            "12,031 requests of a chat service over 8 workers",
            runs.conversation,
            (*AWARE, *TURNS),
            3,
            runs.conversation_more,
        ),
        Scenario(
            "sessions",
            "200 coding sessions over 8 workers",
            runs.sessions,
            AWARE,
            3,
            runs.sessions_more,
        ),
        Scenario(
            "two-gateways",
            f"60 Zipf groups, {many:,} requests, two gateways in turn",
            lambda seed: _zipf(seed, stream=False, count=many, gateways=2),
            (*AWARE, "stemcache auto + redis"),
            5,
        ),
    ]
    return {each.name: each for each in made}
