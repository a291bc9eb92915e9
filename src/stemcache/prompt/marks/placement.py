"""Where marks are put, and what that is expected to cost."""

from dataclasses import dataclass

__all__ = ["Held", "Placed", "Placement"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A mark behind the piece before `boundary`."""

    boundary: int
    ttl: str | None = None
    """None is the provider's default."""


@dataclass(frozen=True, slots=True)
class Held:
    """A prefix that an earlier request of this conversation has written."""

    boundary: int
    alive: float
    """The probability that it is still there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Marks in rising order of boundary."""

    marks: tuple[Placed, ...]
    expected_usd: float | None
    """Of this request's prompt; None where the price is not known, and tokens decided."""
    expected_read_tokens: float
    expected_written_tokens: float
    implicit: bool = True
    """False: the provider's own breakpoints cost more than they bring and are to be turned off
    (OpenAI from 5.6: `prompt_cache_options.mode` is `explicit`)."""
    why: tuple[str, ...] = ()
    """A sentence for each mark that could be expected and is not there: below the minimum, asked
    for too seldom, …"""
