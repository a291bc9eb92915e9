"""The system prompt differs in words.

## What it finds

A system prompt that is not the one of the request before, where what differs is no clock, no id,
no picture of the environment and no passage that varies: a reworded sentence, a paragraph more,
blocks in another order.

## Why it costs

Everything behind the difference is written anew, once for each conversation that is under way.
After a release this happens once; where two code paths build two prompts it goes on.

## Example

```diff
  system
  You are a support assistant.
- Answer in one paragraph.
+ Answer briefly.
  …
```

## Use instead

Release changes of a prompt at a quiet hour. Build the prompt once a session from constants. Where
modes need other sentences, put those behind the shared part, or into the newest user message.

## Limits

This rule takes what the others left, so it does not know why the prompt was edited. Compare the
two places: `stemcache explain` shows the characters.

## References

- openclaw/openclaw#19563: optional lines of the prompt that come and go
- yc-software/qm#971: parts appended to the system prompt at the start of a turn
- Anthropic, *Cache diagnostics*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM106",
    name="edited-prompt",
    kind="prompt-edited",
    summary="The system prompt differs in words that are no clock, id or context.",
    help=(
        "If a release changed the prompt, this is paid once. If two code paths send two prompts,"
        " make them one, or give the differing sentences a place behind the shared part. Build the"
        " system prompt from constants, once a session, and send the same string."
    ),
    page=__doc__ or "",
)

_SAYS = {
    ChangeKind.EDITED: "the text of the system prompt differs",
    ChangeKind.EXTENDED: "the system prompt goes on where it ended",
    ChangeKind.INSERTED: "the system prompt has a block more",
    ChangeKind.REMOVED: "the system prompt has a block less",
    ChangeKind.REORDERED: "the blocks of the system prompt stand in another order",
    ChangeKind.KEY_ORDER: "keys in the system prompt stand in another order",
    ChangeKind.REPLACED: "the system prompt is another one from here on",
}


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims whatever is left of the system prompt."""
    del pair
    if change.section is not Section.SYSTEM:
        return None
    return content_cause(RULE, change, _SAYS[change.kind], change.kind.value)
