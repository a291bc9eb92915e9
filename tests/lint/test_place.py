from dataclasses import replace

import pytest

from stemcache.lint.place import (
    around,
    earlier_on_line,
    exact,
    group_place,
    where,
    window_start,
)
from stemcache.trace.divergence.change import Change
from stemcache.wire.section import Section
from tests.lint.changes import edited, pair_of, span


def _change(text: str, new: str, char: int) -> Change:
    one = span(text, 3)
    return edited(one, one, old_text="x", new_text=new, char=char)


def test_around_gives_what_stands_ahead_and_the_line_of_the_window() -> None:
    """The line goes from the one line end to the next."""
    near = around(_change("first\nNow: 05:14:31 here\nlast", "05:14:31", 17))
    assert near.before == "first\nNow: "
    assert near.line == "Now: 05:14:31 here"


def test_a_window_that_begins_ahead_of_the_first_difference_is_found() -> None:
    """Windows are widened to whole words, the character is not."""
    near = around(_change("at 2026-11-30T05:14:31Z or so", "2026-11-30T05:14:31Z", 20))
    assert near.before == "at "


def test_a_window_over_several_lines_has_all_of_them() -> None:
    """From the beginning of its first line to the end of its last."""
    near = around(_change("one\ntwo three\nfour five\nsix", "three\nfour", 8))
    assert near.line == "two three\nfour five"


def test_of_a_long_text_only_what_is_near_is_given() -> None:
    """A megabyte without a line end is not copied."""
    near = around(_change("a" * 2**20 + "X" + "b" * 2**20, "X", 2**20))
    assert len(near.before) == 1024
    assert len(near.line) < 8192


@pytest.mark.parametrize("char", [None, 10_000])
def test_a_place_that_is_not_in_the_text_has_nothing_around_it(char: int | None) -> None:
    """What is no string, or not as long as said, gives empty texts."""
    near = around(replace(_change("short", "x", 0), char=char))
    assert (near.before, near.line) == ("", "")


@pytest.mark.parametrize(
    ("pointer", "before"),
    [
        ("/tools/0/description", "Now "),
        ("/tools/0/a~1b/1", "in "),
        ("/tools/0/a~1b/7", ""),
        ("/tools/0/a~1b/x", ""),
        ("/tools/0/absent/" + "9" * 400, ""),
        ("/tools/0", ""),
    ],
)
def test_strings_inside_of_structures_are_found_by_pointer(pointer: str, before: str) -> None:
    """Escapes and numbers as in JSON pointers; what is not there is nothing."""
    value = {"description": "Now 5", "a/b": ["x", "in 5"]}
    tool = span("{}", section=Section.TOOLS, pointer="/tools/0", value=value)
    change = replace(
        edited(tool, tool, old_text="4", new_text="5", char=len(before)), pointer=pointer
    )
    assert around(change).before == before


def test_places_in_words() -> None:
    """Section, or the number of the message and who speaks."""
    tool = span("t", section=Section.TOOLS, pointer="/tools/2")
    system = span("s", section=Section.SYSTEM)
    message = span("m", 4, role="assistant")
    places = [
        where(edited(one, one, old_text="", new_text="", char=0)) for one in (tool, system, message)
    ]
    assert places == ["in a tool's definition", "in the system prompt", "in message 4 (assistant)"]
    nowhere = replace(edited(message, message, old_text="", new_text="", char=0), after=())
    assert where(nowhere) == "in message 4 (assistant)"
    assert where(replace(nowhere, before=())) == "in the history"


@pytest.mark.parametrize(
    ("section", "pointer", "group"),
    [
        (Section.MESSAGES, "/messages/12/content/0/text", "messages:/messages/*/content/*/text"),
        (Section.MESSAGES, "/messages/12", "messages:/messages/*"),
        (Section.TOOLS, "/tools/3/input_schema/properties/id", "tools:/tools/*/input_schema"),
        (Section.SYSTEM, "/system/1/text", "system:/system/1/text"),
        (Section.SYSTEM, "/messages/0/content", "system:/messages/0/content"),
    ],
)
def test_groups_leave_out_numbers_of_messages_and_tools(
    section: Section, pointer: str, group: str
) -> None:
    """Those of system blocks stay: they tell causes apart."""
    one = span("x", 0, section=section)
    change = edited(one, one, old_text="", new_text="", char=0)
    assert group_place(replace(change, pointer=pointer)) == group


def test_a_group_of_a_deep_or_long_pointer_is_short() -> None:
    """Names of keys are a caller's text, and may be as long as they like."""
    one = span("x", 0)
    change = edited(one, one, old_text="", new_text="", char=0)
    assert len(group_place(replace(change, pointer="/a" * 10_000))) < 400
    assert len(group_place(replace(change, pointer="/" + "a" * 10_000))) < 400


def test_earlier_changes_of_a_line_are_those_ahead_on_it() -> None:
    """Not those of other lines, other strings, or behind; three at most."""
    one = span("aaaa bbbb cccc\ndddd eeee ffff gggg hhhh", 3)
    places = (0, 5, 15, 20, 25, 30, 35)
    changes = [edited(one, one, old_text="x", new_text="y", char=char) for char in places]
    elsewhere = replace(changes[3], pointer="/messages/3/name")
    pair = pair_of([one], [one], *changes[:4], elsewhere, *changes[4:])
    assert earlier_on_line(changes[0], pair) == ()
    assert earlier_on_line(changes[1], pair) == (changes[0],)
    assert earlier_on_line(changes[2], pair) == ()
    assert earlier_on_line(changes[4], pair) == (changes[2], changes[3])
    assert earlier_on_line(changes[6], pair) == (changes[3], changes[4], changes[5])
    assert earlier_on_line(replace(changes[4], char=None), pair) == ()


def test_a_window_is_found_where_it_differs_and_not_where_its_words_stand_again() -> None:
    """Both windows begin with what they were widened by."""
    assert window_start("be de de delivered", 8, "de", "delivered") == 6
    assert window_start("de de de", 8, "de", "delivered") == 6
    assert window_start("abc", 1, "", "x") == 1
    assert window_start("abc", 2, "other", "else") == 2


def test_windows_without_what_they_were_widened_by() -> None:
    """From the first character that differs to the last; ends of cut ones are not compared."""
    assert exact("10:31:02", "10:31:03") == ("2", "3")
    assert exact("delivered", "de") == ("livered", "")
    assert exact("one", "two") == ("one", "two")
    assert exact("aXb", "aYb") == ("X", "Y")
    long = "a" * 4_096
    assert exact(f"x{long}"[:4_096], f"y{long}"[:4_096])[0].startswith("xa")
