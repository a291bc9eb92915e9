"""What is kept of a run besides its report: a line of JSON for each request."""

import os
import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from stemcache.errors import UsageError
from stemcache.replay.outcome import Outcome

__all__ = ["check_apart", "check_writable", "write_bytes", "write_records"]


_LONGEST_NAME = 50
"""Of the file beside it, so that no name is too long that was not before."""


def check_apart(files: Iterable[tuple[str, Path]], *, trace: str) -> None:
    """Raise UsageError where a file would be written over the trace that is read, or over another.

    `files` are flags and what is given with them. By whatever name, also where none is there yet.
    """
    taken: dict[str, str] = {}
    if trace != "-":
        taken[_identity(Path(trace))] = "the trace that is read"
    for flag, path in files:
        if path.exists() and not path.is_file():
            continue  # a device takes any number
        identity = _identity(path)
        if identity in taken:
            raise UsageError(f"{flag} {path} is {taken[identity]}; choose another file")
        taken[identity] = f"the file of {flag}"


def _identity(path: Path) -> str:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return os.path.realpath(path)
    return f"{found.st_dev}:{found.st_ino}"


def check_writable(path: Path, flag: str) -> None:
    """Raise UsageError now if a file cannot be written in the end. Leaves all as it was."""
    is_there = os.path.lexists(path)
    try:
        with path.open("ab"):
            pass
        if not is_there:
            path.unlink()
    except OSError as error:
        raise UsageError(
            f"{flag} {path} cannot be written: {error.strerror}; choose another file"
        ) from None


def write_bytes(path: Path, data: bytes, flag: str) -> None:
    """Write a whole file, or leave all as it was. Raises UsageError."""
    try:
        _write_whole(path, data)
    except OSError as error:
        raise UsageError(
            f"{flag} {path} cannot be written: {error.strerror}; choose another file"
        ) from None


def _write_whole(path: Path, data: bytes) -> None:
    """By way of a file beside it, where there may be one."""
    target = Path(os.path.realpath(path))
    if (path.exists() and not path.is_file()) or not os.access(target.parent, os.W_OK):
        path.write_bytes(data)  # a device, or a file in a directory that takes no other
        return
    beside = target.with_name(f".{target.name[:_LONGEST_NAME]}.{os.getpid()}.part")
    try:
        beside.write_bytes(data)
        if target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def write_records(path: Path, outcomes: Iterable[Outcome]) -> None:
    """One line a request, in the order of their numbers; times in seconds of the run."""
    rows = sorted(outcomes, key=lambda each: each.number)
    write_bytes(path, b"".join(_line(row) for row in rows), "--records")


def _line(outcome: Outcome) -> bytes:
    plain = replace(outcome, gaps_s=[round(gap, 6) for gap in outcome.gaps_s])
    return msgspec.json.encode(plain) + b"\n"
