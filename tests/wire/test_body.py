import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.errors import RequestError, UnsupportedError
from stemcache.wire.body import Fields, convert, decode_object, settle, show

FIELDS = Fields(
    implemented=frozenset({"max_tokens", "messages"}),
    harmless=frozenset({"user"}),
    neutral={"frequency_penalty": (0,), "store": (False,), "audio": ()},
)


class Body(msgspec.Struct):
    max_tokens: int
    messages: list[str] = []  # msgspec copies it


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            b'{"a": 1,\n "b" 2}',
            (
                "the request body is not JSON: expected ':' at line 2 column 6 (byte 14); "
                "send one JSON object"
            ),
        ),
        (b"", "the request body is not JSON: input data was truncated (0 bytes)"),
        (b'{"a": 1', "the request body is not JSON: input data was truncated (7 bytes)"),
        (b'{"a": NaN}', "invalid character at line 1 column 7 (byte 6)"),
        (b'{"a": "\xff"}', "the request body is not JSON: invalid UTF-8 encoded string"),
        (b'{"a": "\\ud800 and a half pair"}', "surrogate pair"),
        (b'{"a": 1e999}', "the request body is not JSON: number out of range"),
        (b"[1]", "the request body is [1], not an object; send one JSON object"),
        (b"[" * 100_000, "the request body nests too deep; send flatter JSON"),
    ],
)
def test_malformed_json_is_refused_with_its_position(raw: bytes, message: str) -> None:
    """What is not a JSON object is refused, saying where it stops being one."""
    with pytest.raises(RequestError) as caught:
        decode_object(raw)
    assert message in str(caught.value)


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused(raw: bytes) -> None:
    """No body, whatever its bytes, raises anything but RequestError."""
    with contextlib.suppress(RequestError):
        decode_object(raw)


def test_unknown_fields_are_refused_with_the_nearest_name() -> None:
    """A typing mistake is an error that names the field meant, never dropped."""
    with pytest.raises(RequestError) as caught:
        settle({"max_token": 1}, FIELDS)
    message = "unknown field \"max_token\" in the request body; did you mean 'max_tokens'?"
    assert str(caught.value) == message
    assert caught.value.param == "max_token"


def test_unknown_fields_like_no_other_are_refused() -> None:
    """A field that resembles none is to be removed."""
    with pytest.raises(RequestError, match='unknown field "zzz" in the request body; remove it'):
        settle({"zzz": 1}, FIELDS)


def test_values_that_ask_for_nothing_are_accepted() -> None:
    """Nulls, harmless fields and neutral values leave no trace."""
    body = {"user": "u", "frequency_penalty": 0.0, "store": False, "audio": None, "max_tokens": 3}
    assert settle(body, FIELDS) == {"max_tokens": 3}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "frequency_penalty",
            0.5,
            (
                "frequency_penalty is 0.5 in the request body, which this server does not support; "
                "leave it out or send 0"
            ),
        ),
        ("store", True, "store is true in the request body"),
        ("store", 0, "store is 0 in the request body"),
        ("audio", {"voice": "x"}, 'audio is {"voice":"x"} in the request body'),
    ],
)
def test_values_that_ask_for_more_are_unsupported(name: str, value: object, message: str) -> None:
    """A documented field with a value that would have to be acted upon is refused by name."""
    with pytest.raises(UnsupportedError) as caught:
        settle({name: value}, FIELDS)
    assert message in str(caught.value)
    assert caught.value.param == name


@pytest.mark.parametrize(
    ("values", "message", "param"),
    [
        ({}, "max_tokens is missing from the request body; add it", "max_tokens"),
        (
            {"max_tokens": "5"},
            (
                "max_tokens in the request body cannot be read: expected `int`, got `str`; "
                "send a value of that type"
            ),
            "max_tokens",
        ),
        ({"max_tokens": 1, "messages": ["a", 2]}, "expected `str`, got `int`", "messages[1]"),
    ],
)
def test_wrong_types_are_refused_with_their_place(
    values: dict[str, object], message: str, param: str
) -> None:
    """A value of the wrong type is refused with the path to it."""
    with pytest.raises(RequestError) as caught:
        convert(values, Body)
    assert message in str(caught.value)
    assert caught.value.param == param


def test_long_values_are_cut_in_messages() -> None:
    """A message quotes at most forty characters of what a user sent."""
    assert show("x" * 1000) == '"' + "x" * 36 + "..."


def test_long_names_and_values_are_not_said_back_whole() -> None:
    """A message stays short, and a long name is not compared with ours."""
    name = "m" * 1_000_000
    with pytest.raises(RequestError) as caught:
        settle({name: 1}, Fields(implemented=frozenset({"model"})))
    assert len(str(caught.value)) < 200
    assert len(caught.value.param or "") <= 40
