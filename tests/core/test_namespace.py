"""A namespace is equal if and only if every field is."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.core.namespace import Namespace, fields_digestible

FIELD_LISTS = st.lists(
    st.binary(max_size=12) | st.sampled_from([b"", b"\x00" * 8, (1).to_bytes(8, "little")]),
    max_size=5,
)


@given(left=FIELD_LISTS, right=FIELD_LISTS)
def test_no_two_lists_of_fields_are_joined_alike(left: list[bytes], right: list[bytes]) -> None:
    """Joined bytes are equal only for equal lists, whatever lengths and NULs they contain."""
    assert (left == right) == (fields_digestible(*left) == fields_digestible(*right))


def test_a_field_stands_behind_its_length() -> None:
    """The layout is eight little-endian bytes, then the field."""
    assert b"\x02" + b"\x00" * 7 + b"ab" + b"\x00" * 8 == fields_digestible(b"ab", b"")


def test_the_encoding_is_frozen() -> None:
    """Replicas and versions must agree on the bytes of a namespace."""
    expected = fields_digestible(
        b"namespace/1", b"smol", b"r1", b"bfloat16", b"\x00", b"\x01tenant-a", b"3"
    )

    assert expected == Namespace("smol", "r1", "bfloat16", None, "tenant-a", 3).encode()


ALIKE = {
    "composed and decomposed": ("caf\u00e9", "cafe\u0301"),
    "full width": ("abc", "\uff41\uff42\uff43"),
    "zero width": ("abc", "a\u200bbc"),
    "two alphabets": ("model", "m\u043edel"),
    "case": ("Model", "model"),
    "NUL at the end": ("a", "a\x00"),
    "two lone surrogates": ("\ud800", "\ud801"),
    "a surrogate and its replacement": ("\ud800", "\ufffd"),
    "a pair and the character it stands for": ("\ud83d\ude00", "\U0001f600"),
    "a space at the end": ("a", "a "),
}


@pytest.mark.parametrize(("left", "right"), ALIKE.values(), ids=ALIKE.keys())
def test_spellings_that_look_alike_are_two_namespaces(left: str, right: str) -> None:
    """Fields are compared as code points; nothing is normalised."""
    for field in ("model", "revision", "kv_dtype", "adapter", "salt"):
        changes: tuple[dict[str, Any], dict[str, Any]] = ({field: left}, {field: right})
        one, other = (replace(Namespace("m"), **change) for change in changes)

        assert one.encode() != other.encode()


def test_none_and_the_empty_string_differ() -> None:
    """No salt is not the empty salt, and no adapter is not the nameless one."""
    spaces = [
        Namespace("m", adapter=adapter, salt=salt) for adapter in (None, "") for salt in (None, "")
    ]

    assert 4 == len({space.encode() for space in spaces})


def test_one_word_in_different_fields_differs() -> None:
    """A salt is never mistaken for an adapter, a revision or an epoch of the same spelling."""
    spaces = [
        Namespace("m", revision="1"),
        Namespace("m", kv_dtype="1"),
        Namespace("m", adapter="1"),
        Namespace("m", salt="1"),
        Namespace("m", epoch=1),
        Namespace("m1"),
    ]

    assert all(one.encode() != other.encode() for one, other in combinations(spaces, 2))


def test_an_epoch_makes_a_new_namespace() -> None:
    """What was published before a reset cannot be matched after it."""
    epochs = {Namespace("m", epoch=epoch).encode() for epoch in range(20)}

    assert 20 == len(epochs)
