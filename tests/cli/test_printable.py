import pytest

from stemcache.cli.printable import printable


@pytest.mark.parametrize(
    "text", ["", "acme", "Zoë's team", "名前", "ع", "می\u200cخ", "👩\u200d🚀", "a\\b", "[red]"]
)
def test_names_stay_as_they_are(text: str) -> None:
    """Of any writing."""
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jacme", r"\x1b[2Jacme"),
        ("a\0b", r"a\x00b"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("a\x7fb\x9bc\x85d", r"a\x7fb\x9bc\x85d"),
        ("a\u202eb\u2066c\u200fd\u061ce", r"a\u202eb\u2066c\u200fd\u061ce"),
        ("a\u2028b\u2029c\ufeffd", r"a\u2028b\u2029c\ufeffd"),
        ("a\ud800b\udcff", r"a\ud800b\udcff"),
        ("a\U000e0041b", r"a\U000e0041b"),
    ],
)
def test_what_steers_a_terminal_becomes_a_visible_escape(text: str, shown: str) -> None:
    """Nothing that moves the cursor, ends a line, turns the writing or cannot be sent."""
    assert printable(text) == shown
    assert printable(text).encode() == shown.encode()


def test_long_names_keep_both_ends() -> None:
    """So that names which differ at either end still do."""
    assert printable("a" * 120) == "a" * 120
    long = printable(f"first{'.' * 10**6}last")
    assert len(long) == 120
    assert long.startswith("first...")
    assert long.endswith("...last")
    assert "…" in long
    assert printable("abcdefghij", most_characters=7) == "abcd…ij"
    assert printable("abc", most_characters=1) == "…"


def test_no_escape_is_cut_in_two() -> None:
    """The bound holds for what is printed."""
    assert printable("\0" * 40, most_characters=20) == r"\x00\x00\x00…\x00"
    assert len(printable("\U000e0041" * 200)) <= 120
