"""What is kept of a run besides its report: a line of JSON for each request."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from stemcache.errors import UsageError
from stemcache.replay.outcome import Outcome

__all__ = ["check_writable", "write_bytes", "write_records"]


def check_writable(path: Path, flag: str) -> None:
    """Raise UsageError now if a file cannot be written in the end. Leaves what is there alone."""
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise UsageError(
            f"{flag} {path} cannot be written: {error.strerror}; choose another file"
        ) from None


def write_bytes(path: Path, data: bytes, flag: str) -> None:
    """Write a whole file. Raises UsageError."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(
            f"{flag} {path} cannot be written: {error.strerror}; choose another file"
        ) from None


def write_records(path: Path, outcomes: Iterable[Outcome]) -> None:
    """One line a request, in the order of their numbers; times in seconds of the run."""
    rows = sorted(outcomes, key=lambda each: each.number)
    write_bytes(path, b"".join(_line(row) for row in rows), "--records")


def _line(outcome: Outcome) -> bytes:
    plain = replace(outcome, gaps_s=[round(gap, 6) for gap in outcome.gaps_s])
    return msgspec.json.encode(plain) + b"\n"
