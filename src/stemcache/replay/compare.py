"""Two runs side by side: what differs, by how much, and whether that could be noise. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stemcache.errors import UsageError
from stemcache.replay.report import Column, Report
from stemcache.replay.resample import Difference, Rows, Statistic, difference, paired_difference

__all__ = ["SHARE_FAILED", "Comparison", "Line", "as_json", "compare"]

SHARE_FAILED = "share failed"
"""The figure of requests that all the others leave out."""

_FEWEST = 30
"""Of requests, below which no interval is worth its name."""


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of both runs."""

    name: str
    unit: str
    """`s` for seconds, `1` for a share."""
    difference: Difference
    requests: int
    """That both have, if paired; of the smaller run, if not."""

    @property
    def verdict(self) -> str:
        """In words, for the screen."""
        if not self.difference.distinguishable:
            return "within noise"
        return "higher" if self.difference.value > 0 else "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All figures, and what a reader has to know of the two runs."""

    paired: bool
    """Whether requests of equal number were taken for the same one."""
    seed: int
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def compare(a: Report, b: Report, *, seed: int, paired: bool | None = None) -> Comparison:
    """Compare two reports that have their columns. Raises UsageError if one has not.

    Unless told, they are paired where traces of one name are replayed. Takes a few seconds for
    10,000 requests.
    """
    left, right = _columns(a, "the first"), _columns(b, "the second")
    if paired is None:
        paired = _trace_name(a) == _trace_name(b)
    random = np.random.default_rng(seed)
    lines: list[Line] = []
    for column, name in (("ttft_s", "TTFT"), ("e2e_s", "end to end")):
        rows = _rows(left, right, (column,), paired=paired)
        for label, statistic in _STATISTICS.items():
            lines += _line(f"{name} {label}", "s", rows, statistic, random, paired=paired)
    rows = _rows(left, right, ("cached_tokens", "prompt_tokens"), paired=paired)
    lines += _line("hit rate", "1", rows, _ratio, random, paired=paired)
    failed = _rows(
        {**left, "ended": _ended(left)},
        {**right, "ended": _ended(right)},
        ("ended",),
        paired=paired,
    )
    lines += _line(SHARE_FAILED, "1", failed, _mean, random, paired=paired)
    if not lines or not (a.counts.ok or b.counts.ok):
        raise UsageError(
            "the two runs have no answered request to compare; see the errors in their reports"
        )
    return Comparison(
        paired=paired,
        seed=seed,
        lines=tuple(lines),
        notes=tuple(_notes(a, b, lines, paired=paired)),
    )


def as_json(comparison: Comparison) -> dict[str, object]:
    """The comparison as plain values; differences in seconds, or in shares."""
    return {
        "kind": "stemcache compare",
        "version": 1,
        "paired": comparison.paired,
        "seed": comparison.seed,
        "level": 0.95,
        "figures": [
            {
                "name": line.name,
                "unit": line.unit,
                "a": line.difference.a,
                "b": line.difference.b,
                "difference": line.difference.value,
                "low": line.difference.low,
                "high": line.difference.high,
                "distinguishable": line.difference.distinguishable,
                "requests": line.requests,
            }
            for line in comparison.lines
        ],
        "notes": comparison.notes,
    }


def _trace_name(report: Report) -> tuple[str, int | None]:
    return Path(report.trace.path).name, report.trace.block_tokens


def _columns(report: Report, which: str) -> Mapping[str, Column]:
    if report.columns is None:
        raise UsageError(
            f"{which} report has no figures per request; give a file that --json FILE wrote"
        )
    return report.columns


def _ended(columns: Mapping[str, Column]) -> Column:
    """1 for a request that failed, 0 for an answered one; unknown for one that was broken off."""
    return tuple(
        failed if failed or e2e_s is not None else None
        for failed, e2e_s in zip(columns.get("failed", ()), columns.get("e2e_s", ()), strict=True)
    )


def _rows(
    a: Mapping[str, Column], b: Mapping[str, Column], names: tuple[str, ...], *, paired: bool
) -> tuple[Rows, Rows]:
    """Requests of which all these values are known; if paired, in both."""
    left, right = _by_number(a, names), _by_number(b, names)
    if paired:
        both = sorted(left.keys() & right.keys())
        left, right = {n: left[n] for n in both}, {n: right[n] for n in both}
    width = len(names)
    return (
        np.array(list(left.values()), np.float64).reshape(-1, width),
        np.array(list(right.values()), np.float64).reshape(-1, width),
    )


def _by_number(columns: Mapping[str, Column], names: tuple[str, ...]) -> dict[float, list[float]]:
    numbers = columns.get("number", ())
    table: dict[float, list[float]] = {}
    for number, *values in zip(numbers, *(columns.get(name, ()) for name in names), strict=True):
        known = [value for value in values if value is not None]
        if number is not None and len(known) == len(names):
            table[number] = known
    return table


def _line(
    name: str,
    unit: str,
    rows: tuple[Rows, Rows],
    statistic: Statistic,
    random: np.random.Generator,
    *,
    paired: bool,
) -> list[Line]:
    a, b = rows
    if not len(a) or not len(b):
        return []
    how = paired_difference if paired else difference
    return [Line(name, unit, how(a, b, statistic, random=random), min(len(a), len(b)))]


def _percentile(percent: float) -> Statistic:
    return lambda samples: np.percentile(samples[..., 0], percent, axis=-1)


def _ratio(samples: Rows) -> Rows:
    sums = samples.sum(axis=-2)
    return np.asarray(sums[..., 0] / np.maximum(sums[..., 1], 1.0))


def _mean(samples: Rows) -> Rows:
    return np.asarray(samples[..., 0].mean(axis=-1))


_STATISTICS: Mapping[str, Statistic] = {
    "mean": _mean,
    "p50": _percentile(50),
    "p95": _percentile(95),
    "p99": _percentile(99),
}


def _notes(a: Report, b: Report, lines: list[Line], *, paired: bool) -> list[str]:
    notes = []
    if not paired:
        notes.append("requests are not paired; for the same trace they can be, which tells more")
    fewest = min(line.requests for line in lines)
    if fewest < _FEWEST:
        notes.append(f"{fewest} requests are too few for an interval to be trusted")
    for which, report in (("the first", a), ("the second", b)):
        if report.ended_by is not None:
            notes.append(f"{which} run was ended early by {report.ended_by}")
        if report.counts.failed:
            notes.append(
                f"{report.counts.failed:,} requests of {which} run failed and are left out"
            )
    notes += [
        f"the runs differ in {name}: {one} and {other}"
        for name, one, other in (
            ("pace", a.load.mode, b.load.mode),
            ("speed", a.load.speed, b.load.speed),
            ("rate", a.load.rate, b.load.rate),
            ("sessions at once", a.load.concurrency, b.load.concurrency),
            ("encoding", a.load.encoding, b.load.encoding),
            ("isolation", a.load.isolation, b.load.isolation),
            ("tokens a block", a.trace.tokens_per_block, b.trace.tokens_per_block),
        )
        if one != other
    ]
    distinct = sum(line.difference.distinguishable for line in lines)
    notes.append(
        f"{distinct} of {len(lines)} figures differ at 95%; of as many that do not differ at all, "
        "one in twenty would seem to"
    )
    return notes
