"""Repeated timings of one thread, and what is said of them.

CPU time, not wall time: machines that measure are shared, and what is measured neither waits nor
runs on a second core, so the two are the same where nothing else runs.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from math import log2
from typing import TypedDict

__all__ = ["Timing", "elapsed_ms", "interleaved", "slope", "timing"]


class Timing(TypedDict):
    """Median and quartiles of repeated runs."""

    median_ms: float
    p25_ms: float
    p75_ms: float
    repeats: int


def elapsed_ms(run: Callable[[], object]) -> float:
    """CPU time of one run, milliseconds."""
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3


def timing(samples_ms: Sequence[float]) -> Timing:
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(samples_ms, n=4, method="inclusive")
    return Timing(
        median_ms=round(middle, 4),
        p25_ms=round(low, 4),
        p75_ms=round(high, 4),
        repeats=len(samples_ms),
    )


def interleaved(runs: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Timing]:
    """Time several things in turn, so that a slow moment of the machine falls on all of them."""
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        gc.collect()
        for name, run in runs.items():
            samples[name].append(elapsed_ms(run))
    return {name: timing(each) for name, each in samples.items()}


def slope(sizes: Sequence[int], times_ms: Sequence[float]) -> float:
    """The exponent of growth: 1.0 where twice the size takes twice the time."""
    fit = statistics.linear_regression([log2(each) for each in sizes], [log2(t) for t in times_ms])
    return round(fit.slope, 2)
