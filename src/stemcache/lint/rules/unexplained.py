"""The provider read less than its rule says, and the log does not say why.

## What it finds

What is left between predicted and reported reads once times, overlaps, hosts and keys were looked
at. Where the provider's own diagnostics came with the response, what they say is shown.

## Why it costs

It costs what it says. It is not guessed at: eviction before its time, another server, a fault of
the provider or a rule that changed all look alike from outside.

## Example

```text
predicted   read 48,000
reported    read 0            nothing in the log differs
```

## Use instead

Turn on the provider's diagnostics and record them. If it is a large share, compare days: an
outage passes, a changed rule stays. Self-hosted engines say more in their own metrics.

## Limits

Needs usage. Small differences are the estimate's, and are counted as rounding.

## References

- deepseek-ai/DeepSeek-V3#1261: 92% to 35% on the provider's side
- googleapis/python-genai#2064: a range of lengths that is not read
- anthropics/claude-code#94177: 9% gone before their time
- Anthropic, *Cache diagnostics*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM702",
    name="unexplained",
    kind="unexplained",
    summary="The provider read less than its rule says, and the log does not say why.",
    help=(
        "Nothing in the requests explains this. Turn on the provider's own diagnostics, "
        "record host and headers, and compare with its status page; early eviction and busy "
        "servers look like this."
    ),
    page=__doc__ or "",
    needs_usage=True,
)
