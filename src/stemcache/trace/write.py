"""Traces to files: stemcache's own form, which any reader of Mooncake's traces can read.

A request becomes a line with the fields that `trace.mooncake` documents, and reads back equal in
every field, times to the last bit. Ids are written as unsigned integers of 64 bits. What is not
known is left out, never written as zero; `block_size` is left out where it is Mooncake's 512.
"""

import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec
import numpy as np

from stemcache.errors import UsageError
from stemcache.trace.format import Unit
from stemcache.trace.mooncake import HABIT_BLOCK_TOKENS
from stemcache.trace.record import TraceRequest
from stemcache.trace.times import milliseconds

__all__ = ["check_target", "encode_line", "write_trace"]

_FLUSH_BYTES = 2**18
_OPEN_FILES = ("/dev/fd/", "/dev/stderr", "/dev/stdout", "/proc/")


def encode_line(request: TraceRequest, *, unit: Unit = "tokens") -> bytes:
    """One line with its end. O(blocks)."""
    line: dict[str, Any] = {}
    time = None if request.arrival_s is None else msgspec.Raw(milliseconds(request.arrival_s))
    if request.session_clock:
        line["session_timestamp"] = time
    elif time is not None:
        line["timestamp"] = time
    line["input_length"] = request.prompt_tokens
    if request.output_tokens is not None:
        line["output_length"] = request.output_tokens
    ids = np.ascontiguousarray(request.block_ids, np.int64)
    line["hash_ids"] = ids.view(np.uint64).tolist()
    if request.block_tokens != HABIT_BLOCK_TOKENS:
        line["block_size"] = request.block_tokens
    if request.session is not None:
        line["session_id"] = request.session
    if request.tenant is not None:
        line["tenant"] = request.tenant
    if request.scope:
        line["scope"] = request.scope
    if unit != "tokens":
        line["unit"] = unit
    return msgspec.json.encode(line) + b"\n"


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class _Plain:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def write_trace(
    requests: Iterable[TraceRequest],
    path: str,
    *,
    unit: Unit = "tokens",
    force: bool = False,
    source: str | None = None,
) -> int:
    """Write a file, compressed as `.gz` or `.zst` in its name asks, and return how many requests.

    `-` is standard output. A file appears whole or not at all. Raises UsageError where `path` is
    `source`, the trace that is being read, or exists and `force` is not given.
    """
    with _target(path, force=force, source=source) as stream:
        compressor = _compressor(path)
        lines: list[bytes] = []
        count = held = 0
        for request in requests:
            line = encode_line(request, unit=unit)
            lines.append(line)
            count, held = count + 1, held + len(line)
            if held >= _FLUSH_BYTES:
                stream.write(compressor.compress(b"".join(lines)))
                lines.clear()
                held = 0
        stream.write(compressor.compress(b"".join(lines)))
        stream.write(compressor.flush())
        stream.flush()
    return count


def check_target(path: str, *, force: bool, source: str | None) -> None:
    """Raise UsageError where a trace must not be written, before anything long is begun."""
    if path == "-":
        return
    target = Path(path)
    if source is not None and source != "-" and _same(target, Path(source)):
        raise UsageError(f"{path} is the trace that is read; write to another file")
    if target.is_dir():
        raise UsageError(f"{path} is a directory; give the name of a file to write")
    if target.is_block_device():
        raise UsageError(f"{path} is a disk; give the name of a file to write")
    if _writes_through(target):
        return
    if path.startswith(_OPEN_FILES):
        raise UsageError(f"{path} names a file that is open already; use - for standard output")
    if target.is_file() and not force:
        raise UsageError(f"{path} exists; give another name, or --force to write over it")
    directory = Path(os.path.realpath(target)).parent
    if not directory.is_dir():
        raise UsageError(f"{path} is in a directory that does not exist; make it first")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UsageError(f"{path} is in a directory that cannot be written to; choose another")


def _same(target: Path, source: Path) -> bool:
    return target.is_file() and source.is_file() and target.samefile(source)


def _writes_through(target: Path) -> bool:
    """Whether it is a pipe or a device, where nothing can be put in its place."""
    return target.exists() and not target.is_file()


@contextmanager
def _target(path: str, *, force: bool, source: str | None) -> Iterator[BinaryIO]:
    check_target(path, force=force, source=source)
    if path == "-":
        if sys.stdout is None:
            raise UsageError("standard output is closed; give the name of a file to write")
        yield sys.stdout.buffer
        return
    try:
        if _writes_through(Path(path)):
            # By the name as it is given: that of `/dev/stdout` leads to a pipe, which has none.
            with Path(path).open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        beside = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with beside.open("xb") as stream:
                yield stream
            check_target(path, force=force, source=source)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except BrokenPipeError:
        raise  # whoever read it has left, which is no failure
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}; check the directory and its space"
        ) from error


def _compressor(path: str) -> _Compressor:
    if path.endswith(".gz"):
        # No time and no name in the head: equal traces give equal files.
        return zlib.compressobj(level=6, wbits=31)
    if path.endswith((".zst", ".zstd")):
        from zstandard import ZstdCompressor  # noqa: PLC0415  # most traces need it not

        return ZstdCompressor(level=9, write_checksum=True).compressobj()
    return _Plain()
