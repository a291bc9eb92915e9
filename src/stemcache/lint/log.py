"""What an analysis reads, and what it says of every call."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from stemcache.lint.judge import Loss
from stemcache.lint.timing import Label
from stemcache.trace.calls.call import Call, Place

__all__ = ["Log", "Row"]


class Log(Protocol):
    """**Protocol**: calls to read once, and bodies to read again."""

    def __iter__(self) -> Any:
        """Calls in the log's order."""
        ...

    @property
    def repeated(self) -> int:
        """Records of an answer that was there before."""
        ...

    @property
    def skipped(self) -> Mapping[str, int]:
        """Lines that could not be used, by reason."""
        ...

    def again(self, place: Place) -> Mapping[str, Any] | None:
        """The body of a call that was read before; None where it cannot be had."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is said of one call: for those who want every one."""

    call: Call
    parent: Place | None
    rule: str
    prompt_tokens: int
    predicted_tokens: int
    reported_tokens: int | None
    parts: tuple[tuple[Label, int], ...]
    losses: tuple[Loss, ...]
    cost_usd: float | None
