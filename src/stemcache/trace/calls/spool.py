"""Lines of pipes and of compressed files, kept in an anonymous temporary file to be read again."""

from array import array
from tempfile import TemporaryFile
from typing import IO

from stemcache.errors import UsageError

__all__ = ["Spool", "SpoolFile"]

_ABSENT = 2**64 - 1
_LEVEL = 1


class SpoolFile:
    """Texts at places, each a zstd frame of its own. All logs of a run share one.

    The file has no name and is gone with the process. It takes about what the logs take
    compressed, in the directory that `TMPDIR` names.
    """

    def __init__(self) -> None:
        from zstandard import ZstdCompressor, ZstdDecompressor  # noqa: PLC0415  # few logs need it

        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._compress = ZstdCompressor(level=_LEVEL, write_content_size=True).compress
        self._decompress = ZstdDecompressor().decompress
        self._end = 0

    def put(self, text: bytes) -> int:
        """Keep a text; where it is. Raises UsageError where there is no room."""
        start = self._end
        frame = self._compress(text)
        try:
            self._file.seek(start)
            self._file.write(len(frame).to_bytes(8, "little"))
            self._file.write(frame)
        except OSError as error:
            raise UsageError(
                f"cannot keep lines of a log that is read once: {error.strerror or error}; "
                "set TMPDIR to a directory with room, or give plain files"
            ) from error
        self._end += 8 + len(frame)
        return start

    def get(self, start: int) -> bytes:
        """The text at a place that `put` gave."""
        self._file.seek(start)
        size = int.from_bytes(self._file.read(8), "little")
        return self._decompress(self._file.read(size))

    def close(self) -> None:
        """Give the file up. Harmless twice."""
        self._file.close()


class Spool:
    """The texts of one log by their numbers, at eight bytes of memory each. Numbers must rise."""

    def __init__(self, file: SpoolFile) -> None:
        self._file = file
        self._starts = array("Q")

    def add(self, number: int, text: bytes) -> None:
        """Keep a text under its number, counted from 1."""
        while len(self._starts) < number - 1:
            self._starts.append(_ABSENT)
        self._starts.append(self._file.put(text))

    def get(self, number: int) -> bytes | None:
        """The text of a number, None where there is none."""
        if not 1 <= number <= len(self._starts) or self._starts[number - 1] == _ABSENT:
            return None
        return self._file.get(self._starts[number - 1])

    def __len__(self) -> int:
        return len(self._starts)
