"""Sketches by hand: units are small numbers, each of so many bytes."""

from collections.abc import Sequence

import numpy as np

from stemcache.trace.spans.sketch import Sketch

__all__ = ["of_units"]


def of_units(units: Sequence[int], unit_bytes: int = 100) -> Sketch:
    """A prompt of as many spans as units."""
    count = len(units)
    numbers = np.array(units, np.uint64)
    # Digests are spread over all 64 bits; small numbers would all fall into one end of a table.
    spread = numbers * np.uint64(0xD6E8FEB86659FD93)
    return Sketch(
        units=spread,
        unit_bytes=np.full(count, unit_bytes, np.uint32),
        heads=np.zeros(count, np.uint64),
        span_units=np.arange(count + 1, dtype=np.int64),
        span_bytes=np.full(count, unit_bytes, np.int64),
        chain=np.zeros(count, np.uint64),
        span_chain=np.zeros(count, np.uint64),
    )
