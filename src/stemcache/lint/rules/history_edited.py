"""An old message was changed in place.

## What it finds

A message that both requests have but that is not the same: another word, another letter's case, a
result that was replaced, a block that was added or moved. This rule takes what no other explains.

## Why it costs

All behind the first character that differs is computed again. In a long conversation an edit of
the first message costs the whole history.

## Example

```diff
  messages/0 (user)
- question 0: …
+ Question 0: …
```

## Use instead

Send old messages as they were sent the first time: store requests rather than records from which
messages are rendered anew. Corrections, annotations, results that came late: a message of their
own at the end.

## Limits

Someone who edits a message and sends it again means to do so; that is rare and cheap, and shows
as few occurrences.

## References

- tetsuo-ai/agenc-core#2147, NousResearch/hermes-agent#7988, dshakes/distil#172: old turns
  rewritten
- jjuraszek/pi-condense#3: on 57% of turns
- multica-ai/multica#6008: 76% of the money for writes
- Anthropic, *Cache diagnostics*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import SpanKind

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM302",
    name="history-edited",
    kind="history-edited",
    summary="An old message was changed in place.",
    help=(
        "Send old messages as they were sent the first time. Store the request rather than a record"
        " from which messages are rendered anew; put corrections, annotations and results that came"
        " late into a message of their own at the end."
    ),
    page=__doc__ or "",
)

_NAMES = {
    SpanKind.TOOL_RESULT: "a tool result",
    SpanKind.TOOL_USE: "a tool call",
    SpanKind.IMAGE: "an image",
    SpanKind.DOCUMENT: "a document",
    SpanKind.THINKING: "thinking",
}
_VERBS = {
    ChangeKind.EDITED: "was edited",
    ChangeKind.EXTENDED: "goes on where it ended",
    ChangeKind.INSERTED: "was added",
    ChangeKind.REMOVED: "was removed",
    ChangeKind.REORDERED: "stands in another place",
    ChangeKind.KEY_ORDER: "has its keys in another order",
    ChangeKind.REPLACED: "is another from here on",
}


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims whatever is left; never None."""
    del pair
    span = next(iter(change.after or change.before), None)
    what = _NAMES.get(span.kind, "text") if span is not None else "text"
    message = f"{what} {_VERBS[change.kind]} {where(change)}"
    return content_cause(RULE, change, message, change.kind.value)
