"""Many messages were replaced by a summary of them.

## What it finds

A run of three messages or more that is gone, with fewer and shorter ones in its place: less than
half as long together.

## Why it costs

The prefix ends where the summary begins, so the summary and all that was kept is written anew.
That is the price of a smaller prompt and pays back over the turns that follow; done often, it
never does.

## Example

```diff
  messages
- user: question 0
- assistant: answer 0      … 38 more
+ user: Summary of the conversation so far: …
  user: question 20
```

## Use instead

Compact late, by much and rarely, with one trigger. Ask for the summary in the conversation itself
(same tools, system prompt and messages, the request for it last), so that making it reads from
the cache. Keep the system prompt and tools as they are.

## Limits

Whether compaction was worth it depends on the turns that follow; the tokens said here are what it
cost at once.

## References

- NousResearch/hermes-agent#68085, tetsuo-ai/agenc-core#2156: compressors that touch old turns
- esengine/DeepSeek-Reasonix#8210: a second trigger at 0.6
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.history import neighbours, span_bytes, summary_mark, whole_messages
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM303",
    name="history-compacted",
    kind="compaction",
    summary="Many messages were replaced by a summary of them.",
    help=(
        "Compaction pays for itself only when it is rare: start late, shrink to well under half,"
        " and use one trigger only. Make the summary with the same prefix as the conversation (same"
        " tools, system prompt and history, the request for a summary last), so that it is read"
        " from the cache."
    ),
    page=__doc__ or "",
)

_LEAST_MESSAGES = 3
_NOT = frozenset({ChangeKind.REORDERED, ChangeKind.KEY_ORDER, ChangeKind.EXTENDED})


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims a run of messages that became fewer and shorter ones."""
    if change.section is not Section.MESSAGES or change.kind in _NOT:
        return None
    parts = (change, *neighbours(change, pair))
    gone = sum(whole_messages(part.before, pair.parent, part.before_index) for part in parts)
    old = sum(span_bytes(part.before) for part in parts)
    new = sum(span_bytes(part.after) for part in parts)
    fresh = [span for part in parts for span in part.after]
    come = sum(span.ends_message for span in fresh)
    if gone < _LEAST_MESSAGES or not come or come >= gone or new * 2 > old:
        return None
    told = any(summary_mark(span.text) for span in fresh[:3])
    if change.kind is ChangeKind.REPLACED and not told:
        return None
    return content_cause(
        RULE,
        change,
        f"{gone} messages were replaced by {come}, {_share(new, old)} as long",
        "messages",
        old=f"{gone} messages, {old:,} chars",
        new=f"{come} message{'s' if come > 1 else ''}, {new:,} chars",
        fields=(("messages", str(gone)),),
    )


def _share(new: int, old: int) -> str:
    percent = round(100 * new / max(1, old))
    return f"{percent}%" if percent else "under 1%"
