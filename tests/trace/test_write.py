import gzip
import io
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.trace.open import open_trace
from stemcache.trace.record import TraceRequest
from stemcache.trace.write import check_target, encode_line, write_trace
from tests.trace.traces import DATA, any_requests, read, request_of, same

TWO = [request_of(1, 2, arrival_s=0.5), request_of(3)]


def refusal(path: Path, *, force: bool = False, source: str | None = None) -> str:
    """What is said of a file that cannot be written."""
    with pytest.raises(UsageError) as caught:
        write_trace(TWO, str(path), force=force, source=source)
    return str(caught.value).replace(str(path.parent), "DIR")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(any_requests(), min_size=1), st.sampled_from(["t", "t.gz", "t.zst"]))
def test_what_is_written_reads_back_equal(
    tmp_path: Path, requests: list[TraceRequest], name: str
) -> None:
    """In every field and to the last bit, plain and compressed."""
    size = requests[0].block_tokens
    clock = requests[0].session_clock
    requests = [one for one in requests if (one.block_tokens, one.session_clock) == (size, clock)]
    path = tmp_path / name
    assert write_trace(requests, str(path), force=True) == len(requests)
    found = read(path)
    assert len(found) == len(requests)
    assert all(map(same, found, requests))


def test_a_line_is_one_of_mooncakes() -> None:
    """Its four fields, its unit of time, and no more than must be said."""
    request = request_of(
        46, -1, block_tokens=512, prompt_tokens=700, output_tokens=52, arrival_s=27.482
    )
    assert encode_line(request) == (
        b'{"timestamp":27482,"input_length":700,"output_length":52,'
        b'"hash_ids":[46,18446744073709551615]}\n'
    )
    assert encode_line(request_of()) == b'{"input_length":0,"hash_ids":[],"block_size":4}\n'


def test_a_real_trace_stays_what_it_was(tmp_path: Path) -> None:
    """Read and written again, Mooncake's lines say the same."""
    write_trace(read(DATA / "mooncake.jsonl"), str(tmp_path / "t"))
    before = [json.loads(line) for line in (DATA / "mooncake.jsonl").read_text().splitlines()]
    after = [json.loads(line) for line in (tmp_path / "t").read_text().splitlines()]
    assert after == before


def test_the_unit_is_kept(tmp_path: Path) -> None:
    """Characters stay characters."""
    write_trace(TWO, str(tmp_path / "t"), unit="characters")
    with open_trace(tmp_path / "t") as reader:
        assert reader.unit == "characters"


