"""A prompt in digests: which pieces it has, wherever they stand, and which prefixes.

```
span          0            1                      2
head        [h0]         [h1]                   [h2]            section, role, kind, label
units       [u0]         [u1  u2  u3  u4]       [u5]            pieces of the text, content-defined
span_units   0            1                      5      6
chain        ▲            ▲   ▲   ▲   ▲          ▲              all before it, heads included
span_chain   ▲                        ▲          ▲              at the end of each span
```
Units are position-free: the same text in another place has the same digests, but for the units at
its edges, and two prompts that share text share units. Chains are the opposite: equal exactly where
everything before is equal. Markers are in neither, values of parameters only as salts.

Invariants: `span_chain[s]` is `chain` of the span's last unit where it has one; `unit_bytes` of a
span add up to `span_bytes`; an empty text has no unit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stemcache.trace.spans.chain import mixed, running
from stemcache.trace.spans.chunks import cuts
from stemcache.trace.spans.span import Prompt, Span

__all__ = ["Chains", "Pieces", "Sketch", "TextMemo", "chains", "sketch", "unit_of"]

_WHOLE_BYTES = 1_024
"""Texts of up to so many bytes are one unit."""
_ENTRY_CHARACTERS = 200
"""What an entry of the memo takes beside its text."""
_MASK = 2**64 - 1
_SALT = 0x6A09E667F3BCC909
"""Keeps a salt from being the same as an item of the same value."""


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """Digests of one prompt, about 4% of a long text and 60 bytes a short one."""

    units: npt.NDArray[np.uint64]
    unit_bytes: npt.NDArray[np.uint32]
    heads: npt.NDArray[np.uint64]
    """What a span is, without its text: section, role, kind and label."""
    span_units: npt.NDArray[np.int64]
    """The units of span s are those from `span_units[s]` to `span_units[s + 1]`."""
    span_bytes: npt.NDArray[np.int64]
    chain: npt.NDArray[np.uint64]
    """Identity of the prefix that ends with each unit."""
    span_chain: npt.NDArray[np.uint64]
    """Identity of the prefix that ends with each span."""

    @property
    def size_bytes(self) -> int:
        """Memory of the arrays."""
        return sum(getattr(self, name).nbytes for name in self.__slots__)


class Chains(NamedTuple):
    """Identities of prefixes with the values that key a cache mixed in."""

    span_chain: npt.NDArray[np.uint64]
    unit_chain: npt.NDArray[np.uint64]


def unit_of(data: bytes) -> bytes:
    """The unit of a piece of text as eight bytes, the lowest first."""
    return sha256(data).digest()[:8]


class Pieces(NamedTuple):
    """A text in units."""

    digests: bytes
    """Eight bytes each."""
    sizes: tuple[int, ...]


class TextMemo:
    """Texts that were cut before, the latest ones: histories are sent again with every turn.

    Two generations, so that nothing is scanned: what is asked for moves to the young one, and when
    that is full the old one goes. Holds texts of at most twice `most_characters`.
    """

    def __init__(self, most_characters: int = 2**22) -> None:
        self._most = most_characters
        self._young: dict[str, Pieces] = {}
        self._old: dict[str, Pieces] = {}
        self._characters = 0

    def pieces(self, text: str) -> Pieces:
        """The text's units. A repeat costs hashing the string once."""
        found = self._young.get(text)
        if found is not None:
            return found
        found = self._old.get(text)
        if found is None:
            found = _pieces(text)
        if len(text) <= self._most // 8:
            self._characters += len(text) + _ENTRY_CHARACTERS
            if self._characters > self._most:
                self._old, self._young = self._young, {}
                self._characters = len(text) + _ENTRY_CHARACTERS
            self._young[text] = found
        return found


def sketch(prompt: Prompt, memo: TextMemo | None = None) -> Sketch:
    """Digest all spans. Linear: some 2 µs a span and 3 ns a byte; one text at a time is encoded."""
    pieces_of = _pieces if memo is None else memo.pieces
    digests: list[bytes] = []
    sizes: list[int] = []
    starts = [0]
    heads: list[bytes] = []
    known: dict[tuple[str, str, str], bytes] = {}
    for span in prompt.spans:
        heads.append(_head(span, known))
        pieces = pieces_of(span.text)
        digests.append(pieces.digests)
        sizes.extend(pieces.sizes)
        starts.append(len(sizes))
    units = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
    return _assembled(units, sizes, np.frombuffer(b"".join(heads), "<u8"), starts)


def _pieces(text: str) -> Pieces:
    # Half a surrogate pair is no text, but some decoders let it pass.
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= _WHOLE_BYTES:
        return Pieces(unit_of(data), (len(data),)) if data else _NOTHING
    digests: list[bytes] = []
    sizes: list[int] = []
    start = 0
    for end in cuts(data):
        digests.append(unit_of(data[start:end]))
        sizes.append(end - start)
        start = end
    return Pieces(b"".join(digests), tuple(sizes))


_NOTHING = Pieces(b"", ())


def _head(span: Span, known: dict[tuple[str, str, str], bytes]) -> bytes:
    key = (span.section.value, span.role, span.kind.value)
    if not span.label:
        found = known.get(key)
        if found is None:
            found = known[key] = _digest("\0".join(key))
        return found
    return _digest("\0".join((*key, span.label)))


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _assembled(
    units: npt.NDArray[np.uint64],
    sizes: list[int],
    heads: npt.NDArray[np.uint64],
    starts: list[int],
) -> Sketch:
    span_units = np.array(starts, np.int64)
    unit_bytes = np.array(sizes, np.uint32)
    ends = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(unit_bytes, out=ends[1:])
    # Items are heads and units in reading order: each span's head stands before its units.
    count = len(heads)
    owners = np.repeat(np.arange(1, count + 1), np.diff(span_units))
    unit_places = np.arange(len(units)) + owners
    items = np.empty(len(units) + count, np.uint64)
    items[unit_places] = units
    items[span_units[:-1] + np.arange(count)] = heads
    chain = running(items)
    return Sketch(
        units=units,
        unit_bytes=unit_bytes,
        heads=heads.astype(np.uint64),
        span_units=span_units,
        span_bytes=np.diff(ends[span_units]),
        chain=chain[unit_places],
        span_chain=chain[span_units[1:] + np.arange(count)],
    )


def chains(of: Sketch, salts: Sequence[tuple[int, int]]) -> Chains:
    """The chains of a sketch with values mixed in, each from its span on.

    A salt is a span's number and any integer, such as a digest of a parameter's name and value. Two
    prefixes have equal chains where their spans are equal and the same salts are in force; the
    order of salts does not matter. New arrays; linear in spans and units, times the salts. Raises
    ValueError for the number of a span below zero.
    """
    if not salts:
        return Chains(of.span_chain, of.chain)
    added = np.zeros(len(of.heads), np.uint64)
    values = mixed(np.array([(value ^ _SALT) & _MASK for _, value in salts], np.uint64))
    for (first, _), value in zip(salts, values, strict=True):
        if first < 0:
            raise ValueError(f"a salt counts from span {first}; give a number of at least 0")
        added[first:] += value
    return Chains(of.span_chain + added, of.chain + np.repeat(added, np.diff(of.span_units)))
