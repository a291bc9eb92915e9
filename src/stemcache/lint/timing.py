"""What the rule says should have been read but was not: told by evidence, else left unexplained."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Evidence", "Label", "labelled"]

Label = Literal["expired", "raced", "routed", "marker-dropped", "unexplained", "rounding"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the log holds about one call, in tokens of its prompt."""

    expired_tokens: int = 0
    """More would have been read had nothing passed its time to live."""
    raced_tokens: int = 0
    """More would have been read had calls that were still running been further on."""
    routed_tokens: int = 0
    """More would have been read at another server or under another key, where it was written."""
    dropped: bool = False
    """Whether markers were sent and usage shows that they did nothing."""


def labelled(
    gap_tokens: int, evidence: Evidence, *, tolerance_tokens: int, reported: bool
) -> list[tuple[Label, int]]:
    """Divide a gap between what should have been read and what was. The parts add up to it.

    Labels are given in the order of how surely the log shows them; what stays within the tolerance
    of an estimate is `rounding`, and `unexplained` is said of reported figures only.
    """
    if gap_tokens <= 0:
        return []
    if reported and gap_tokens <= tolerance_tokens:
        return [("rounding", gap_tokens)]
    parts: list[tuple[Label, int]] = []
    left = gap_tokens
    shown: tuple[tuple[Label, int], ...] = (
        ("marker-dropped", left if evidence.dropped else 0),
        ("expired", evidence.expired_tokens),
        ("raced", evidence.raced_tokens),
        ("routed", evidence.routed_tokens),
    )
    for label, most in shown:
        part = min(left, most)
        # An estimate of a part that is all but the whole is the whole.
        if part > 0 and left - part <= tolerance_tokens:
            part = left
        if part > 0:
            parts.append((label, part))
            left -= part
    if left > 0:
        sure = reported and left > tolerance_tokens
        parts.append(("unexplained" if sure else "rounding", left))
    return parts
