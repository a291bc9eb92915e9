"""What an engine has done so far and holds now, as one value."""

from dataclasses import dataclass

__all__ = ["EngineStats"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """What is held at this moment, then counters that rise for the life of the engine.

    `pages_free + pages_owned + pages_indexed == pages_total`, always.
    """

    waiting: int
    running: int
    pages_total: int
    pages_free: int
    pages_owned: int
    """Held by one running request alone, not published."""
    pages_indexed: int
    """Published: pinned by leases or idle."""
    pages_pinned: int
    """Of the indexed, those that running requests hold. In use = owned + pinned."""
    requests: int
    """Admitted, each once."""
    prompt_tokens: int
    """Of admitted requests; prompt = cached + computed."""
    cached_tokens: int
    computed_tokens: int
    recomputed_tokens: int
    """Computed again after a preemption."""
    completion_tokens: int
    preemptions: int
    evicted_blocks: int
    steps: int
    failed_steps: int
    cancelled: int
    resets: int
