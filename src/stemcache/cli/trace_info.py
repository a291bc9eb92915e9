"""The figures of a trace, for people and for programs."""

from collections.abc import Iterator
from dataclasses import asdict

import msgspec

from stemcache.cli.durations import lasting
from stemcache.cli.printable import printable
from stemcache.trace.lengths import Lengths
from stemcache.trace.open import TraceReader
from stemcache.trace.summary import Counted, Survey

__all__ = ["info_json", "info_lines"]

_LONGEST_NAME = 1024
"""A path is told whole, so that it can be copied."""


def info_json(reader: TraceReader, survey: Survey) -> str:
    """One JSON object; what is not known is null."""
    told = {
        "trace": _encodable(reader.name),
        "format": reader.format,
        "unit": reader.unit,
        "bytes": reader.bytes_read,
        **asdict(survey),
        "joined_lines": reader.joined_lines,
        "skipped_lines": reader.skipped,
        "problems": [asdict(problem) for problem in reader.problems],
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode()


def _encodable(name: str) -> str:
    """A file's name need not be UTF-8; what is not stands there as an escape."""
    return name.encode("utf-8", "backslashreplace").decode()


def info_lines(reader: TraceReader, survey: Survey) -> Iterator[str]:
    """A line a figure, names to the left."""
    unit = reader.unit
    rows = [
        ("trace", printable(reader.name, most_characters=_LONGEST_NAME)),
        ("format", f"{reader.format}, lengths in {unit}"),
        ("requests", f"{survey.requests:,}"),
        ("time", "".join(_time(survey))),
        ("prompts", _lengths(survey.prompts, survey.requests, unit)),
        ("answers", _lengths(survey.answers, survey.requests, "tokens")),
        ("blocks", f"{survey.blocks:,} of {survey.block_tokens or 0:,} {unit}"),
        ("distinct blocks", _counted(survey.distinct_blocks, "block ids")),
        ("distinct prompts", _counted(survey.distinct_prompts, "prompts")),
        ("tenants", _counted(survey.tenants, "tenants")),
        ("sessions", _counted(survey.sessions, "sessions")),
        ("out of order", f"{survey.out_of_order:,}"),
        ("skipped lines", f"{reader.skipped:,}"),
    ]
    width = max(len(name) for name, _ in rows) + 2
    yield from (f"{name:<{width}}{value}" for name, value in rows)
    if survey.unchained_blocks:
        yield ""
        yield (
            f"{survey.unchained_blocks:,} times an id followed another id than before, so ids "
            "stand for blocks, not for prefixes: use --chain-ids."
        )


def _time(survey: Survey) -> Iterator[str]:
    if survey.span_s is None:
        yield "none given"
        return
    if survey.session_clock:
        yield f"{lasting(survey.span_s)} in the median session, each with its own clock"
    else:
        yield lasting(survey.span_s)
    if survey.requests_per_s is not None:
        yield f", {survey.requests_per_s:,.3g} requests a second"
    if survey.timed < survey.requests:
        yield f"; {survey.requests - survey.timed:,} requests without a time"


def _lengths(lengths: Lengths | None, requests: int, unit: str) -> str:
    if lengths is None:
        return "lengths not given"
    text = (
        f"{lengths.total:,} {unit}; mean {lengths.mean:,.0f}, p50 {lengths.p50:,.0f}, "
        f"p90 {lengths.p90:,.0f}, max {lengths.max:,}"
    )
    missing = requests - lengths.known
    return f"{text}; {missing:,} not given" if missing else text


def _counted(counted: Counted, what: str) -> str:
    if not counted.count:
        return f"no {what} given" if what in {"tenants", "sessions"} else "0"
    return f"{counted.count:,}" if counted.exact else f"about {counted.count:,}"
