"""The same tools stand in another order.

## What it finds

All tools of the request before are there, but not in the same order.

## Why it costs

Tools are the first part of a prompt. Where their order changes, nothing behind the first that
moved can be read: neither the other tools, nor the system prompt, nor the history.

## Example

```diff
  tools
- search_docs, get_order, create_ticket
+ create_ticket, search_docs, get_order
```

## Use instead

Sort tools by name whenever the list is built, after every change of it: at start, when a server
reconnects, when one is reloaded. Do not send the order of a hash map, nor that in which servers
happened to answer.

## Limits

Only lists with the same tools are compared here; a list with others is `tool-set`, even if its
order changed as well.

## References

- openai/codex#2610: servers kept in a hash map, less than 1% read
- coder/aibridge#49: $0.58 to $0.17 once sorted
- can1357/oh-my-pi#890, librefang/librefang#3765: order after a reconnect or a reload
- maximhq/bifrost#2347, maximhq/bifrost#3362: 287 requests with 261 lists
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM201",
    name="tool-order",
    kind="tool-order",
    summary="The same tools in another order.",
    help=(
        "Sort tools by name every time the list is built, also after a server reconnects; never"
        " send them in the order of a hash map or of who answered first."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims tools that are all there, but not where they were."""
    if change.section is not Section.TOOLS or change.kind is not ChangeKind.REORDERED:
        return None
    count = sum(span.section is Section.TOOLS for span in pair.child.spans)
    message = f"{len(change.after)} of {count} tools stand in another order"
    return content_cause(RULE, change, message, "", old="order", new="another order")
