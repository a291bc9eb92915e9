"""The engine's dials."""

from dataclasses import dataclass, fields
from typing import Literal

from stemcache.errors import UsageError

__all__ = ["EngineConfig", "EngineDials", "IndexForm"]

IndexForm = Literal["hash", "radix"]
"""`hash`: a table of chained block keys. `radix`: a compressed tree of raw tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDials:
    """What can be set before the model, and so the number of pages, is known.

    Every figure is checked here, so that the rest can rely on it.
    """

    index: IndexForm = "hash"
    block_size: int = 16
    schedule: str = "fcfs"
    """Name of an admission order in `stemcache.policy.schedule`."""
    eviction: str = "lru"
    """Name of a policy in `stemcache.policy.evict`."""
    prefix_caching: bool = True
    """Off: every prompt is computed whole and nothing is kept."""
    chunk_tokens: int = 512
    """At most this many prompt tokens are computed in one step."""
    max_running: int = 128
    """At most this many requests hold pages at once."""
    max_waiting: int = 1024
    """At most this many requests wait; one more is refused."""

    def __post_init__(self) -> None:
        """Refuse figures that cannot work."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise UsageError(f"{field.name} is {value}; use 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig(EngineDials):
    """The dials, and the size of the KV pool."""

    pages: int
    """Pages in the KV pool; one page holds one block."""

    @classmethod
    def of(cls, dials: EngineDials, *, pages: int) -> "EngineConfig":
        """These dials over a pool of that many pages."""
        common = {field.name: getattr(dials, field.name) for field in fields(EngineDials)}
        return cls(pages=pages, **common)
