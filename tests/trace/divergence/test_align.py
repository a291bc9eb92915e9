"""Which items of two sequences correspond."""

from random import Random

import pytest

from stemcache.trace.divergence.align import Match, align


def longest(one: str, other: str) -> int:
    """Length of the longest common subsequence, the slow way."""
    row = [0] * (len(other) + 1)
    for item in one:
        before = row[:]
        for j, theirs in enumerate(other):
            row[j + 1] = before[j] + 1 if item == theirs else max(before[j + 1], row[j])
    return row[-1]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", []),
        ("", "abc", []),
        ("abc", "abc", [Match(0, 0, 3)]),
        ("abc", "xyz", []),
        ("abxcd", "abycd", [Match(0, 0, 2), Match(3, 3, 2)]),
        ("abcdef", "cdef", [Match(2, 0, 4)]),
        ("abcd", "abcdef", [Match(0, 0, 4)]),
        ("axbyc", "ambnc", [Match(0, 0, 1), Match(2, 2, 1), Match(4, 4, 1)]),
    ],
)
def test_equal_runs_are_matched(one: str, other: str, expected: list[Match]) -> None:
    """At the ends, between them, and around what came or went."""
    assert align(one, other) == expected


def test_of_what_moved_the_longest_row_stays() -> None:
    """One item that was carried to the front leaves the others matched."""
    assert align("xabcdefy", "xfabcdey") == [Match(0, 0, 1), Match(1, 2, 5), Match(7, 7, 1)]


def test_items_that_repeat_are_matched_by_their_turn() -> None:
    """The first with the first, where nothing is there once only."""
    assert align("aabbx", "ccaabb") == [Match(0, 2, 4)]


def test_of_items_that_are_there_once_the_most_possible_are_matched() -> None:
    """As many as in the longest common subsequence."""
    draw = Random(2)
    for _ in range(200):
        one = "".join(draw.sample("abcdefghijklmnop", 10))
        other = "".join(draw.sample("abcdefghijklmnop", 10))
        assert sum(match.count for match in align(one, other)) == longest(one, other)


def test_matches_are_in_order_equal_and_never_too_many() -> None:
    """Whatever repeats."""
    draw = Random(3)
    for _ in range(500):
        one = "".join(draw.choices("abc", k=draw.randrange(20)))
        other = "".join(draw.choices("abcd", k=draw.randrange(20)))
        at, other_at = 0, 0
        total = 0
        for match in align(one, other):
            assert match.count > 0
            assert (at, other_at) <= (match.one, match.other)
            assert match.one >= at
            assert match.other >= other_at
            end, other_end = match.one + match.count, match.other + match.count
            assert one[match.one : end] == other[match.other : other_end]
            at, other_at = end, other_end
            total += match.count
        assert total <= longest(one, other)


def test_long_sequences_that_repeat_take_no_quadratic_time() -> None:
    """100,000 items of three sorts; comparing all with all would take minutes."""
    draw = Random(4)
    one = draw.choices("abc", k=100_000)
    assert align(one, one[::-1])
