r"""What a request has, wherever it stands: its units, each once, with their bytes.

```
sketch    u0  u1  u2  u1             units of four spans
text of 2 "Now 10:31\nhi, I …"        short, but of more lines than one
content   u0  u1 (twice its bytes)  "Now 10:31"  "\n"  "hi, I …"
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

from stemcache.trace.spans.sketch import Sketch, unit_of
from stemcache.trace.spans.span import Prompt

__all__ = ["Content", "End", "Ordered", "content_of"]

_TELLING_BYTES = 24


class End(NamedTuple):
    """Units by which it is known where a conversation went on."""

    last: int = 0
    before_last: int = 0
    head: int = 0
    """The first one of the last message: what follows it may be a hint that is not sent again."""
    before_head: int = 0
    last_bytes: int = 0
    """0 of an empty prompt."""
    head_bytes: int = 0


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
    """Units that stand before the last message."""

    def goes_on(self, end: End) -> bool:
        """Whether a request with that end stands inside of this one.

        "Yes." ends many: a short unit counts only behind the one that was before it.
        """
        return self._has(end.last, end.before_last, end.last_bytes) or self._has(
            end.head, end.before_head, end.head_bytes
        )

    def _has(self, unit: int, before: int, unit_bytes: int) -> bool:
        if not unit_bytes:
            return False
        at = np.nonzero(self.earlier == np.uint64(unit))[0]
        if unit_bytes >= _TELLING_BYTES or not len(at):
            return bool(len(at))
        return bool((self.earlier[at[at > 0] - 1] == np.uint64(before)).any())


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
        _end(mixed, sizes, last),
    )
    return Ordered(content, mixed[:last])


def _end(units: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint32], last: int) -> End:
    """`last` is where the units of the last message begin, which may have none."""
    if not len(units):
        return End()
    at = [len(units) - 1, min(last, len(units) - 1)]
    (last, head), (last_bytes, head_bytes) = units[at].tolist(), sizes[at].tolist()
    before = [int(units[i - 1]) if i else 0 for i in at]
    return End(last, before[0], head, before[1], last_bytes, head_bytes)


def _by_lines(
    prompt: Prompt,
    units: npt.NDArray[np.uint64],
    sizes: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], int]:
    """Units and sizes with those of short texts cut, and where the last message's begin."""
    counts = np.diff(starts)
    cut: list[int] = []
    digests: list[bytes] = []
    lengths: list[int] = []
    pieces: list[int] = []
    for i in np.nonzero(counts == 1)[0].tolist():
        text = prompt.spans[i].text
        if "\n" not in text:
            continue
        lines = [line for line in _lines(text) if line]
        if len(lines) > 1:
            cut.append(int(starts[i]))
            pieces.append(len(lines))
            for line in lines:
                data = line.encode("utf-8", "surrogatepass")
                digests.append(unit_of(data))  # a line may be a whole text elsewhere
                lengths.append(len(data))
    begin = int(starts[_last_message(prompt)]) if len(starts) > 1 else 0
    if not cut:
        return units, sizes, begin
    repeats = np.ones(len(units), np.int64)
    repeats[cut] = pieces
    places = np.repeat(np.isin(np.arange(len(units)), cut), repeats)
    more_units, more_sizes = np.repeat(units, repeats), np.repeat(sizes, repeats)
    more_units[places] = np.frombuffer(b"".join(digests), "<u8")
    more_sizes[places] = np.array(lengths, np.uint32)
    return more_units, more_sizes, int(repeats[:begin].sum())


def _last_message(prompt: Prompt) -> int:
    """Number of the first span of the last message."""
    spans = prompt.spans
    at = len(spans) - 1
    while at > 0 and spans[at - 1].message == spans[-1].message >= 0:
        at -= 1
    return at


def _lines(text: str) -> Iterator[str]:
    """The first line, what is between, and the last line, each without its breaks, and those."""
    first = text.find("\n")
    last = text.rfind("\n")
    yield text[:first]
    yield "\n"
    if last > first:
        yield text[first + 1 : last]
        yield "\n"
    yield text[last + 1 :]
