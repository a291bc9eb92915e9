"""The parent of a request: the earlier, answered one that shares most content with it.

```
sketch ─► units, with the scope mixed in ─► table: who had them, rarest first ─► candidates
                                                                                     │
                      Parent ◄── most shared bytes ◄── counted over all units ◄──────┘
```
Content is compared wherever it stands, so a first line that differs hides nothing. A unit that
everybody has says nothing of who is whose parent: candidates are those that had the rarest ones.

Memory is bounded by construction: 44 bytes a unit of the table, 64 MiB for the units of the latest
calls, 80 bytes a call; about 130 MB with the defaults once all of it is in use, and a new index
takes almost none.

Cost of `find`: under 1 ms for 100 units, 2 to 4 ms for 1,000; of `add` a tenth of that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stemcache.trace.parents.content import Content, Ordered, content_of
from stemcache.trace.parents.kept import KeptCalls
from stemcache.trace.parents.table import Seen, UnitTable
from stemcache.trace.spans.sketch import Sketch
from stemcache.trace.spans.span import Prompt

__all__ = ["Parent", "ParentIndex"]

_KEPT_BYTES = 64 * 2**20
_CANDIDATES = 16
"""So many are compared unit by unit."""


@dataclass(frozen=True, slots=True)
class Parent:
    """An earlier call."""

    number: int
    """What `add` gave for it."""
    shared_bytes: int
    overlap: float
    """Shared bytes over the bytes of the smaller one of the two requests."""


class _Found(NamedTuple):
    """A candidate; tuples rise with what makes one the better parent."""

    shared_bytes: int
    named: bool
    own: int
    """Less the bytes that the request does not have."""
    number: int
    goes_on: bool


class ParentIndex:
    """Earlier calls by their content. Not for threads.

    Below an `overlap` of 0.25 there is no parent: two long chats under one short system prompt have
    nothing to do with each other, while a question about a long document goes on from any other
    question about it.
    """

    def __init__(
        self,
        *,
        most_calls: int = 200_000,
        most_units: int = 2**20,
        overlap: float = 0.25,
        kept_bytes: int = _KEPT_BYTES,
    ) -> None:
        self._overlap = overlap
        self._table = UnitTable(most_units)
        self._kept = KeptCalls(most_calls=most_calls, most_bytes=kept_bytes)
        self._latest: tuple[Sketch, str, Ordered] | None = None

    def add(
        self,
        sketch: Sketch,
        *,
        scope: str,
        answered_s: float | None,
        prompt: Prompt | None = None,
    ) -> int:
        """Remember a call that was answered; its number, counted from 0 over all scopes.

        `answered_s` is when its content could first be read from a cache, None if unknown. With the
        `prompt` that was sketched, first and last lines of short texts are told from the rest; give
        it always or never.
        """
        content = self._content(sketch, scope, prompt).content
        number = self._kept.add(content, answered_s)
        self._table.add(content.units, number)
        return number

    def find(
        self,
        sketch: Sketch,
        *,
        scope: str,
        now_s: float | None,
        previous: int | None = None,
        prompt: Prompt | None = None,
    ) -> Parent | None:
        """The parent of a request sent at `now_s`, None where no call shares enough with it.

        It shares most; but a call whose very end stands inside of the request, as that of a
        conversation does that goes on, is taken before one that shares up to twice as much by
        having the same documents. Of calls that share as much, `previous` goes first, the call that
        the request itself names; then the one with least content that the request does not have;
        then the latest.
        """
        ordered = self._content(sketch, scope, prompt)
        content = ordered.content
        found: list[_Found] = []
        for number in self._candidates(content, now_s, previous):
            other = self._kept.content(number)
            shared = content.shared_bytes(other)
            if shared:
                goes_on = ordered.goes_on(other.end)
                own = other.content_bytes - shared
                found.append(_Found(shared, number == previous, -own, number, goes_on))
        if not found:
            return None
        most = max(found).shared_bytes
        best = max(found, key=lambda each: (each.goes_on and 2 * each.shared_bytes >= most, each))
        smaller = min(content.content_bytes, best.shared_bytes - best.own)
        overlap = best.shared_bytes / smaller
        return Parent(best.number, best.shared_bytes, overlap) if overlap >= self._overlap else None

    def _content(self, sketch: Sketch, scope: str, prompt: Prompt | None) -> Ordered:
        """The content, made once for `find` and the `add` that follows it."""
        if self._latest is None or self._latest[0] is not sketch or self._latest[1] != scope:
            self._latest = sketch, scope, content_of(sketch, scope, prompt)
        return self._latest[2]

    def _candidates(
        self, content: Content, now_s: float | None, previous: int | None
    ) -> Iterator[int]:
        seen = self._table.find(content.units)
        found = 0
        if previous is not None and self._usable(previous, now_s):
            yield previous
        for number in _by_weight(seen, content.unit_bytes[seen.at]):
            if number != previous and self._usable(number, now_s):
                yield number
                found += 1
                if found == _CANDIDATES:
                    return

    def _usable(self, number: int, now_s: float | None) -> bool:
        return self._kept.holds(number) and self._kept.answered_before(number, now_s)


def _by_weight(seen: Seen, unit_bytes: npt.NDArray[np.uint32]) -> Iterator[int]:
    """Calls, those first that share most bytes, a byte counting less the more calls have it."""
    if not len(seen.at):
        return
    weights = np.repeat(unit_bytes / seen.counts, seen.calls.shape[1])
    calls = seen.calls.ravel()
    known = calls >= 0
    numbers, which = np.unique(calls[known], return_inverse=True)
    scores = np.bincount(which, weights[known])
    for i in np.lexsort((-numbers, -scores)):
        yield int(numbers[i])
