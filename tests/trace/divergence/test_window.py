"""What to show of a difference."""

import pytest

from stemcache.trace.divergence.hunks import hunks_of
from stemcache.trace.divergence.window import MOST_CHARS, Window, window_of


def window(old: str, new: str) -> Window:
    """Of the first hunk."""
    return window_of(old, new, hunks_of(old, new)[0])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("at 10:31:02 sharp", "at 10:31:03 sharp", ("10:31:02", "10:31:03")),
        (
            "now 2026-11-30T05:14:01Z.",
            "now 2026-11-30T05:14:31Z.",
            ("2026-11-30T05:14:01Z", "2026-11-30T05:14:31Z"),
        ),
        ("cch=71fea; x", "cch=ea6aa; x", ("71fea", "ea6aa")),
        ("question 0", "Question 0", ("question", "Question")),
        ("in /a/b1/c of it", "in /a/b2/c of it", ("a/b1/c", "a/b2/c")),
        ("It is 5.", "It is 6.", ("5", "6")),
        ("so. (b)", "so. new (b)", ("", "new ")),
    ],
)
def test_a_difference_is_widened_to_whole_words(
    old: str, new: str, expected: tuple[str, str]
) -> None:
    """Times, ids and paths are words; the stop behind them is not part of it."""
    assert window(old, new) == Window(*expected)


def test_a_word_of_endless_length_is_cut() -> None:
    """Some way to both sides of the difference."""
    found = window("a" * 5000 + "x" + "a" * 5000, "a" * 5000 + "y" + "a" * 5000)
    assert len(found.old) == len(found.new) == 257


def test_no_side_is_longer_than_the_most() -> None:
    """Whatever differs."""
    found = window("x " * 9000, "y" * 9000)
    assert len(found.old) == len(found.new) == MOST_CHARS
