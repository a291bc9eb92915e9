"""Where two texts differ."""

from random import Random

import pytest

from stemcache.trace.divergence.hunks import Hunk, common_prefix, common_suffix, hunks_of


def changed(old: str, new: str) -> list[tuple[str, str]]:
    """What the hunks cut out of both."""
    return [
        (old[hunk.old_low : hunk.old_high], new[hunk.new_low : hunk.new_high])
        for hunk in hunks_of(old, new)
    ]


def prose(draw: Random, words: int) -> str:
    """Words that do not repeat much."""
    return " ".join(f"{draw.getrandbits(24):x}" for _ in range(words))


def lines(draw: Random, count: int) -> str:
    """Lines of such words."""
    return "".join(prose(draw, 8) + "\n" for _ in range(count))


def test_equal_texts_differ_nowhere() -> None:
    """Also empty ones."""
    assert hunks_of("", "") == hunks_of("abc", "abc") == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("It is 10:31.", "It is 10:32.", [("1", "2")]),
        ("abc", "abcdef", [("", "def")]),
        ("abcdef", "def", [("abc", "")]),
        ("aaa", "aa", [("a", "")]),
        ("", "abc", [("", "abc")]),
        ("abc", "xyz", [("abc", "xyz")]),
    ],
)
def test_one_edit_is_one_hunk_without_what_is_equal_around_it(
    old: str, new: str, expected: list[tuple[str, str]]
) -> None:
    """To the character."""
    assert changed(old, new) == expected


def test_edits_far_apart_are_hunks_of_their_own() -> None:
    """Here a clock in the first line and a number in the 300th."""
    body = lines(Random(1), 300)
    old = f"It is 10:31.\n{body}Files: 3\n{body}"
    new = f"It is 10:32.\n{body}Files: 9\n{body}"
    assert changed(old, new) == [("1", "2"), ("3", "9")]


def test_edits_far_apart_in_one_long_line_are_hunks_of_their_own() -> None:
    """Lines are not needed to find what is equal between them."""
    body = prose(Random(2), 40_000)
    old, new = f"id 17 {body} id 17 end", f"id 18 {body} id 19 end"
    assert changed(old, new) == [("7", "8"), ("7", "9")]


def test_text_without_blanks_or_lines_is_compared_too() -> None:
    """Such as an attachment in letters."""
    draw = Random(3)
    body = "".join(draw.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=100_000))
    assert changed(f"x{body}{body[:999]}", f"y{body}!{body[:999]}") == [("x", "y"), ("", "!")]


def test_edits_with_little_between_them_are_one_hunk() -> None:
    """A date of which all numbers but some changed is one text, not five."""
    assert changed("at 2026-11-30 10:15:59!", "at 2025-12-30 11:15:58!") == [
        ("6-11-30 10:15:59", "5-12-30 11:15:58")
    ]


def test_what_two_lists_have_in_common_by_chance_is_no_reason_to_cut_them() -> None:
    """Names of files between others."""
    old = "Status:\n" + "".join(f" M f{i}.py\n" for i in (1, 2, 3, 4, 5)) + "Done."
    new = "Status:\n" + "".join(f" M f{i}.py\n" for i in (7, 2, 8, 9)) + "Done."
    assert len(hunks_of(old, new)) == 1


def test_hunks_put_the_new_text_in_place_of_the_old() -> None:
    """Random edits of random texts: what is outside of hunks is equal, and they are in order."""
    draw = Random(4)
    for _ in range(150):
        old = "".join(draw.choices(("ab ", "cd ", "x", "\n", "é", "long-word "), k=60))
        new = old
        for _ in range(draw.randrange(4)):
            at = draw.randrange(len(new) + 1)
            new = (
                new[:at] + draw.choice(("", "!", "new text", "\n")) + new[at + draw.randrange(9) :]
            )
        rebuilt, at, other_at = "", 0, 0
        for hunk in hunks_of(old, new):
            assert old[at : hunk.old_low] == new[other_at : hunk.new_low]
            rebuilt += old[at : hunk.old_low] + new[hunk.new_low : hunk.new_high]
            at, other_at = hunk.old_high, hunk.new_high
            assert old[hunk.old_low : at] != new[hunk.new_low : other_at]
        assert rebuilt + old[at:] == new


def test_long_random_edits_are_found_as_they_were_made() -> None:
    """Ten edits in 200,000 characters, with lines and without."""
    draw = Random(5)
    for body in (lines(draw, 3_000), prose(draw, 30_000)):
        places = [len(body) // 11 * i for i in range(1, 11)]
        new = body
        for at in reversed(places):
            new = f"{new[:at]}<{at}>{new[at:]}"
        assert [hunk.old_low for hunk in hunks_of(body, new)] == places


def test_texts_of_many_lines_with_nothing_in_common_are_one_hunk() -> None:
    """And it does not take long to see."""
    draw = Random(6)
    assert len(hunks_of(lines(draw, 4_000), lines(draw, 4_000))) == 1


def test_periodic_texts_take_no_quadratic_time() -> None:
    """Where every piece is found everywhere."""
    assert hunks_of("ab" * 100_000, "ba" * 100_000 + "x")
    assert hunks_of("a\n" * 50_000, "b\n" * 50_000)
    assert hunks_of("a" * 100_000, "a" * 50_000 + "b" + "a" * 50_001)


@pytest.mark.parametrize("length", [0, 1, 2, 65_535, 65_536, 65_537, 200_000])
def test_common_ends_are_counted_to_the_character(length: int) -> None:
    """Around the pieces that are compared at once."""
    same = "s" * length
    assert common_prefix(same + "a", same + "b") == length
    assert common_prefix(same, same + "b") == length
    assert common_suffix("a" + same, "b" + same, length + 1) == length
    assert common_suffix(same, same, length) == length


def test_common_ends_can_start_anywhere() -> None:
    """From given places on, and before given places."""
    assert common_prefix("xxabcd", "abce", 2, 0) == 3
    assert common_suffix("abcdxx", "zbcd", 4, end=4, other_end=4) == 3


def test_a_hunk_is_a_value() -> None:
    """Equal where its four places are."""
    assert hunks_of("abc", "abd") == [Hunk(2, 3, 2, 3)]
