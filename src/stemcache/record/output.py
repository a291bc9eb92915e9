"""The file that records go to: readable by its owner alone, whole lines only.

Each line is written under a lock on the file, so several processes may share one. What a full disk
or a killed process left half-written is cut off, or ended by the next line.
"""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

from stemcache.errors import UsageError

__all__ = ["Output", "OutputFullError"]

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT


class OutputFullError(Exception):
    """The file has reached the size that the user allows."""


class Output:
    """An open file. `write` blocks as long as the disk or another process does."""

    def __init__(self, path: Path, *, most_bytes: int | None = None) -> None:
        self._most_bytes = most_bytes
        self._path = path.absolute()
        try:
            self._descriptor = os.open(self._path, _FLAGS, 0o600)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(
                f"cannot record into {path}: {reason}; name a file in a directory that exists "
                "and can be written to"
            ) from None
        found = os.fstat(self._descriptor)
        self._regular = stat.S_ISREG(found.st_mode)
        self.narrowed = False
        """Whether others could read the file until now."""
        if self._regular and found.st_mode & 0o077 and found.st_uid == os.geteuid():
            os.fchmod(self._descriptor, 0o600)
            self.narrowed = True

    def write(self, line: bytes) -> None:
        """Append a line. Raises OSError, or OutputFullError; then nothing of it is in the file."""
        if not self._regular:
            self._write(line)
            return
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            size = os.fstat(self._descriptor).st_size
            if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            if self._most_bytes is not None and size + len(line) > self._most_bytes:
                raise OutputFullError
            try:
                self._write(line)
            except OSError:
                os.ftruncate(self._descriptor, size)
                raise
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def reopen(self) -> None:
        """After a fork: a lock on the parent's descriptor would be the parent's too."""
        with suppress(OSError):
            mine = os.open(self._path, _FLAGS, 0o600)
            os.close(self._descriptor)
            self._descriptor = mine

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._descriptor, view) :]
