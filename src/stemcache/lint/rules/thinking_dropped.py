"""Thinking that was sent before is missing or differs when its turn is replayed.

## What it finds

Thinking or reasoning blocks, or text between `<think>` tags, that the request before had and this
one has not at the same place, or the reverse.

## Why it costs

The block stood in an assistant's turn; without it all that follows that turn moves. Where each
turn drops the thinking of the turn before, reading stops at the first assistant's message for
good.

## Example

```diff
  messages/1 (assistant)
- thinking: …
  text: I will look at the order.
  user: …
```

## Use instead

Send thinking back as it came, signature included, for as long as its turn stays in the history.
If it is not to be sent, leave it out from the first replay on, and always. Some models drop old
thinking themselves and keep their cache; then send it all the same.

## Limits

What the provider leaves out by itself is not seen in a log of requests.

## References

- zeroclaw-labs/zeroclaw#10786: thinking dropped on replay, a break at the first assistant's turn
- Anthropic, *Extended thinking*
- OpenAI, *Reasoning models*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import SpanKind

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM304",
    name="thinking-dropped",
    kind="thinking-dropped",
    summary="Thinking that was sent before is missing or differs when the turn is replayed.",
    help=(
        "Send thinking and reasoning blocks back as they came, signatures included, for as long as"
        " the turn stays in the history; or never send them. Dropping them later rewrites every"
        " message behind."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims places where the parent has thinking that the child has not, or the reverse."""
    del pair
    old = any(span.kind is SpanKind.THINKING for span in change.before)
    new = any(span.kind is SpanKind.THINKING for span in change.after)
    if change.kind in {ChangeKind.REORDERED, ChangeKind.KEY_ORDER}:
        return None
    if old and not new and _only_thinking_gone(change):
        verb, detail = "is missing", "missing"
    elif new and not old and not change.before:
        verb, detail = "was added", "added"
    elif old and new and len(change.before) == len(change.after) == 1:
        verb, detail = "differs", "differs"
    elif _tags_gone(change):
        verb, detail = "is missing", "missing"
    else:
        return None
    message = f"thinking {verb} {where(change)}"
    return content_cause(RULE, change, message, detail)


def _only_thinking_gone(change: Change) -> bool:
    """Whether other spans than thinking are as many as before, so that no message went with it."""
    others = sum(span.kind is not SpanKind.THINKING for span in change.before)
    return others <= len(change.after)


def _tags_gone(change: Change) -> bool:
    """Whether a text lacks the thinking that it had between tags at its beginning."""
    if len(change.before) != 1 or len(change.after) != 1:
        return False
    old, new = change.before[0].text, change.after[0].text
    for tag in ("think", "thinking", "reasoning"):
        if old.startswith(f"<{tag}>") and not new.startswith(f"<{tag}>"):
            end = old.rfind(f"</{tag}>")
            return end >= 0 and old[end + len(tag) + 3 :].strip() == new.strip()
    return False
