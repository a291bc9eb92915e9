"""A tool call is replayed with its arguments in another order.

## What it finds

A call that the model made, sent back in the history with the same arguments in another order of
keys or another spelling of the JSON.

## Why it costs

The call is part of the history. What the provider kept is the text that the model wrote; the
replayed one differs, so all that follows the first call is computed again, on every turn.

## Example

```diff
  assistant, call of get_order
- {"order": "A-17", "lang": "de"}
+ {"lang":"de","order":"A-17"}
```

## Use instead

Keep arguments as the string that came, and send that string back. Where an API gives them as an
object, keep its order through every store between: many databases and `sort_keys` do not.

## Limits

Silent where a log's keys are not in the order that was sent. Providers that take arguments as an
object may render white space their own way; there only order counts.

## References

- OpenRouterTeam/ai-sdk-provider#472: arguments serialised anew on replay
- maximhq/bifrost#6591, maximhq/bifrost#6615
- OpenAI, *Prompt caching*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.json_order import same_but_order, span_json
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import SpanKind

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM205",
    name="argument-order",
    kind="argument-order",
    summary="A tool call's arguments replayed in another order or spelling.",
    help=(
        "Store a tool call's arguments as the string that came and send that string back; where"
        " they have to be parsed, keep them in an ordered map and never serialise with sorted keys"
        " what did not come sorted."
    ),
    page=__doc__ or "",
    needs_key_order=True,
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims calls of tools that say the same in another order."""
    del pair
    spans = change.before + change.after
    if not spans or any(span.kind is not SpanKind.TOOL_USE for span in spans):
        return None
    if change.kind is not ChangeKind.KEY_ORDER:
        if len(change.before) != 1 or len(change.after) != 1:
            return None
        if not same_but_order(span_json(change.before[0]), span_json(change.after[0])):
            return None
    return content_cause(
        RULE,
        change,
        f"a tool call's arguments stand in another order {where(change)}",
        "",
        old="arguments",
        new="arguments in another order",
    )
