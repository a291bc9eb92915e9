from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from stemcache.lint.explain.drawing import masked, shown
from stemcache.lint.explain.explanation import Excerpt, View

UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))


def view(before: str, text: str, after: str, *, exact: tuple[int, int] | None = None) -> View:
    """A string of these three parts."""
    start, end = exact or (0, len(text))
    return View(
        file="a.json",
        line=1,
        column=1,
        pointer="/a",
        char=len(before),
        shape=f"text, {len(text)} chars",
        excerpt=Excerpt(
            before=before,
            text=text,
            after=after,
            before_chars=len(before),
            after_chars=len(after),
            exact_start=start,
            exact_end=end,
        ),
    )


@pytest.mark.parametrize(
    ("given_view", "line", "carets"),
    [
        (view("x=", "abc", " end"), "x=abc end", (2, 3)),
        (view("", "a", "", exact=(0, 1)), "a", (0, 1)),
        (view("at ", "05:14:31", "Z", exact=(6, 7)), "at 05:14:31Z", (9, 1)),
        (view("日本=", "漢字", "!"), "日本=漢字!", (5, 4)),
        (view("\t", "a\x1bb", ""), "\\ta\\x1bb", (2, 6)),
        (view("x", "one", "", exact=(3, 3)), "xone", (4, 1)),
    ],
)
def test_carets_stand_below_the_cells_that_differ(
    given_view: View, line: str, carets: tuple[int, int]
) -> None:
    """Below wide characters two, below escapes as many as they have, and always one."""
    drawn = shown(given_view, 70)
    assert drawn.before + drawn.text + drawn.after == line
    assert (drawn.start_cell, drawn.cells) == carets


def test_what_does_not_fit_is_marked() -> None:
    """At both ends, and within a window that is long itself."""
    drawn = shown(view("a" * 500, "here", "b" * 500), 30)
    assert drawn.before.startswith("…a")
    assert drawn.after.endswith("b…")
    assert drawn.text == "here"
    drawn = shown(view("a", "w" * 500, "b"), 30)
    assert drawn.text == "w" * 19 + "…"
    assert drawn.cells == 19


def test_masked_shows_lengths_alone() -> None:
    """And nothing where nothing stands."""
    drawn = masked(view("a" * 1_500, "here", "b"))
    assert drawn.before + drawn.text + drawn.after == "[1,500 chars] [text, 4 chars] [1 char]"
    assert (drawn.start_cell, drawn.cells) == (14, 15)
    drawn = masked(view("", "here", ""))
    assert drawn.before + drawn.text + drawn.after == "[text, 4 chars]"


@given(st.text(), st.text(min_size=1), st.text(), st.integers(10, 200), st.data())
def test_no_text_is_wider_than_the_room_or_loses_its_carets(
    before: str, text: str, after: str, room: int, data: st.DataObject
) -> None:
    """Whatever is in it; only a window of wide characters may stand out."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, len(text)))
    drawn = shown(view(before, text, after, exact=(start, end)), room)
    line = drawn.before + drawn.text + drawn.after
    assert not {category(char) for char in line.translate(JOINERS)} & UNSEEN
    assert cell_len(line) <= max(room, cell_len(drawn.text)) + 2
    assert drawn.cells >= 1
    assert drawn.start_cell >= cell_len(drawn.before)
