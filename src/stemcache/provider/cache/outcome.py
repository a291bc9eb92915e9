"""What a simulated cache says of one request."""

from dataclasses import dataclass

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Prompt tokens read and written under the rule, and what more there might have been.

    `expired_tokens`, `raced_tokens` and `routed_tokens` are each the gain if that one thing had
    been otherwise and all else as it was: they are alternatives, not parts of a sum.
    """

    read_tokens: int
    read_at: int | None = None
    """The last position that the read prefix holds whole; None where there is none."""
    read_gap_s: float | None = None
    """Seconds since the entry that was read had last been used."""
    doubtful_tokens: int = 0
    """Of `read_tokens`, those that hang on entries older than the lifetime's low end: sources or
    the provider leave open whether they are still there."""
    written_tokens: int = 0
    """Tokens newly kept, behind what was read. They cost `rule.write_factor`, which is 1.0 where
    writes are not charged."""
    written_by_ttl: tuple[tuple[str, int], ...] = ()
    """How `written_tokens` divides, by the TTL's name in the rule; empty name where the rule has
    none."""
    expired_tokens: int = 0
    """What more could have been read had nothing expired."""
    expired_gap_s: float | None = None
    """Seconds since the expired entry was last used."""
    expired_ttl: str | None = None
    """Name of the TTL that it outlived."""
    raced_tokens: int = 0
    """What more could have been read had entries been readable that were still being written."""
    routed_tokens: int = 0
    """What more could have been read had requests of every routing value shared one cache."""
    read_chain: int | None = None
    """Chain of the entry that was read, for `keep`."""
