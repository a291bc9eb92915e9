import pytest

from stemcache.lint.visible import encodable, listed, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/messages/3/content", "/messages/3/content"),
        ("a\nb", "a\\nb"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b", "\\x9b"),
        ("\u202eevil", "\\u202eevil"),
        ("\udcff", "\\udcff"),
        ("\u0645\u06cc\u200c\u062f 日本", "\u0645\u06cc\u200c\u062f 日本"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_an_escape(text: str, shown: str) -> None:
    """Writing of all kinds stays as it is."""
    assert visible(text) == shown


def test_a_long_name_keeps_its_ends() -> None:
    """However long it is."""
    shown = visible("/" + "k" * 10_000_000 + "/end", most_characters=16)
    assert shown == "/kkkkkkkkkk…/end"


def test_half_of_a_pair_can_be_encoded() -> None:
    """Everything else is as it was."""
    assert encodable("é\ud800") == "é\\ud800"


def test_a_list_of_names_is_short() -> None:
    """The first three are shown, escaped and not too long, the rest counted."""
    assert listed(["a"]) == "a"
    assert listed(["a", "b\n", "c"]) == "a, b\\n, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert len(listed(["n" * 10_000] * 5)) < 200
