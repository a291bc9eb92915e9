r"""What a request has, wherever it stands: its units, each once, with their bytes.

```
sketch    u0  u1  u2  u1             units of four spans
text of 2 "Now 10:31\nhi, I …"        short, but of more lines than one
content   u0  u1 (twice its bytes)  first line of 2  rest of 2
```
A short text is one unit of a sketch. A clock in its first line, or a hint in its last, would make
all of it differ, and a conversation's second request may have nothing else to be known by; so such
lines are units of their own here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stemcache.trace.spans.sketch import Sketch
from stemcache.trace.spans.span import Prompt

__all__ = ["Content", "End", "Ordered", "content_of"]

_TELLING_BYTES = 24


class End(NamedTuple):
    """The last two units of a request, by which it is known where a conversation went on."""

    last: int = 0
    before: int = 0
    last_bytes: int = 0
    """0 of an empty prompt."""


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What one call had."""

    units: npt.NDArray[np.uint64]
    """Each once, rising."""
    unit_bytes: npt.NDArray[np.uint32]
    """How much of each, in all places together."""
    content_bytes: int
    """Of all of them."""
    end: "End"
    """What stands at the very end."""

    def shared_bytes(self, other: "Content") -> int:
        """Bytes that both have, wherever they stand; what repeats counts as often as in both."""
        if not len(self.units) or not len(other.units):
            return 0
        few, many = (self, other) if len(self.units) < len(other.units) else (other, self)
        at = np.searchsorted(many.units, few.units)
        at[at == len(many.units)] = 0
        found = many.units[at] == few.units
        less = np.minimum(many.unit_bytes[at[found]], few.unit_bytes[found])
        return int(less.sum(dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """A request's content as it is asked for."""

    content: Content
    earlier: npt.NDArray[np.uint64]
    """Units that stand before the last span."""

    def goes_on(self, end: End) -> bool:
        """Whether a request with that end stands inside of this one.

        "Yes." ends many: a short last unit counts only behind the one that was before it.
        """
        if not end.last_bytes:
            return False
        at = np.nonzero(self.earlier == np.uint64(end.last))[0]
        if not len(at) or end.last_bytes >= _TELLING_BYTES:
            return bool(len(at))
        return bool((self.earlier[at[at > 0] - 1] == np.uint64(end.before)).any())


def content_of(sketch: Sketch, scope: str, prompt: Prompt | None) -> Ordered:
    """Content with the scope mixed in, so that scopes never share. Linear but for a sort."""
    units, sizes, starts = sketch.units, sketch.unit_bytes, sketch.span_units
    if prompt is not None and len(prompt.spans) + 1 == len(starts):
        units, sizes, last = _by_lines(prompt, units, sizes, starts)
    else:
        last = int(starts[-2]) if len(starts) > 1 else 0
    salt = blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    mixed = units ^ np.uint64(int.from_bytes(salt, "little"))
    once, which = np.unique(mixed, return_inverse=True)
    summed = np.bincount(which, sizes, len(once))
    content = Content(
        once,
        np.minimum(summed, 2**32 - 1).astype(np.uint32),
        int(sizes.sum(dtype=np.int64)),
        _end(mixed, sizes),
    )
    return Ordered(content, mixed[:last])


def _end(units: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint32]) -> End:
    if not len(units):
        return End()
    return End(int(units[-1]), int(units[-2]) if len(units) > 1 else 0, int(sizes[-1]))


def _by_lines(
    prompt: Prompt,
    units: npt.NDArray[np.uint64],
    sizes: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], int]:
    """Units and sizes with those of short texts cut, and where the last span's begin."""
    counts = np.diff(starts)
    cut: list[int] = []
    digests: list[int] = []
    lengths: list[int] = []
    pieces: list[int] = []
    for i in np.nonzero(counts == 1)[0].tolist():
        text = prompt.spans[i].text
        if "\n" not in text:
            continue
        lines = list(_lines(text))
        if len(lines) > 1:
            cut.append(int(starts[i]))
            pieces.append(len(lines))
            for line in lines:
                data = line.encode("utf-8", "surrogatepass")
                digests.append(int.from_bytes(blake2b(data, digest_size=8).digest(), "little"))
                lengths.append(len(data))
    begin = int(starts[-2]) if len(starts) > 1 else 0
    if not cut:
        return units, sizes, begin
    repeats = np.ones(len(units), np.int64)
    repeats[cut] = pieces
    places = np.repeat(np.isin(np.arange(len(units)), cut), repeats)
    more_units, more_sizes = np.repeat(units, repeats), np.repeat(sizes, repeats)
    more_units[places] = np.array(digests, np.uint64)
    more_sizes[places] = np.array(lengths, np.uint32)
    return more_units, more_sizes, int(repeats[:begin].sum())


def _lines(text: str) -> Iterator[str]:
    """The first line, what is between, and the last line, as far as there is any."""
    first = text.find("\n") + 1
    last = text.rfind("\n", first, len(text) - 1) + 1
    yield text[:first]
    if last > first:
        yield text[first:last]
        first = last
    if first < len(text):
        yield text[first:]
