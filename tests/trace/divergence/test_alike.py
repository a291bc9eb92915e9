"""Whether two texts are versions of one."""

import pytest

from stemcache.trace.divergence.alike import Likeness, alike


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", False),
        ("", "abc", False),
        ("abc", "abc", True),
        ("abc", "abcdefghi", True),
        ("ghi", "abcdefghi", True),
        ("Where is my order?", "Why is the sky blue?", False),
        ("It is 10:31. Be brief.", "It is 10:32. Be brief.", True),
        ("x one two three four y", "z four three one two w", True),
        ("one two three", "four five six", False),
        ("a long answer of a tool " * 90, "[cleared]", False),
    ],
)
def test_half_of_the_shorter_one_has_to_be_in_the_other(
    one: str,
    other: str,
    expected: bool,  # noqa: FBT001
) -> None:
    """As equal ends, or as words in any order; the same either way round."""
    assert alike(one, other) is alike(other, one) is expected


def test_pairs_beyond_the_most_are_unlike() -> None:
    """So that many texts against many take no time without end."""
    many = Likeness()
    assert sum(many("abc", "abc") for _ in range(5000)) == 4096
