"""Lengths and how often each came: exact figures in memory that no number of requests outgrows."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

__all__ = ["LengthCounts", "Lengths"]


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of prompts, or of answers."""

    known: int
    """Requests that tell it."""
    total: int
    mean: float
    p50: float
    p90: float
    max: int


class LengthCounts:
    """Memory is by different lengths, of which there are few."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, length: int) -> None:
        """Take in one."""
        self._counts[length] += 1

    def figures(self) -> Lengths | None:
        """None where there are none. O(different lengths); percentiles as numpy's, by default."""
        if not self._counts:
            return None
        values = sorted(self._counts)
        upto = np.cumsum([self._counts[value] for value in values])
        known = int(upto[-1])
        total = sum(value * count for value, count in self._counts.items())

        def percentile(share: float) -> float:
            rank = share * (known - 1)
            at = int(rank)
            low = values[int(np.searchsorted(upto, at, "right"))]
            high = values[int(np.searchsorted(upto, min(at + 1, known - 1), "right"))]
            return low + (high - low) * (rank - at)

        return Lengths(
            known=known,
            total=total,
            mean=total / known,
            p50=percentile(0.5),
            p90=percentile(0.9),
            max=values[-1],
        )
