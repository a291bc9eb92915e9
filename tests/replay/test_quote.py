import json

import pytest

from stemcache.replay.quote import opening_of, quoted


def body(**fields: object) -> list[bytes]:
    """Of a request, in one part."""
    return [json.dumps({"model": "m", "max_tokens": 1} | fields, separators=(",", ":")).encode()]


def test_a_prompt_is_told_by_how_it_begins() -> None:
    """As ids, as text, as a message; and in whatever parts the body is."""
    assert opening_of(body(prompt=[11, 22, 33, 44])) == ("11", "22", "33")
    assert opening_of(body(prompt="a bird can sing")) == ("a", "bird", "can")
    message = [{"role": "user", "content": "a bird"}]
    assert opening_of(body(messages=message)) == ("a", "bird")
    assert opening_of([b'{"prompt":[', b"11,22", b"]}"]) == ("11", "22")
    assert opening_of([b"{}"]) == ()


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("bad prompt [11, 22, 33, 44, 55]: too long", "bad prompt […]: too long"),
        ("bad 11,22,33,44.", "bad …."),
        ("ids 11 and 22 are too large", "ids 11 and 22 are too large"),
        ("111, 22, 33", "111, 22, 33"),
    ],
)
def test_a_prompt_that_is_repeated_is_left_out(message: str, shown: str) -> None:
    """To its end; single ids of it are told, for they may be what is wrong."""
    assert quoted(message, str, ("11", "22", "33")) == shown


def test_words_that_are_repeated_are_left_out_too() -> None:
    """Where a message quotes them."""
    assert quoted("no 'a bird can sing'!", str, ("a", "bird", "can")) == "no '…'!"


def test_one_word_is_no_prompt() -> None:
    """It would be cut out of every message."""
    assert quoted("a fault", str, ("a",)) == "a fault"


def test_a_long_message_is_cut_after_its_keys_are() -> None:
    """A key across the cut is left out whole."""
    shown = quoted("x" * 115 + " sekretsekret and more", lambda s: s.replace("sekretsekret", "***"))
    assert shown == "x" * 115 + " *** …"
    assert quoted("x" * 120, str) == "x" * 120
