"""How sure a difference between two samples is: the bootstrap, by runs of neighbours. Pure, seeded.

Requests that follow one another wait in the same queue, so they are late together. Drawing them
one by one would take them for independent, and call noise a difference. So runs of neighbours are
drawn:

```
    sample     a b c d e f g h i j k l        12 requests in the order of their numbers
    drawn      [d e f][j k l][b c d][l a b]   4 runs of 3, from anywhere, around the end too
```
The length of a run is the cube root of the sample's, a usual choice; an interval reaches from the
2.5th to the 97.5th percentile of the differences of so many draws.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Difference", "Rows", "Statistic", "difference", "paired_difference"]

Rows = npt.NDArray[np.float64]
"""Shape (requests, values): a row for each request."""
Statistic = Callable[[Rows], Rows]
"""Of many samples at once: shape (samples, requests, values) to (samples,)."""

_DRAWS = 2000
_LEVEL = 95.0
_BATCH = 2_000_000
"""Rows drawn at once: bounds memory to some tens of MB."""


@dataclass(frozen=True, slots=True)
class Difference:
    """B minus A of one statistic, with a 95% interval."""

    a: float
    b: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """B minus A."""
        return self.b - self.a

    @property
    def distinguishable(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


def paired_difference(
    a: Rows,
    b: Rows,
    statistic: Statistic,
    *,
    random: np.random.Generator,
    draws: int = _DRAWS,
) -> Difference:
    """Where row i of both is the same request: the same requests are drawn on both sides."""
    assert len(a) == len(b), f"pairs have two sides, not {len(a)} and {len(b)} rows"
    drawn = _draws(len(a), random, draws, largest=len(a))
    return _interval(a, b, statistic, ((a[at], b[at]) for at in drawn))


def difference(
    a: Rows,
    b: Rows,
    statistic: Statistic,
    *,
    random: np.random.Generator,
    draws: int = _DRAWS,
) -> Difference:
    """Where the two have nothing to do with each other: each side is drawn on its own."""
    largest = max(len(a), len(b))
    pairs = zip(
        _draws(len(a), random, draws, largest=largest),
        _draws(len(b), random, draws, largest=largest),
        strict=True,
    )
    return _interval(a, b, statistic, ((a[at], b[of]) for at, of in pairs))


def _draws(
    count: int, random: np.random.Generator, draws: int, *, largest: int
) -> Iterator[npt.NDArray[np.int64]]:
    """Batches of samples as positions, shape (samples, count)."""
    assert count > 0, "nothing can be drawn from an empty sample"
    run = max(1, round(count ** (1 / 3)))
    steps = np.arange(run)
    batch = max(1, _BATCH // largest)
    for at in range(0, draws, batch):
        samples = min(batch, draws - at)
        starts = random.integers(0, count, size=(samples, -(-count // run), 1))
        yield ((starts + steps) % count).reshape(samples, -1)[:, :count]


def _interval(
    a: Rows, b: Rows, statistic: Statistic, drawn: Iterator[tuple[Rows, Rows]]
) -> Difference:
    differences = np.concatenate([statistic(other) - statistic(one) for one, other in drawn])
    tail = (100 - _LEVEL) / 2
    low, high = np.percentile(differences, [tail, 100 - tail]).tolist()
    return Difference(float(statistic(a[None])[0]), float(statistic(b[None])[0]), low, high)
