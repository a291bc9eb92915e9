import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.trace.lines import EndlessLineError, Line, numbered_lines


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data in chunks that end at the cuts."""
    ends = sorted({cut % (len(data) + 1) for cut in cuts} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@given(
    st.lists(st.sampled_from([b"", b"a", b"bcd", b" \t", b"x\r", b"\xff"])),
    st.lists(st.integers(0)),
)
def test_lines_are_those_of_the_whole_however_it_is_cut(
    parts: list[bytes], cuts: list[int]
) -> None:
    """Numbers count blank lines, which are left out themselves."""
    data = b"\n".join(parts)
    expected = [
        Line(number, part) for number, part in enumerate(parts, start=1) if part.strip(b" \t\r")
    ]
    assert list(numbered_lines(split(data, cuts))) == expected


@given(st.lists(st.integers(0)))
def test_a_line_beyond_the_bound_is_named_and_passed_over(cuts: list[int]) -> None:
    """The lines around it are read; one as long as the bound is, too."""
    data = b"one\n" + b"x" * 100 + b"\n12345\n123456\nlast"
    found = list(numbered_lines(split(data, cuts), max_line_bytes=5))
    assert found == [
        Line(1, b"one"),
        Line(2, None),
        Line(3, b"12345"),
        Line(4, None),
        Line(5, b"last"),
    ]


def test_a_last_line_beyond_the_bound_is_named() -> None:
    """With or without an end."""
    assert list(numbered_lines([b"ab\n", b"x" * 9], max_line_bytes=5)) == [
        Line(1, b"ab"),
        Line(2, None),
    ]


def test_a_mark_of_the_byte_order_is_no_part_of_the_first_line() -> None:
    """Editors on Windows write one."""
    assert list(numbered_lines([b"\xef\xbb", b"\xbf{}\r\n{}"])) == [
        Line(1, b"{}\r"),
        Line(2, b"{}"),
    ]


def test_nothing_gives_no_lines() -> None:
    """Nor do blank lines."""
    assert list(numbered_lines([])) == []
    assert list(numbered_lines([b""])) == []
    assert list(numbered_lines([b"\n \n\t\r\n"])) == []


def pulled(chunks: list[bytes], taken: list[bytes]) -> Iterator[bytes]:
    """The chunks, and which of them were asked for."""
    for chunk in chunks:
        taken.append(chunk)
        yield chunk


def test_a_line_beyond_the_bound_is_told_before_its_end_is_looked_for() -> None:
    """Who stops there reads no further, so that a device without an end stops too."""
    taken: list[bytes] = []
    lines = numbered_lines(
        pulled([b"ab\n", b"x" * 4, b"x" * 4, b"x", b"\nc"], taken), max_line_bytes=5
    )
    assert next(lines) == Line(1, b"ab")
    assert next(lines) == Line(2, None)
    assert len(taken) == 3
    assert list(lines) == [Line(3, b"c")]


def test_a_line_that_never_ends_is_given_up() -> None:
    """Whoever passes over long lines must end, too."""
    lines = numbered_lines(itertools.repeat(b"0" * 8), max_line_bytes=5, endless_bytes=64)
    assert next(lines) == Line(1, None)
    with pytest.raises(EndlessLineError) as caught:
        next(lines)
    assert caught.value.number == 1
