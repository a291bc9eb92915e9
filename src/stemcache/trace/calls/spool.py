"""Lines of a pipe or of a compressed file, kept in an anonymous temporary file to be read again."""

from array import array
from tempfile import TemporaryFile
from typing import IO

__all__ = ["Spool"]

_ABSENT = 2**64 - 1
_LEVEL = 1


class Spool:
    """Each text a zstd frame of its own; eight bytes of memory a number.

    The file has no name and is gone with the process. It takes about what the log takes
    compressed, in the directory that `TMPDIR` names. Numbers must rise.
    """

    def __init__(self) -> None:
        from zstandard import ZstdCompressor, ZstdDecompressor  # noqa: PLC0415  # few logs need it

        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._compress = ZstdCompressor(level=_LEVEL, write_content_size=True).compress
        self._decompress = ZstdDecompressor().decompress
        self._starts = array("Q")
        self._end = 0

    def add(self, number: int, text: bytes) -> None:
        """Keep a text under its number, counted from 1."""
        while len(self._starts) < number - 1:
            self._starts.append(_ABSENT)
        self._starts.append(self._end)
        frame = self._compress(text)
        self._file.seek(self._end)
        self._file.write(len(frame).to_bytes(8, "little"))
        self._file.write(frame)
        self._end += 8 + len(frame)

    def get(self, number: int) -> bytes | None:
        """The text of a number, None where there is none."""
        if not 1 <= number <= len(self._starts) or self._starts[number - 1] == _ABSENT:
            return None
        self._file.seek(self._starts[number - 1])
        size = int.from_bytes(self._file.read(8), "little")
        return self._decompress(self._file.read(size))

    def __len__(self) -> int:
        return len(self._starts)

    def close(self) -> None:
        """Give the file up. Harmless twice."""
        self._file.close()
