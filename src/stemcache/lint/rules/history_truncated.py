"""Old messages were removed, or old results cut short, while later ones stayed.

## What it finds

Messages at the front of the history (or several in the midst of it) that are gone, with nothing
in their place, and texts of old messages that were cut to their beginning or replaced by a mark
such as `[truncated]`.

## Why it costs

All behind the first message that changed moves, so none of it can be read. A window that slides
by one turn each turn reads nothing but tools and system prompt, for good: it saves tokens and
costs more money, since what is left is paid in full.

## Example

```diff
  messages
- user: question 0
- assistant: answer 0
  user: question 1
  assistant: answer 1
```

## Use instead

Let the history grow until it has to shrink, then cut to about half of the limit, so that one
rewriting buys many turns that only append. Cut long results before they are sent for the first
time, at a fixed length. Where old results have to go, clear many at once.

## Limits

A text that the newest user message had and the replay lacks is `transient-suffix`. A summary in
the place of what is gone is `history-compacted`.

## References

- QwenLM/qwen-code#8452, QwenLM/qwen-code#8464: clearing at each turn, 5.43% read against 99.90%
- macanderson/stella#3690, yologdev/yoagent#99: old tool results aged in place
- openclaw/openclaw#95219, openclaw/openclaw#111085: a length of cut that jitters
- esengine/DeepSeek-Reasonix#8210: fewer tokens, ten times the money
- Anthropic, *Prompt caching*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.history import (
    cut_mark,
    in_last_user_message,
    leads_messages,
    neighbours,
    span_bytes,
    whole_messages,
)
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM301",
    name="history-truncated",
    kind="history-truncated",
    summary="Old messages were removed, or old results cut, while later ones stayed.",
    help=(
        "Keep the history append-only until it has to shrink, then cut far more than is needed (to"
        " half of the limit) and rarely, so that the cut is paid once in many turns; cut long tool"
        " results before they are first sent, always at the same length."
    ),
    page=__doc__ or "",
)

_CUT_CHARS = 32
"""A shorter piece that is missing is an edit."""


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims removed messages with nothing in their place, and texts that were cut short."""
    if change.section is not Section.MESSAGES:
        return None
    if change.kind is ChangeKind.REMOVED:
        return _removed(change, pair)
    if change.kind in {ChangeKind.EDITED, ChangeKind.REPLACED}:
        return _cut(change, pair)
    return None


def _removed(change: Change, pair: Pair) -> Cause | None:
    messages = whole_messages(change.before, pair.parent, change.before_index)
    first = leads_messages(pair.parent, change.before_index)
    if not messages or (not first and messages < 2):
        return None
    if any(other.kind is ChangeKind.INSERTED for other in neighbours(change, pair)):
        return None
    front = "the oldest message was" if messages == 1 else f"the oldest {messages} messages were"
    inner = f"{messages} messages in the history were"
    return content_cause(
        RULE,
        change,
        f"{front if first else inner} removed",
        "messages",
        old=f"{messages} messages, {span_bytes(change.before):,} chars",
        new="",
        fields=(("messages", str(messages)),),
    )


def _cut(change: Change, pair: Pair) -> Cause | None:
    if len(change.before) != 1 or len(change.after) != 1:
        return None
    old, new = change.before[0], change.after[0]
    if SpanKind.THINKING in {old.kind, new.kind}:
        return None
    shorter = len(new.text) < len(old.text)
    marked = _marked(change)
    prefix = len(old.text) - len(new.text) >= _CUT_CHARS and old.text.startswith(new.text)
    if not shorter or not (marked or (prefix and new.text)):
        return None
    if not marked and in_last_user_message(old, pair.parent):
        return None
    what = "a tool result" if old.kind is SpanKind.TOOL_RESULT else "a text"
    return content_cause(
        RULE,
        change,
        f"{what} was cut short {where(change)}",
        "text",
        old=f"text, {len(old.text):,} chars",
        new=f"text, {len(new.text):,} chars",
    )


def _marked(change: Change) -> bool:
    """Whether there is a mark of a cut, in words or as dots, in place of a longer text."""
    if cut_mark(change.new):
        return not cut_mark(change.old)
    # Windows are widened to whole words, so that some of the kept text may stand ahead of dots.
    kept = change.new.rstrip(" .…[]()\n")
    dots = change.new[len(kept) :]
    return (
        ("…" in dots or ".." in dots)
        and change.old.startswith(kept)
        and len(change.old) - len(change.new) >= _CUT_CHARS
    )