def test_a_name_asks_for_compression(tmp_path: Path) -> None:
    """And equal traces give equal files."""
    for name, unpack in (
        ("a.gz", gzip.decompress),
        ("a.zst", lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
        ("a.jsonl", bytes),
    ):
        write_trace(TWO, str(tmp_path / name))
        first = (tmp_path / name).read_bytes()
        assert unpack(first) == b"".join(map(encode_line, TWO))
        write_trace(TWO, str(tmp_path / name), force=True)
        assert (tmp_path / name).read_bytes() == first


def test_dash_is_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain, and left open."""
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    assert write_trace(TWO, "-") == 2
    assert out.getvalue() == b"".join(map(encode_line, TWO))


def test_a_trace_is_not_written_over_what_is_there(tmp_path: Path) -> None:
    """Unless forced; and never over the trace that is read, by whatever name."""
    path = tmp_path / "t"
    path.write_text("kept")
    (tmp_path / "link").symlink_to(path)
    assert refusal(path) == "DIR/t exists; give another name, or --force to write over it"
    for name in ("t", "link"):
        assert refusal(tmp_path / name, force=True, source=str(path)) == (
            f"DIR/{name} is the trace that is read; write to another file"
        )
    assert path.read_text() == "kept"
    write_trace(TWO, str(tmp_path / "link"), force=True)
    assert (tmp_path / "link").is_symlink()
    assert len(read(path)) == 2


def test_a_place_that_cannot_be_is_told(tmp_path: Path) -> None:
    """A directory, and a directory that is not there."""
    assert refusal(tmp_path).endswith("is a directory; give the name of a file to write")
    assert refusal(tmp_path / "none" / "t") == (
        "DIR/t is in a directory that does not exist; make it first"
    )
    check_target("-", force=False, source=None)


def test_a_device_is_written_to_and_not_replaced() -> None:
    """As `/dev/null` must be."""
    assert write_trace(TWO, "/dev/null") == 2
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("error", [UsageError("bad line"), KeyboardInterrupt()])
def test_a_trace_that_fails_on_the_way_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    """Neither a part of it nor a file beside it; what was there stays."""

    def failing() -> Iterator[TraceRequest]:
        yield from TWO
        raise error

    path = tmp_path / "t"
    path.write_text("kept")
    with pytest.raises(type(error)):
        write_trace(failing(), str(path), force=True)
    assert path.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_fails_is_told(tmp_path: Path) -> None:
    """As one that is full."""

    def failing() -> Iterator[TraceRequest]:
        yield TWO[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(UsageError) as caught:
        write_trace(failing(), str(tmp_path / "t"))
    assert str(caught.value) == (
        f"cannot write {tmp_path}/t: No space left on device; check the directory and its space"
    )


def test_many_lines_are_written_in_pieces(tmp_path: Path) -> None:
    """More than one piece, none lost."""
    ids = range(5000)
    count = write_trace((request_of(*ids, arrival_s=i) for i in range(40)), str(tmp_path / "t"))
    lines = (tmp_path / "t").read_bytes().splitlines()
    assert count == len(lines) == 40
    assert [msgspec.json.decode(line)["timestamp"] for line in lines] == [
        1000 * i for i in range(40)
    ]


def test_a_full_disk_behind_a_device_is_told() -> None:
    """Whether or not it is forced."""
    for force in (False, True):
        with pytest.raises(UsageError) as caught:
            write_trace(TWO, "/dev/full", force=force)
        assert str(caught.value) == (
            "cannot write /dev/full: No space left on device; check the directory and its space"
        )


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    """By its name, also where a link leads to one that has none, as `/dev/stdout` does."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert write_trace(TWO, str(pipe)) == 2
    assert os.read(reader, 2**16) == b"".join(map(encode_line, TWO))
    os.close(reader)
    assert list(tmp_path.iterdir()) == [pipe]
    read_end, write_end = os.pipe()
    assert write_trace(TWO, f"/dev/fd/{write_end}") == 2
    assert os.read(read_end, 2**16) == b"".join(map(encode_line, TWO))
    os.close(read_end)
    with pytest.raises(BrokenPipeError):  # for the command line to end quietly
        write_trace(TWO, f"/dev/fd/{write_end}")
    os.close(write_end)


def test_an_open_file_is_not_replaced_under_its_owner(tmp_path: Path) -> None:
    """Whoever has it open would go on with one that is gone."""
    with (tmp_path / "t").open("wb") as stream:
        name = f"/dev/fd/{stream.fileno()}"
        for force in (False, True):
            with pytest.raises(UsageError) as caught:
                write_trace(TWO, name, force=force)
            assert str(caught.value) == (
                f"{name} names a file that is open already; use - for standard output"
            )
    assert (tmp_path / "t").read_bytes() == b""


def test_a_closed_standard_output_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind `>&-`."""
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(UsageError) as caught:
        write_trace(TWO, "-")
    assert str(caught.value) == ("standard output is closed; give the name of a file to write")


def test_what_cannot_be_written_to_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that is somebody else's, and a disk."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert refusal(tmp_path / "t") == (
        "DIR/t is in a directory that cannot be written to; choose another"
    )
    monkeypatch.setattr(Path, "is_block_device", lambda _: True)
    assert refusal(tmp_path / "t") == "DIR/t is a disk; give the name of a file to write"
