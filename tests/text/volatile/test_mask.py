from itertools import pairwise

import pytest

from stemcache.text.volatile.detector import Family
from stemcache.text.volatile.mask import shape, tokens


def _found(text: str) -> list[tuple[str, str]]:
    return [(token.name, text[token.start : token.end]) for token in tokens(text)]


def test_tokens_are_found_in_order_and_do_not_overlap() -> None:
    """Each piece once, by its most telling form."""
    text = "At 2026-11-30T05:14:01Z run 9f86d081884c7d65 of req_011CSHoEeqs5, 3 minutes ago."
    assert _found(text) == [
        ("ISO time", "2026-11-30T05:14:01Z"),
        ("hex digest", "9f86d081884c7d65"),
        ("request id", "req_011CSHoEeqs5"),
        ("relative time", "3 minutes ago"),
    ]
    ends = [(token.start, token.end) for token in tokens(text)]
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))


def test_families_say_which_rule_a_token_is_for() -> None:
    """Clocks, ids and what pictures the environment."""
    families = [token.family for token in tokens("05:14:01 nonce=a8f3 tokens left: 12,345")]
    assert families == [Family.CLOCK, Family.ID, Family.ENVIRONMENT]


def test_where_the_check_of_one_form_fails_a_later_one_is_tried() -> None:
    """`4:12` is no time of day without a word for time, but a duration behind `up`."""
    assert _found("up 4:12") == [("duration", "4:12")]
    assert _found("chapter 4:12") == []


def test_digits_inside_an_id_are_no_clock() -> None:
    """A UUID whose groups look like years and months is one piece."""
    assert _found("20261130-1112-4130-8051-401051402051") == [
        ("UUID", "20261130-1112-4130-8051-401051402051")
    ]


@pytest.mark.parametrize("text", ["", " ", "Be brief and polite.", "1.2.3", "$4.99", "\ud800\0"])
def test_plain_text_has_no_tokens(text: str) -> None:
    """Nothing volatile, nothing found."""
    assert tokens(text) == []


def test_shapes_count_characters() -> None:
    """Never the text; thousands are set apart; nothing of nothing."""
    assert shape("UUID", "x" * 36) == "UUID, 36 chars"
    assert shape("text", "x" * 12_345) == "text, 12,345 chars"
    assert shape("text", "x") == "text, 1 char"
    assert shape("text", "") == ""
