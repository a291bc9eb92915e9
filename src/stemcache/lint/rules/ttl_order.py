"""A marker that lasts longer stands behind one that lasts less.

## What it finds

A marker with a longer time to live after one with a shorter, in the provider's order of tools,
system prompt and messages.

## Why it costs

The API answers with a 400.

## Example

```text
system   … [5m]
user     … [1h]          refused: 1h must stand before 5m
```

## Use instead

What changes least stands first and lasts longest. Use one time to live where that is enough.

## Limits

Markers without a time to live have the provider's default, which counts like one that is written.

## References

- Portkey-AI/gateway#1191, Portkey-AI/gateway#1762: a nested marker whose time to live was lost
- Anthropic, *Prompt caching*
- Amazon Bedrock, *Prompt caching*
"""

from stemcache.lint.finding import Severity
from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM405",
    name="ttl-order",
    kind="ttl-order",
    summary="A marker that lasts longer stands behind one that lasts less.",
    help=(
        "Give the longer time to live to what stands first: tools and system prompt `1h`, "
        "then the history `5m`; or use one time to live for all."
    ),
    page=__doc__ or "",
    worst=Severity.ERROR,
    needs_parameters=True,
)
