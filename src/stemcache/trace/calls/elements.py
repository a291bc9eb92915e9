"""Elements of one long JSON array, cut out of a stream of bytes without decoding the rest.

```
[ {"a": "x, ]"} , {"b": [1, 2]} , …
  └── element ─┘   └─ element ─┘       depth goes up at { and [, down at } and ], not inside strings
{"a": 1} {"b": 2} …
└ element┘ └ element┘                  the same without the array around them
```
Costs time in the bytes, whatever they are: the scan never goes back. Holds one chunk and the
element that runs on, at most `max_bytes`.
"""

import re
from collections.abc import Iterable, Iterator

__all__ = ["split_elements"]

_NEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[{}\[\]]', re.DOTALL)
"""A whole string or a bracket; of a string that goes on behind the chunk, the part that is here."""
_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_QUOTE = ord('"')
_OPEN = frozenset(b"{[")


def split_elements(
    chunks: Iterable[bytes], *, max_bytes: int, bare: bool = False
) -> Iterator[tuple[int, bytes | None]]:
    """Where each element begins, and its bytes; None for one that is too long or cut off.

    Nothing follows such an element. Only objects are elements: what else stands in the array is
    part of no element. `bare`: they stand one after another without an array around them.
    """
    outer = 1 if bare else 0
    held = bytearray()
    base = 0  # where `held` begins in the stream
    at = 0  # how far `held` was looked at
    begin = 0  # where the element begins in `held`
    depth = outer
    in_text = False
    for chunk in chunks:
        held += chunk
        while at < len(held):
            found = _REST.match(held, at) if in_text else _NEXT.search(held, at)
            if found is None:
                at = len(held)
                break
            at = found.end()
            byte = held[found.start()]
            if in_text or byte == _QUOTE:
                in_text = not found.group(1)
                if in_text:
                    break  # the rest comes with the next chunk, also of an escape cut in two
            elif byte in _OPEN:
                depth += 1
                if depth == 2:
                    begin = found.start()
            else:
                depth -= 1
                if depth == 1:
                    yield base + begin, bytes(held[begin:at])
                    begin = at
                elif depth <= 0:
                    return
        if depth < 2 and not in_text:
            del held[:at]
            base, at, begin = base + at, 0, 0
        elif begin:
            del held[:begin]
            base, at, begin = base + begin, at - begin, 0
        if len(held) > max_bytes:
            yield base, None
            return
    if depth > outer:
        yield base + begin, None
