"""Elements of one long JSON array, cut out of a stream of bytes without decoding the rest.

```
[ {"a": "x, ]"} , {"b": [1, 2]} , …
  └── element ─┘   └─ element ─┘       depth goes up at { and [, down at } and ], not inside strings
```
Costs time in the bytes, whatever they are: the scan never goes back. Holds one chunk and the
element that runs on, at most `max_bytes`.
"""

import re
from collections.abc import Iterable, Iterator

__all__ = ["split_elements"]

_NEXT = re.compile(rb'["{}\[\],]')
_IN_TEXT = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_OPEN = frozenset(b"{[")


def split_elements(
    chunks: Iterable[bytes], *, max_bytes: int
) -> Iterator[tuple[int, bytes | None]]:
    """Where each element begins, and its bytes; None for one that is too long or cut off.

    Nothing follows such an element. Only objects are elements: what else stands in the array is
    part of no element.
    """
    held = bytearray()
    base = 0  # where `held` begins in the stream
    at = 0  # how far `held` was looked at
    begin = 0  # where the element begins in `held`
    depth = 0
    in_text = False
    for chunk in chunks:
        held += chunk
        while at < len(held):
            if in_text:
                at = _text_end(held, at)
                if at >= len(held) or held[at] == ord("\\"):
                    break  # an escape is cut in two: wait for the rest
                at += 1
                in_text = False
                continue
            found = _NEXT.search(held, at)
            if found is None:
                at = len(held)
                break
            at = found.end()
            byte = held[found.start()]
            if byte == ord('"'):
                in_text = True
            elif byte in _OPEN:
                depth += 1
                if depth == 2:
                    begin = found.start()
            elif byte != ord(","):
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
    if depth > 0:
        yield base + begin, None


def _text_end(held: bytearray, at: int) -> int:
    found = _IN_TEXT.match(held, at)
    assert found is not None, "the pattern matches nothing too"
    return found.end()
