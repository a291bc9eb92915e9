import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from stemcache.errors import UsageError
from stemcache.trace.source import BrokenStreamError, Source, open_source

Pack = Callable[[bytes], bytes]

TEXT = b"".join(b"line %d\n" % i for i in range(50_000))


def zstd(data: bytes) -> bytes:
    """A frame with a checksum."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def plain(data: bytes) -> bytes:
    """What a stream of these stored bytes gives."""
    source = Source(io.BytesIO(data), name="x", bytes_total=len(data))
    text = b"".join(source.chunks())
    assert source.bytes_read == len(data)
    return text


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_compression_is_told_by_the_first_bytes(pack: Pack, tmp_path: Path) -> None:
    """Whatever the file is called."""
    path = tmp_path / "trace.txt"
    path.write_bytes(pack(TEXT))
    source = open_source(path)
    assert b"".join(source.chunks()) == TEXT
    assert source.bytes_read == source.bytes_total == path.stat().st_size
    source.close()


@pytest.mark.parametrize("data", [b"", b"a", b"ab", b"abc", b"\x1f", b"\x28\xb5\x2f"])
def test_few_bytes_are_plain(data: bytes) -> None:
    """Less than the marks of gzip and zstd is read as it stands."""
    assert plain(data) == data


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_streams_one_after_another_are_one(pack: Pack) -> None:
    """As `cat a.gz b.gz` makes them, and empty ones among them."""
    assert plain(pack(b"a\n") + pack(b"") + pack(TEXT)) == b"a\n" + TEXT


def test_zstd_may_begin_with_a_frame_to_skip() -> None:
    """Some tools write their own notes in front."""
    note = b"\x53\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"
    assert plain(note + zstd(TEXT)) == TEXT


def test_padding_behind_a_stream_is_left_out() -> None:
    """Tapes and some writers fill the last block with zeros."""
    assert plain(gzip.compress(TEXT) + b"\0" * 5000) == TEXT
    assert plain(gzip.compress(TEXT) + b"\0" * 5000 + gzip.compress(TEXT)) == TEXT * 2


@pytest.mark.parametrize(("pack", "kind"), [(gzip.compress, "gzip"), (zstd, "zstd")])
def test_a_stream_that_is_cut_off_is_told_from_a_short_one(pack: Pack, kind: str) -> None:
    """Even if only the checksum at the end is missing."""
    whole = pack(TEXT)
    for size in (len(whole) - 1, len(whole) // 2, 20):
        with pytest.raises(BrokenStreamError) as caught:
            plain(whole[:size])
        assert str(caught.value) == f"the {kind} stream is cut off at byte {size}"


@pytest.mark.parametrize(("pack", "kind"), [(gzip.compress, "gzip"), (zstd, "zstd")])
def test_a_corrupt_stream_is_told(pack: Pack, kind: str) -> None:
    """By a block that makes no sense, or by the checksum."""
    whole = bytearray(pack(TEXT))
    whole[len(whole) // 2] ^= 0xFF
    with pytest.raises(BrokenStreamError) as caught:
        plain(bytes(whole))
    assert str(caught.value).startswith(f"the {kind} stream is corrupt near byte ")


def test_bytes_that_follow_a_stream_and_are_none_are_told() -> None:
    """A text appended to a compressed log is not dropped in silence."""
    with pytest.raises(BrokenStreamError, match="the gzip stream is corrupt"):
        plain(gzip.compress(TEXT) + b"more text that nobody compressed")


def test_chunks_stay_small_whatever_a_stream_unpacks_to() -> None:
    """A file of zeros, packed a thousandfold, does not come as one chunk."""
    zeros = bytes(200 * 2**20)
    packed = zlib.compressobj(wbits=31)
    data = packed.compress(zeros) + packed.flush()
    source = Source(io.BytesIO(data), name="x", bytes_total=None)
    assert max(map(len, source.chunks())) <= 1100 * 2**16


def test_standard_input_is_read_and_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` names it; its size is not known."""
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT)))
    monkeypatch.setattr(sys, "stdin", stream)
    source = open_source("-")
    assert (source.name, source.bytes_total) == ("standard input", None)
    assert b"".join(source.chunks()) == TEXT
    source.close()
    assert not stream.closed


def test_a_pipe_has_no_size(tmp_path: Path) -> None:
    """`<(command)` in a shell is one."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    handle = os.open(path, os.O_RDWR)
    source = open_source(path)
    assert source.bytes_total is None
    source.close()
    os.close(handle)


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    """The path, and what to give."""
    with pytest.raises(UsageError) as missing:
        open_source(tmp_path / "none")
    with pytest.raises(UsageError) as directory:
        open_source(tmp_path)
    with pytest.raises(UsageError) as odd:
        open_source("a\0b")
    assert str(missing.value) == (
        f"no file {tmp_path}/none; give the path of a trace, or - for standard input"
    )
    with pytest.raises(UsageError, match="give the path of a log, or - for standard input"):
        open_source(tmp_path / "none", what="log")
    assert str(directory.value) == f"{tmp_path} is a directory; give the trace file in it"
    assert str(odd.value) == "cannot open a\0b: embedded null byte; check the path"


def test_a_read_that_fails_is_told() -> None:
    """As on a disk that goes bad."""

    class Bad(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            del size
            raise OSError(5, "Input/output error")

    with pytest.raises(UsageError) as caught:
        list(Source(Bad(), name="x", bytes_total=None).chunks())
    assert str(caught.value) == "cannot read x: Input/output error; check the file"
