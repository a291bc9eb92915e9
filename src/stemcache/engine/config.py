"""The engine's dials."""

from dataclasses import dataclass
from typing import Literal

from stemcache.errors import UsageError

__all__ = ["EngineConfig", "IndexForm"]

IndexForm = Literal["hash", "radix"]
"""`hash`: a table of chained block keys. `radix`: a compressed tree of raw tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """The engine's dials. Every figure is checked here, so that the rest can rely on it."""

    pages: int
    """Pages in the KV pool; one page holds one block."""
    index: IndexForm = "hash"
    block_size: int = 16
    schedule: str = "fcfs"
    """Name of an admission order in `stemcache.policy.schedule`."""
    eviction: str = "lru"
    """Name of a policy in `stemcache.policy.evict`."""
    prefix_caching: bool = True
    """Off: every prompt is computed whole and nothing is kept."""
    chunk_tokens: int = 512
    """At most this many tokens are computed in one step."""
    max_running: int = 128
    """At most this many requests hold pages at once."""
    max_waiting: int = 1024
    """At most this many requests wait; one more is refused."""

    def __post_init__(self) -> None:
        """Refuse figures that cannot work."""
        for name in ("pages", "block_size", "chunk_tokens", "max_running", "max_waiting"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; use 1 or more")
