"""Keys of short texts. Many begin alike, and what they begin with is hashed once.

```
root ── first 512 bytes ──► k0 … k3 ── next 512 bytes ──► k4 … k7 ── rest, hashed each time ──► …
        remembered                     remembered
```
A text adds one piece to those that are remembered, the first that was not: what is its own behind
that is no use to others. A look-up costs a seventh of hashing the piece.
"""

from stemcache.gateway.keys import TEXT_UNIT_BYTES, extend_keys

__all__ = ["Beginnings"]

_PIECE_UNITS = 4
_PIECE_BYTES = _PIECE_UNITS * TEXT_UNIT_BYTES
_MOST_PIECES = 4096
"""Some 4 MB. When there are more all are forgotten: those in use are back at once."""


class Beginnings:
    """Bounded. Safe from several threads, which at worst hash the same piece."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes | int, bytes], list[int]] = {}
        """By the parent's key, or the root, and a piece's bytes: the keys of its units."""

    def keys(self, root: bytes, text: bytes) -> list[int]:
        """Those of all whole units; as `extend_keys` makes them. The caller's."""
        keys: list[int] = []
        whole_bytes = len(text) - len(text) % TEXT_UNIT_BYTES
        known = self._known
        parent: bytes | int = root
        start = 0
        unknown = None
        while (end := start + _PIECE_BYTES) <= whole_bytes:
            piece = parent, text[start:end]
            found = known.get(piece)
            if found is None:
                unknown = piece
                break
            keys += found
            parent, start = found[-1], end
        units = [
            text[at : at + TEXT_UNIT_BYTES] for at in range(start, whole_bytes, TEXT_UNIT_BYTES)
        ]
        behind = len(keys)
        extend_keys(keys, root, units)
        if unknown is not None:
            if len(known) >= _MOST_PIECES:
                known.clear()
            known[unknown] = keys[behind : behind + _PIECE_UNITS]
        return keys
