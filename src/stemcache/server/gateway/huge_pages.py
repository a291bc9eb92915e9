"""The heap of a process that has started, moved to huge pages where the kernel has them.

```
/proc/self/maps: anonymous, writable  ─►  its whole 2 MiB pieces  ─►  madvise(MADV_COLLAPSE)
```
What a request touches of Python lies anywhere in some 30 MB, and between two requests others use
the processor: each piece of it costs a walk of the page tables. In 2 MiB pages there are few.
A hint only: other systems, kernels before Linux 6.1 and machines whose administrator allows none go
on as they are. The kernel copies each piece, some .4 ms, and fills up those that were used in part.
"""

import ctypes
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

__all__ = ["use_huge_pages", "whole_pieces"]

_PIECE_BYTES = 2 * 2**20
_MOST_PIECES = 64
"""Of a larger heap most is not Python's but a tokenizer's."""
_ALLOWED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_MAPS = Path("/proc/self/maps")
_HUGEPAGE, _COLLAPSE = 14, 25
"""Advice of Linux's, as its asm-generic/mman-common.h numbers it."""
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(\[heap\])?\s*\Z")


def use_huge_pages() -> int:
    """Ask for it, for what there is now, 128 MiB at most. How many bytes were moved."""
    if sys.platform != "linux":
        return 0
    try:
        if "[never]" in _ALLOWED.read_text(encoding="ascii"):
            return 0  # to collapse would be done all the same
        with _MAPS.open(encoding="ascii", errors="replace") as maps:
            pieces = list(islice(whole_pieces(maps), _MOST_PIECES))
        madvise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return 0
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    moved = 0
    for start in pieces:
        if madvise(start, _PIECE_BYTES, _HUGEPAGE) == 0:
            moved += _PIECE_BYTES * (madvise(start, _PIECE_BYTES, _COLLAPSE) == 0)
    return moved


def whole_pieces(maps: Iterable[str]) -> Iterator[int]:
    """Addresses of aligned 2 MiB pieces of private memory of no file, from lines of the maps."""
    for line in maps:
        found = _MAPPING.match(line)
        if found is not None:
            start, stop = int(found[1], 16), int(found[2], 16)
            first = -(-start // _PIECE_BYTES) * _PIECE_BYTES
            yield from range(first, stop - _PIECE_BYTES + 1, _PIECE_BYTES)
