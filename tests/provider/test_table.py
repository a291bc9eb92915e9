"""Strict reading of tables."""

from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.provider.table import Table


def test_what_was_not_asked_for_is_an_error() -> None:
    """A slip of the hand is named with the file and the nearest key."""
    table = Table({"minimun": 5}, "mine.toml")
    assert table.count("minimum") is None
    with pytest.raises(UsageError) as caught:
        table.done()
    assert str(caught.value) == (
        "unknown key 'minimun' from mine.toml; did you mean 'minimum'? (minimum)"
    )


def test_all_taken_is_no_error() -> None:
    """Each key is taken once."""
    table = Table({"a": "x", "b": True, "c": [1.5], "d": {"e": 2}, "f": [{"g": "h"}]}, "mine.toml")
    assert table.text("a") == "x"
    assert table.flag("b") is True
    assert table.has("c")
    assert table.take("c") == [1.5]
    inner = table.table("d")
    assert inner is not None
    assert inner.where == "mine.toml, d"
    assert inner.count("e") == 2
    assert [one.needed("g") for one in table.tables("f")] == ["h"]
    table.done()


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        ("text", 5, "k in mine.toml is the whole number 5; give a text"),
        ("text", "", "k in mine.toml is an empty text; give a text"),
        ("texts", "a", "k in mine.toml is the text 'a'; give a list of texts"),
        ("texts", [1], "k in mine.toml is a list; give a list of texts"),
        ("flag", 1, "k in mine.toml is the whole number 1; give true or false"),
        ("count", -1, "k in mine.toml is the whole number -1; give a whole number from 0 on"),
        ("count", True, "k in mine.toml is true; give a whole number from 0 on"),
        ("count", 10**13, "k in mine.toml is a huge number; give a whole number from 0 on"),
        ("count", 1.5, "k in mine.toml is the number 1.5; give a whole number from 0 on"),
        ("number", float("nan"), "k in mine.toml is the number nan; give a number from 0 on"),
        ("number", float("inf"), "k in mine.toml is the number inf; give a number from 0 on"),
        ("number", "1", "k in mine.toml is the text '1'; give a number from 0 on"),
        ("tables", {}, "k in mine.toml is a table; give [[k]] tables"),
        ("tables", [5], "mine.toml, k 1 is the whole number 5; give a table of keys and values"),
        ("table", None.__class__, "mine.toml, k is a type; give a table of keys and values"),
        ("table", [], "mine.toml, k is a list; give a table of keys and values"),
    ],
)
def test_a_value_of_another_type_is_an_error(read: str, value: Any, message: str) -> None:
    """It is told what stands where, and what to give."""
    table = Table({"k": value}, "mine.toml")
    with pytest.raises(UsageError) as caught:
        getattr(table, read)("k")
    assert str(caught.value) == message


def test_a_needed_key_that_is_missing_is_an_error() -> None:
    """It is told which and where."""
    with pytest.raises(UsageError, match=r"^name is missing from mine.toml; add it$"):
        Table({}, "mine.toml").needed("name")


def test_a_word_outside_its_set_is_an_error() -> None:
    """With the nearest that there is."""
    with pytest.raises(
        UsageError, match=r"unknown kind 'unit' from mine.toml; did you mean 'units'"
    ):
        Table({"kind": "unit"}, "mine.toml").choice("kind", ("units", "markers"))
