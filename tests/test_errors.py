"""The words of errors."""

from enum import StrEnum

import pytest

from stemcache.errors import unknown_choice, worded


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("no such thing"), "ValueError: no such thing"),
        (MemoryError(), "MemoryError"),
        (RuntimeError("  \n"), "RuntimeError"),
    ],
)
def test_an_error_of_any_origin_is_worded(error: Exception, words: str) -> None:
    """Its kind, and its text where it has one."""
    assert worded(error) == words


def test_an_unknown_choice_names_the_nearest() -> None:
    """And all that there are."""
    message = unknown_choice("policy", "lruu", "--eviction", ["fifo", "lru"])
    assert message == "unknown policy 'lruu' from --eviction; did you mean 'lru'? (fifo, lru)"
    assert unknown_choice("policy", "x", "--eviction", ["fifo"]) == (
        "unknown policy 'x' from --eviction; (fifo)"
    )


class _Colour(StrEnum):
    RED = "red"
    GREEN = "green"


class _Other(StrEnum):
    REED = "reed"


def test_members_of_an_enumeration_are_shown_by_their_values() -> None:
    """Among the choices, as the nearest, and as what was given."""
    said = "unknown colour 'reed' from paint; did you mean 'red'? (green, red)"
    assert unknown_choice("colour", "reed", "paint", _Colour) == said
    assert unknown_choice("colour", _Other.REED, "paint", _Colour) == said
    assert unknown_choice("colour", _Other.REED, "paint", ["x"]) == (
        "unknown colour 'reed' from paint; (x)"
    )
