"""Memory that is to be in huge pages."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from stemcache.server.gateway import huge_pages
from stemcache.server.gateway.huge_pages import use_huge_pages, whole_pieces

PIECE = 2 * 2**20


def mapping(start: int, stop: int, *, mode: str = "rw-p", inode: int = 0, name: str = "") -> str:
    """A line as Linux writes it."""
    return f"{start:x}-{stop:x} {mode} 00000000 00:00 {inode} {name:>25}".rstrip() + "\n"


def test_only_whole_aligned_pieces_are_moved() -> None:
    """What is before the first boundary and behind the last stays where it is."""
    line = mapping(PIECE + 4096, 4 * PIECE + 4096)
    assert list(whole_pieces([line])) == [2 * PIECE, 3 * PIECE]
    assert list(whole_pieces([mapping(PIECE, 2 * PIECE)])) == [PIECE]
    assert list(whole_pieces([mapping(PIECE + 4096, 3 * PIECE - 4096)])) == []


def test_the_heap_is_one_of_them() -> None:
    """Named, but of no file."""
    line = mapping(PIECE, 3 * PIECE, name="[heap]")
    assert list(whole_pieces([line])) == [PIECE, 2 * PIECE]


@pytest.mark.parametrize(
    "line",
    [
        mapping(PIECE, 9 * PIECE, mode="r-xp", inode=77, name="/usr/bin/python3.11"),
        mapping(PIECE, 9 * PIECE, mode="rw-p", inode=77, name="/usr/lib/libc.so.6"),
        mapping(PIECE, 9 * PIECE, mode="rw-s", inode=0),
        mapping(PIECE, 9 * PIECE, mode="---p", inode=0),
        mapping(PIECE, 9 * PIECE, name="[stack]"),
        "",
        "no mapping at all\n",
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n",
    ],
)
def test_files_stacks_and_what_others_share_are_left_alone(line: str) -> None:
    """However large they are."""
    assert list(whole_pieces([line])) == []


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a hint of Linux's."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(huge_pages, "whole_pieces", lambda _: pytest.fail("it was looked at"))
    assert use_huge_pages() == 0


def test_where_it_is_forbidden_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kernel would collapse what is advised to, whatever the setting says."""
    allowed = tmp_path / "enabled"
    allowed.write_text("always madvise [never]\n")
    monkeypatch.setattr(huge_pages, "_ALLOWED", allowed)
    monkeypatch.setattr(huge_pages, "whole_pieces", lambda _: pytest.fail("it was looked at"))
    assert use_huge_pages() == 0


def test_no_more_is_moved_than_a_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Addresses that are not the process's are refused by the kernel, and nothing happens."""
    allowed, maps = tmp_path / "enabled", tmp_path / "maps"
    allowed.write_text("[always] madvise never\n")
    maps.write_text(mapping(PIECE, 9_000 * PIECE))
    asked: list[int] = []
    pieces = huge_pages.whole_pieces

    def counted(lines: Iterable[str]) -> Iterator[int]:
        for start in pieces(lines):
            asked.append(start)
            yield (1 << 46) + start

    monkeypatch.setattr(huge_pages, "_ALLOWED", allowed)
    monkeypatch.setattr(huge_pages, "_MAPS", maps)
    monkeypatch.setattr(huge_pages, "whole_pieces", counted)
    assert use_huge_pages() == 0
    assert len(asked) == 64


def test_a_process_goes_on_as_it_was() -> None:
    """All it holds is what it was, whatever the kernel has made of the hint."""
    program = (
        "from stemcache.server.gateway.huge_pages import use_huge_pages\n"
        "kept = [str(number) * 9 for number in range(200_000)]\n"
        "moved = use_huge_pages()\n"
        "assert moved % 2**21 == 0, moved\n"
        "assert kept == [str(number) * 9 for number in range(200_000)]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
