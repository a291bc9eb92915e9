"""The key of anonymised traces: a file that only its owner can read."""

import os
import secrets
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from stemcache.errors import UsageError
from stemcache.trace.anonymize import KEY_BYTES

__all__ = ["LoadedKey", "check_key_apart", "load_key", "passing_key"]

_LARGEST_BYTES = 2**16
"""A key file of more is some other file."""


@dataclass(frozen=True, slots=True)
class LoadedKey:
    """A key and how it came to be."""

    key: bytes
    created: bool
    """The file was not there, and is now."""

    def __repr__(self) -> str:
        return f"LoadedKey(created={self.created})"  # a key is not for logs


def passing_key() -> bytes:
    """A random key, to be forgotten."""
    return secrets.token_bytes(KEY_BYTES)


def check_key_apart(path: Path, *, source: str, target: str) -> None:
    """Raise UsageError where a trace is to be read from, or written to, the key file itself.

    By whatever name, also where neither is there yet. Writes nothing.
    """
    for trace, stream, what in (
        (target, sys.stdout, "written to"),
        (source, sys.stdin, "read from"),
    ):
        if _holds(stream, path) if trace == "-" else _one_file(path, Path(trace)):
            raise UsageError(
                f"{path} from --key is the file that the trace is {what}; "
                "give the key a file of its own"
            )


def _one_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):  # one is not there; what it would become may be the other
        return os.path.realpath(path) == os.path.realpath(other)


def _holds(stream: IO[str] | None, path: Path) -> bool:
    try:
        return stream is not None and os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except (OSError, ValueError):  # no such file, or a stream of a test that is none
        return False


def load_key(path: Path) -> LoadedKey:
    """Read a key file, or make one with 32 random bytes and mode 600 if there is none.

    Raises UsageError for a file that others may read, that is short, or that cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # never waits for a writer of a pipe
    except FileNotFoundError:
        return _create(path)
    except OSError as error:
        raise UsageError(
            f"cannot read the key file {path} from --key: {error.strerror}; check its path and mode"
        ) from error
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise UsageError(f"{path} from --key is no file; give the path of a key file")
    with os.fdopen(handle, "rb") as file:
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(
                f"the key file {path} from --key has mode {stat.S_IMODE(found.st_mode):03o}, so "
                f"others may read or change it; run: chmod 600 {path}"
            )
        key = file.read(_LARGEST_BYTES + 1)
    if not KEY_BYTES <= len(key) <= _LARGEST_BYTES:
        raise UsageError(
            f"the key file {path} from --key has {len(key) if len(key) < KEY_BYTES else 'too many'}"
            f" bytes; use one with {KEY_BYTES} to {_LARGEST_BYTES:,} random bytes, or name a file "
            "that does not exist to have it made"
        )
    return LoadedKey(key, created=False)


def _create(path: Path) -> LoadedKey:
    key = passing_key()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(key)
    except OSError as error:
        raise UsageError(
            f"cannot make the key file {path} from --key: {error.strerror}; "
            "name a file in a directory that can be written to"
        ) from error
    return LoadedKey(key, created=True)
