"""A block goes on where it ended before, on a provider that reads at ends of blocks only.

## What it finds

A block that begins as its parent's and is longer, where the provider reads only where a marker or
a block ends (Anthropic, on any platform, Bedrock, Qwen and MiniMax with markers), or only at ends
of messages and breakpoints (OpenAI from 5.6).

## Why it costs

What was kept ended with the block. That end is now in the middle of one, where nothing is looked
for, so reading falls back to the marker or breakpoint before.

## Example

```diff
  messages/4 (user)
- Here are the files: a, b
+ Here are the files: a, b, c
```

## Use instead

Append a block or a message instead of making one longer: what is old then ends where it ended.
On OpenAI from 5.6 give the old part a block of its own with an explicit breakpoint at its end.

## Limits

On providers that compare prefixes token by token this costs nothing, and is no finding.

## References

- microsoft/agent-framework#7157, coder/mux#3712
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM409",
    name="extended-message",
    kind="extended-message",
    summary="A block goes on where it ended before, on a provider that reads at ends of blocks.",
    help=(
        "Append a block or a message of its own instead of making the old one longer: the provider "
        "reads only where a block, a message or a marker ended, and this end is now inside one."
    ),
    page=__doc__ or "",
    needs_parameters=True,
)
