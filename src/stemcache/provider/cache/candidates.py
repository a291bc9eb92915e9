"""The cuts of a request that are looked up, shortest prefix first.

```
fine cuts      · · · ○ · · · · ○ · · ○ · · ·     ○ a sample: chains that are multiples of four
positions      │         │         │     │       all of them
candidates     │     ○   │     ○   │ ○   │
```
The sample depends on the chain alone, so that two prompts that agree sample alike.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stemcache.provider.cache.cut import Cuts
from stemcache.provider.shape import Shape

__all__ = ["Candidates", "answers", "candidates"]

_SAMPLE = np.uint64(3)
_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Candidates:
    """Three columns of equal length; tokens never fall."""

    chains: list[int]
    """Chain of the entry that is looked for."""
    tokens: list[int]
    """What a find is worth."""
    positions: list[int]
    """The position that ends there, or -1 for a fine cut."""

    def __len__(self) -> int:
        return len(self.chains)


def candidates(shape: Shape, cuts: Cuts) -> Candidates:
    """The cuts to look at. Costs O(positions + fine cuts), the latter in numpy."""
    if cuts.everywhere and len(shape.fine_chain):
        return _sampled(shape)
    indices = range(len(shape.positions)) if cuts.everywhere else cuts.positions
    places = [shape.positions[index] for index in indices]
    return Candidates(
        chains=[place.chain & _MASK for place in places],
        tokens=[place.end_tokens for place in places],
        positions=list(indices),
    )


def answers(shape: Shape) -> Candidates:
    """The ends of assistant's messages, for caches that keep answers. Costs O(positions).

    The chain is that of the prompt before the message; the tokens reach to the message's end.
    """
    found = Candidates(chains=[], tokens=[], positions=[])
    before: int | None = None
    for index, place in enumerate(shape.positions):
        begins = index == 0 or shape.positions[index - 1].message != place.message
        if begins:
            before = index - 1 if index else None
        if place.role != "assistant":
            before = None
        if place.ends_message and before is not None:
            found.chains.append(shape.positions[before].chain & _MASK)
            found.tokens.append(place.end_tokens)
            found.positions.append(index)
    return found


def _sampled(shape: Shape) -> Candidates:
    numbers = {place.chain & _MASK: index for index, place in enumerate(shape.positions)}
    ends: npt.NDArray[np.uint64] = np.fromiter(numbers, dtype=np.uint64, count=len(numbers))
    chosen = ((shape.fine_chain & _SAMPLE) == 0) | np.isin(shape.fine_chain, ends)
    chains: list[int] = shape.fine_chain[chosen].tolist()
    return Candidates(
        chains=chains,
        tokens=shape.fine_tokens[chosen].tolist(),
        positions=[numbers.get(chain, -1) for chain in chains],
    )
