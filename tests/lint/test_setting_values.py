import pytest

from stemcache.errors import UsageError
from stemcache.lint.setting_values import Table

TABLE = Table(
    {"a": "x", "list": ["x", "y"], "n": 1, "f": 0.5, "yes": True, "t": {"k": "v"}, "in": {"r": {}}},
    "stemcache.toml",
    "tool.stemcache.",
)


def test_values_have_types() -> None:
    """One word is a list of one."""
    assert TABLE.text("a") == "x"
    assert TABLE.words("a") == ("x",)
    assert TABLE.words("list") == ("x", "y")
    assert (TABLE.number("n"), TABLE.number("f", most=1)) == (1.0, 0.5)
    assert TABLE.flag("yes") is True
    assert TABLE.texts("t") == {"k": "v"}
    assert TABLE.tables("t") == {"k": "v"}
    assert {name: each.prefix for name, each in TABLE.inner("in").items()} == {
        "r": "tool.stemcache.in.r."
    }


def test_what_is_not_there_is_nothing() -> None:
    """And no error."""
    assert TABLE.text("z") is None
    assert TABLE.number("z") is None
    assert TABLE.flag("z") is None
    assert TABLE.words("z") == ()
    assert TABLE.texts("z") == TABLE.tables("z") == TABLE.inner("z") == {}


def test_a_value_of_another_type_is_told_with_key_and_file() -> None:
    """And with what to make it."""
    with pytest.raises(UsageError) as error:
        TABLE.flag("a")
    assert str(error.value) == (
        "tool.stemcache.a in stemcache.toml is the string 'x'; make it true or false"
    )
    for read in (TABLE.text, TABLE.number, TABLE.words, TABLE.texts, TABLE.inner):
        with pytest.raises(UsageError, match=r"tool\.stemcache\.yes in stemcache\.toml is true"):
            read("yes")


def test_a_key_that_there_is_not_is_told_with_the_nearest() -> None:
    """All others are passed."""
    TABLE.only(("a", "list", "n", "f", "yes", "t", "in"))
    with pytest.raises(UsageError) as error:
        TABLE.only(("a", "lists", "n", "f", "yes", "t", "in"))
    assert "unknown setting 'list' from stemcache.toml, tool.stemcache.list; did you mean" in str(
        error.value
    )


def test_a_long_string_is_cut_in_an_error() -> None:
    """Nobody wants to read it twice."""
    with pytest.raises(UsageError) as error:
        Table({"n": "x" * 10_000}, "f", "").number("n")
    assert len(str(error.value)) < 150
