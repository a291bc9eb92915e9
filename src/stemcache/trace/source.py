"""The bytes of a trace: a file or standard input, plain, gzip or zstd, told by its first bytes.

```
path or "-" ──read──► 28 b5 2f fd …  ──zstd──┐
                      1f 8b …        ──gzip──┼──► plain chunks, each of bounded size
                      anything else  ────────┘
```

Several compressed streams one after another are read as one. Whether a stream ends where it should
is checked: a file that was cut off is told from a short one.
"""

import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from stemcache.errors import UsageError

__all__ = ["BrokenStreamError", "Source", "open_source"]

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # behind a first byte of 0x50 to 0x5f

_PLAIN_BYTES = 2**20
_GZIP_BYTES = 2**16
"""One input chunk becomes at most a thousand times as many bytes."""
_ZSTD_BYTES = 2**13
"""One input chunk may become thirty thousand times as many bytes, if somebody wants it to."""


class BrokenStreamError(Exception):
    """A compressed stream is cut off or corrupt. Never leaves the package."""


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class Source:
    """Gives the plain bytes once, in chunks, and counts the stored ones as they are read."""

    def __init__(self, stream: BinaryIO, *, name: str, bytes_total: int | None) -> None:
        self.name = name
        self.bytes_read = 0
        """Stored bytes, so compressed ones where the file is compressed."""
        self.bytes_total = bytes_total
        """None where it cannot be known, as for a pipe."""
        self._stream = stream

    def chunks(self) -> Iterator[bytes]:
        """Plain bytes. Raises BrokenStreamError behind the last good chunk, UsageError for I/O."""
        head = self._read(4)
        while 0 < len(head) < 4 and (more := self._read(4 - len(head))):
            head += more
        if head.startswith(_GZIP):
            yield from self._inflated(head, _gzip, "gzip", _GZIP_BYTES)
        elif head == _ZSTD or (head[1:] == _ZSTD_SKIPPABLE and 0x50 <= head[0] <= 0x5F):
            yield from self._inflated(head, _zstd, "zstd", _ZSTD_BYTES)
        else:
            yield head
            while chunk := self._read(_PLAIN_BYTES):
                yield chunk

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._stream is not sys.stdin.buffer:
            self._stream.close()

    def _read(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except OSError as error:
            raise UsageError(
                f"cannot read {self.name}: {error.strerror or error}; check the file"
            ) from error
        self.bytes_read += len(data)
        return data

    def _inflated(
        self, head: bytes, make: Callable[[], _Inflater], kind: str, step: int
    ) -> Iterator[bytes]:
        inflater = make()
        data = head
        while data:
            if inflater.eof:
                data = data.lstrip(b"\0")  # tape and block padding
                if not data:
                    data = self._read(step)
                    continue
                inflater = make()
            try:
                plain = inflater.decompress(data)
            except Exception as error:  # zlib.error, zstandard.ZstdError, and no more memory
                raise BrokenStreamError(
                    f"the {kind} stream is corrupt near byte {self.bytes_read}"
                ) from error
            if plain:
                yield plain
            data = (inflater.unused_data if inflater.eof else b"") or self._read(step)
        if not inflater.eof:
            raise BrokenStreamError(f"the {kind} stream is cut off at byte {self.bytes_read}")


def _gzip() -> _Inflater:
    return zlib.decompressobj(wbits=31)


def _zstd() -> _Inflater:
    from zstandard import ZstdDecompressor  # noqa: PLC0415  # most traces need it not

    return ZstdDecompressor().decompressobj()


def open_source(path: str | os.PathLike[str], *, what: str = "trace") -> Source:
    """Open a file, or standard input for `-`. Raises UsageError where there is nothing to read.

    `what` is a word for errors: what the user was to name.
    """
    name = os.fspath(path)
    if name == "-":
        return Source(sys.stdin.buffer, name="standard input", bytes_total=None)
    try:
        stream = open(name, "rb")  # noqa: SIM115, PTH123  # closed by Source.close
        found = os.fstat(stream.fileno())
    except IsADirectoryError:
        raise UsageError(f"{name} is a directory; give the {what} file in it") from None
    except FileNotFoundError:
        raise UsageError(
            f"no file {name}; give the path of a {what}, or - for standard input"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot open {name}: {error}; check the path") from error
    total = found.st_size if stat.S_ISREG(found.st_mode) else None
    return Source(stream, name=name, bytes_total=total)
