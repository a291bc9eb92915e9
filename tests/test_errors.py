"""The words of errors."""

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
