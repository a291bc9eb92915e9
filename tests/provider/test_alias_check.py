"""Aliases that stand for models of which nothing is known."""

from stemcache.provider.alias_check import unknown_aliases
from stemcache.provider.book import load_book

BOOK = load_book()


def test_aliases_of_priced_models_are_silent() -> None:
    """In any form in which a log may name them."""
    known = {"a": "claude-opus-5", "b": "us.anthropic.claude-opus-5-v1:0", "c": "openai/gpt-5.5"}
    assert list(unknown_aliases(BOOK, known)) == []


def test_a_slip_is_told_with_the_nearest_name() -> None:
    """A name that resembles none is told to need a price."""
    first, second = unknown_aliases(BOOK, {"mine": "claud-opus-5", "own": "zzzzzz"})
    assert first == (
        "the alias mine stands for claud-opus-5, a model that no price is known for; did you mean "
        "claude-opus-5?"
    )
    assert second == (
        "the alias own stands for zzzzzz, a model that no price is known for; give it one under "
        "prices"
    )


def test_models_of_the_user_s_own_prices_are_known() -> None:
    """An override is part of the book."""
    book = load_book(overrides=[{"price": {"openai": {"house-model": {"input": 1.0}}}}])
    assert list(unknown_aliases(book, {"x": "house-model"})) == []


def test_no_more_than_three_are_told() -> None:
    """However many, and however long they are."""
    told = list(unknown_aliases(BOOK, {f"a{n}": "q" * 10_000 for n in range(1_000)}))
    assert len(told) == 4
    assert max(map(len, told)) < 400
    assert told[3] == "no price is known for the models of 997 more aliases"
