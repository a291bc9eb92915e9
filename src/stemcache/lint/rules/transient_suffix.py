"""Text was added to the newest user message and left out when it was replayed.

## What it finds

The request before had text at the end or at the start of its last user message (a time, a
reminder, retrieved passages), or a block of its own in it, and this request replays that message
without it, or has it around its own newest message instead.

## Why it costs

The text was put at the end of the prompt so as to break nothing. But what was written is the
message with it, and what is asked for is the message without: reading stops in that message, so
its other content, the answer and all later turns of that step are written again.

## Example

```diff
  turn 1, last message
  user: Where is my order? (it is 05:14)
  turn 2, the same message
- user: Where is my order? (it is 05:14)
+ user: Where is my order?
  assistant: …
```

## Use instead

Store what was sent, addition included, and replay that. Or put the addition into a block of its
own behind the last cache marker, so that what was written ends before it. DeepSeek has no markers
and keeps prompts whole, addition included, so that there only storing it helps.

## Limits

A user who edits the last message and sends it again looks the same where only an end was cut.

## References

- Mintplex-Labs/anything-llm#6399: a time added to the newest message and not stored
- yc-software/qm#971: notes ride the user's message and are stored, so that the replay matches
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.history import follows, in_last_user_message
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import Span, SpanKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM306",
    name="transient-suffix",
    kind="transient-suffix",
    summary="Text was added to the newest user message, but left out when it was replayed.",
    help=(
        "Store the message as it was sent, with what was added to it, and replay that; or, where"
        " prompts have cache markers, send the addition as a block of its own behind the last one,"
        " where nothing that is sent again stands behind it."
    ),
    page=__doc__ or "",
)

_ALIKE_CHARS = 24
_KINDS = frozenset({ChangeKind.EDITED, ChangeKind.REPLACED, ChangeKind.REMOVED})


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims what the parent's last user message had at an end and the replayed one lacks."""
    if change.section is not Section.MESSAGES or change.kind not in _KINDS or not change.before:
        return None
    old = change.before[0]
    if not in_last_user_message(old, pair.parent):
        return None
    new = _replayed(change, old)
    if new is None:
        left_out = _block_left_out(change, pair) or _message_left_out(change, pair)
        if not left_out and not _moved_on(change, pair):
            return None
        lost, side = len(old.text), "a part"
    elif not follows(new, pair.child):
        return None
    else:
        lost = len(old.text) - len(new.text)
        at_end, at_start = old.text.startswith(new.text), old.text.endswith(new.text)
        where = "at the end" if at_end else "at the start" if at_start else "around the text"
        side = f"{lost:,} chars {where}"
    return content_cause(
        RULE,
        change,
        f"{side} of the newest user message {'is' if new is None else 'are'} not replayed",
        "part" if new is None else "text",
        old=f"text, {lost:,} chars",
        new="",
    )


def _replayed(change: Change, old: Span) -> Span | None:
    """The child's span that is the old one without something at its end, its start, or both."""
    for span in change.after[:2]:
        if span.role != "user" or span.kind is not SpanKind.TEXT or not span.text:
            continue
        if len(span.text) < len(old.text) and span.text in old.text:
            return span
    return None


def _block_left_out(change: Change, pair: Pair) -> bool:
    """Whether the rest of the message is still there, and the conversation went on."""
    siblings = [
        at
        for at in (change.before_index - 1, change.before_index + len(change.before))
        if 0 <= at < len(pair.parent.spans)
        and pair.parent.spans[at].message == change.before[0].message
    ]
    kept = set(pair.divergence.aligned)
    places = [at for at in siblings if at in kept]
    if not places or any(span.message != change.before[0].message for span in change.before):
        return False
    child_at = pair.divergence.aligned.index(places[0])
    return follows(pair.child.spans[child_at], pair.child) and not any(
        span.role == "user" for span in change.after[:1]
    )


def _message_left_out(change: Change, pair: Pair) -> bool:
    """Whether a whole message that followed another of the user's is gone, and an answer came."""
    at = change.before_index
    if (
        not 1 <= at <= len(pair.parent.spans)
        or change.before[0].message == pair.parent.spans[at - 1].message
    ):
        return False
    after_user = pair.parent.spans[at - 1].role in {"user", "tool"}
    child_at = change.after_index
    answered = child_at < len(pair.child.spans) and pair.child.spans[child_at].role == "assistant"
    return after_user and answered


def _moved_on(change: Change, pair: Pair) -> bool:
    """Whether what stood around the parent's newest question now stands around a later one."""
    if not change.after or not pair.child.spans:
        return False
    old, new = change.before[0].text, change.after[-1]
    newest = pair.child.spans[-1].message
    if new.role != "user" or new.message != newest:
        return False
    alike = old[-_ALIKE_CHARS:] == new.text[-_ALIKE_CHARS:]
    alike = alike or old[:_ALIKE_CHARS] == new.text[:_ALIKE_CHARS]
    return alike and newest > pair.parent.spans[-1].message
