import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.trace.calls.elements import split_elements

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=5)


def _cut(text: bytes, size: int) -> list[bytes]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@settings(max_examples=40)
@given(OBJECTS, st.integers(1, 7), st.sampled_from([None, 1]))
def test_elements_are_those_of_the_array(rows: list[Any], size: int, indent: int | None) -> None:
    """Whatever the layout and the chunks, the elements and their places are the array's."""
    text = json.dumps(rows, indent=indent, ensure_ascii=False).encode()
    found = list(split_elements(_cut(text, size), max_bytes=10**6))
    assert [json.loads(element or b"") for _, element in found] == rows
    assert all(text[start : start + len(part or b"")] == part for start, part in found)


@settings(max_examples=40)
@given(OBJECTS, st.integers(1, 7), st.sampled_from([None, 1]))
def test_elements_may_stand_without_an_array(
    rows: list[Any], size: int, indent: int | None
) -> None:
    """One after another, in any layout; the last may be cut off."""
    text = "\n".join(json.dumps(row, indent=indent) for row in rows).encode()
    found = list(split_elements(_cut(text, size), max_bytes=10**6, bare=True))
    assert [json.loads(element or b"") for _, element in found] == rows
    assert all(text[start : start + len(part or b"")] == part for start, part in found)
    cut = list(split_elements(_cut(text + b'{"a": {', size), max_bytes=10**6, bare=True))
    assert cut == [*found, (len(text), None)]


def test_escapes_may_be_cut_in_two() -> None:
    """A backslash at the end of a chunk escapes the first byte of the next."""
    text = rb'[{"a": "x\\\"]}"}, {"b": 1}]'
    for at in range(len(text)):
        found = [element for _, element in split_elements([text[:at], text[at:]], max_bytes=99)]
        assert found == [rb'{"a": "x\\\"]}"}', b'{"b": 1}']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"[]", []),
        (b"[1, 2, {}]", [b"{}"]),
        (b'[{"a": 1}, {"b"', [b'{"a": 1}', None]),
        (b'[{"a": 1}] {"b": 2}', [b'{"a": 1}']),
        (b'[{"a": 1}', [b'{"a": 1}', None]),
        (b"[", [None]),
    ],
)
def test_odd_arrays(text: bytes, expected: list[bytes | None]) -> None:
    """What is cut off says so, and nothing behind the array is part of it."""
    assert [element for _, element in split_elements([text], max_bytes=99)] == expected


def test_long_elements_are_not_held() -> None:
    """An element beyond the bound ends the reading."""
    chunks = [b'[{"a": 1}, {"b": "', *[b"x" * 50] * 9]
    assert [part for _, part in split_elements(chunks, max_bytes=99)] == [b'{"a": 1}', None]


def test_it_costs_the_length_of_the_text() -> None:
    """Escapes without end in small chunks take no time to speak of."""
    chunks = [b'[{"a": "', *[b'\\"' * 500] * 1000, b'"}]']
    ((start, text),) = split_elements(chunks, max_bytes=2**22)
    assert (start, len(text or b"")) == (1, 1_000_009)
