from dataclasses import replace

import pytest

from stemcache.lint.history import (
    cut_mark,
    follows,
    in_last_user_message,
    leads_messages,
    neighbours,
    span_bytes,
    summary_mark,
    whole_messages,
)
from stemcache.trace.divergence.change import ChangeKind
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section
from tests.lint.changes import edited, pair_of, span

SYSTEM = span("s", section=Section.SYSTEM)
FIRST = span("q", 0, ends_message=False)
SECOND = span("r", 0)
THIRD = span("a", 1, role="assistant")
FOURTH = span("q", 2)
ALL = (SYSTEM, FIRST, SECOND, THIRD, FOURTH)
PROMPT = pair_of(ALL, ALL).parent


@pytest.mark.parametrize(
    ("low", "high", "messages"),
    [(1, 5, 3), (1, 3, 1), (2, 3, 0), (2, 4, 1), (1, 2, 0), (3, 5, 2), (0, 1, 0), (0, 3, 1)],
)
def test_only_messages_that_are_there_from_beginning_to_end_are_whole(
    low: int, high: int, messages: int
) -> None:
    """A part of one is none, and the system prompt is none."""
    assert whole_messages(ALL[low:high], PROMPT, low) == messages


def test_the_first_message_leads_though_a_system_prompt_stands_ahead() -> None:
    """Of spans behind it, and of numbers that there are not, none does."""
    assert [leads_messages(PROMPT, at) for at in (-1, 0, 1, 2, 5)] == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_the_newest_user_message_is_the_one_that_a_prompt_ends_with() -> None:
    """Only its texts, and only where a user speaks."""
    assert in_last_user_message(FOURTH, PROMPT)
    assert not in_last_user_message(SECOND, PROMPT)
    assert not in_last_user_message(replace(FOURTH, kind=SpanKind.TOOL_RESULT), PROMPT)
    assert not in_last_user_message(replace(FOURTH, role="assistant"), PROMPT)
    assert follows(SECOND, PROMPT)
    assert not follows(FOURTH, PROMPT)


@pytest.mark.parametrize(
    "text",
    [
        "abc… [truncated]",
        "[Old tool result content cleared]",
        "(output truncated)",
        "[... 1,234 characters omitted ...]",
        "<result trimmed>",
        "x" * 10_000 + "\n[12000 tokens elided]",
    ],
)
def test_marks_of_a_cut(text: str) -> None:
    """The words that tools put in the place of what they cut off."""
    assert cut_mark(text)


@pytest.mark.parametrize("text", ["", "All is well.", "short", "a trunk", "x" * 2000])
def test_texts_without_a_mark_of_a_cut(text: str) -> None:
    """Prose that says nothing of it."""
    assert not cut_mark(text)


def test_marks_of_a_summary_stand_at_the_head() -> None:
    """A word far behind does not make a message one."""
    assert summary_mark("Summary of the conversation so far: …")
    assert summary_mark("This session is continued from a previous conversation.")
    assert not summary_mark("Where is my order?")
    assert not summary_mark("x" * 1000 + " summary")


def test_neighbours_are_changes_that_adjoin_in_the_child() -> None:
    """Not those further off, nor those of other sections, and never more than a few."""
    one = edited(FOURTH, FOURTH, old_text="a", new_text="b", char=0)
    changes = [replace(one, after_index=at) for at in (2, 3, 5, 8)]
    removed = replace(one, kind=ChangeKind.REMOVED, after=(), after_index=4)
    ordered = (*changes[:2], removed, *changes[2:])
    pair = pair_of(ALL, ALL, *ordered)
    assert neighbours(changes[1], pair) == (changes[0], removed)
    assert neighbours(changes[3], pair) == ()
    many = tuple(replace(one, after_index=7, char=at) for at in range(5000))
    assert len(neighbours(many[2500], pair_of(ALL, ALL, *many))) <= 9


def test_span_bytes_adds_up_texts() -> None:
    """Characters, whatever the spans are."""
    assert span_bytes((FIRST, replace(SECOND, text="four"))) == 5
