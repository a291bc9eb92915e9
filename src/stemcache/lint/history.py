"""What happened to messages: which are gone as a whole, what was cut, what stands in for them."""

import re
from bisect import bisect_left

from stemcache.lint.cause import Pair
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import Prompt, Span, SpanKind
from stemcache.wire.section import Section

__all__ = [
    "cut_mark",
    "follows",
    "in_last_user_message",
    "leads_messages",
    "neighbours",
    "span_bytes",
    "summary_mark",
    "whole_messages",
]

_CUT = re.compile(
    r"[\[(<{…*]?\s?(?:\.\.\.\s?)?(?:\d[\d,.]{0,12}\s?[kKmM]?\s?(?:more\s)?"
    r"(?:chars?|characters|bytes|lines|tokens|words)\s)?"
    r"(?:(?:old|earlier|previous|large|tool)\s(?:tool\s)?(?:results?|output|content|messages?)\s"
    r"(?:content\s)?(?:was\s|were\s|has\sbeen\s)?)?"
    r"(?:content\s|output\s|result\s)?(?:was\s)?"
    r"(?:truncated|trimmed|elided|omitted|cleared|pruned|removed\sto\ssave"
    r"|snipped|shortened|cut\soff)\b",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"(?:summar(?:y|ised|ized)|compact(?:ed|ion)|conversation so far|continued from a previous"
    r"|condensed|earlier (?:conversation|messages|context))",
    re.IGNORECASE,
)
_MARK_CHARS = 600


def span_bytes(spans: tuple[Span, ...]) -> int:
    """Characters of their texts together."""
    return sum(len(span.text) for span in spans)


def whole_messages(spans: tuple[Span, ...], prompt: Prompt, index: int) -> int:
    """How many messages lie wholly in `spans`, of which the first is the prompt's span `index`."""
    count = 0
    fresh = True
    for at, span in enumerate(spans):
        if at:
            fresh = fresh or spans[at - 1].message != span.message
        elif 0 < index <= len(prompt.spans):
            fresh = prompt.spans[index - 1].message != span.message
        if span.ends_message and fresh and span.message >= 0:
            count += 1
        if span.ends_message:
            fresh = True
        elif at == 0 and not fresh:
            fresh = False
    return count


def leads_messages(prompt: Prompt, index: int) -> bool:
    """Whether span `index` is the first of the messages."""
    if not 0 <= index < len(prompt.spans):
        return False
    if prompt.spans[index].section is not Section.MESSAGES:
        return False
    return index == 0 or prompt.spans[index - 1].section is not Section.MESSAGES


def in_last_user_message(span: Span, prompt: Prompt) -> bool:
    """Whether the span is text of the message that a prompt ends with, and a user's."""
    return (
        span.role == "user"
        and span.kind is SpanKind.TEXT
        and bool(prompt.spans)
        and prompt.spans[-1].message == span.message
    )


def follows(span: Span, prompt: Prompt) -> bool:
    """Whether messages stand behind the span's own."""
    return bool(prompt.spans) and prompt.spans[-1].message > span.message


def neighbours(change: Change, pair: Pair) -> tuple[Change, ...]:
    """Changes of messages that adjoin this one in the child: together they are one rewriting.

    At most eight; O(log changes).
    """
    changes = pair.divergence.changes
    begin, end = change.after_index, change.after_index + len(change.after)
    low = bisect_left(changes, begin, key=lambda other: other.after_index)
    near = changes[max(0, low - 2) : low + 7]
    return tuple(
        other
        for other in near
        if other is not change
        and other.section is Section.MESSAGES
        and other.kind is not ChangeKind.REORDERED
        and (other.after_index + len(other.after) == begin or other.after_index in {begin, end})
    )


def cut_mark(text: str) -> bool:
    """Whether a text says that something was cut off or cleared here."""
    return bool(_CUT.search(text[:_MARK_CHARS]) or _CUT.search(text[-_MARK_CHARS:]))


def summary_mark(text: str) -> bool:
    """Whether a text says at its head that it stands for earlier messages."""
    return _SUMMARY.search(text[:_MARK_CHARS]) is not None
