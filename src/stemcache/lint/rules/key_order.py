"""The same values stand there with their keys in another order.

## What it finds

Objects with the same members in another order, in tools and their schemas or in structured
content, and lists of required names (`required`, `dependentRequired`) with the same names in
another order. Bodies are compared in the order of the bytes that were sent.

## Why it costs

Providers render tools and schemas as text in the order in which they came. Another order of keys
is another text: the cache ends at the first key that moved, although every JSON library says that
the two are equal.

## Example

```diff
  tools/get_order/input_schema
- {"type": "object", "properties": {"id": …, "lang": …}}
+ {"type": "object", "properties": {"lang": …, "id": …}}
```

## Use instead

Use maps that keep their order (or sort keys) from where a schema is made to where it is
serialised, and in every gateway between. Sort `required` too. Leave `enum` alone: there order is
a hint to the model.

## Limits

Silent where a log's keys are not in the order that was sent: logs out of databases and many
observability tools sort them. Order of keys around messages (`role` before `content`) is not
rendered and no finding.

## References

- maximhq/bifrost#2082: $15.80 to $1.65 with an ordered map
- github/copilot-sdk#1931, gnachman/iTerm2#687, ollama/ollama#18433: hash maps and dictionaries
- pydantic/logfire#1930: a server that flips the order on 6% of its calls
- Hmbown/Codewhale#2499, esengine/DeepSeek-Reasonix#2189: required names
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.json_order import same_but_order, span_json
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM204",
    name="key-order",
    kind="key-order",
    summary="The same values with keys, or a list of required names, in another order.",
    help=(
        "Build schemas and structured content with ordered maps, or sort keys (and `required`) once"
        " where they are serialised; leave `enum` as it is. Go maps, Swift dictionaries and Rust's"
        " HashMap give another order each time."
    ),
    page=__doc__ or "",
    needs_key_order=True,
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims what is equal once order inside of JSON objects is left out."""
    del pair
    spans = change.before + change.after
    if any(span.kind is SpanKind.TOOL_USE for span in spans):
        return None
    if change.kind is ChangeKind.KEY_ORDER:
        what = "required names" if change.pointer.endswith("equired") else "keys"
    elif _only_order(change):
        what = "required names" if change.section is Section.TOOLS else "keys"
    else:
        return None
    message = f"{what} stand in another order {where(change)}"
    return content_cause(RULE, change, message, what, old=what, new=f"{what} in another order")


def _only_order(change: Change) -> bool:
    """Whether a text that is JSON, or the required names of a tool, differ in order alone."""
    if change.kind is not ChangeKind.EDITED or len(change.before) != 1 or len(change.after) != 1:
        return False
    old, new = change.before[0], change.after[0]
    if change.section is Section.TOOLS:
        if "equired" not in change.pointer:  # required, dependentRequired
            return False
    elif len(old.text) != len(new.text):
        return False
    return same_but_order(span_json(old), span_json(new))
