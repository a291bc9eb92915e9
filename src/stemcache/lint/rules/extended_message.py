"""A message goes on where it ended before, on a provider that reads at ends of messages.

## What it finds

A message that begins as its parent's and is longer, where the provider reads only at ends of
messages and breakpoints (OpenAI from 5.6).

## Why it costs

What was kept ended with the message. That end is now in the middle of one, where nothing is
looked for, so reading falls back to the breakpoint before.

## Example

```diff
  messages/4 (user)
- Here are the files: a, b
+ Here are the files: a, b, c
```

## Use instead

Append messages instead of making one longer, or give the old part a block of its own with an
explicit breakpoint at its end.

## Limits

On providers that compare prefixes token by token this costs nothing, and is no finding.

## References

- microsoft/agent-framework#7157, coder/mux#3712
- OpenAI, *Prompt caching*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM409",
    name="extended-message",
    kind="extended-message",
    summary=(
        "A message goes on where it ended before, on a provider that reads at ends of messages."
    ),
    help=(
        "Append a message of its own, or a block with a breakpoint behind the old one, "
        "instead of making the last message longer: the provider reads only where a message "
        "or a marked block ended."
    ),
    page=__doc__ or "",
    needs_parameters=True,
)
