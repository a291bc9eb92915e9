"""A parameter changed that is part of the cache's key.

## What it finds

Model, thinking, effort, tool choice, output format, service tier and others, where the provider's
rule says that a change of it drops the cache from some section on, and the request before had
another value.

## Why it costs

The text is equal and is not read: under the other value it is another cache. Which sections are
lost differs: on Anthropic's API the model drops all, `tool_choice` the messages.

## Example

```diff
- "tool_choice": {"type": "auto"}
+ "tool_choice": {"type": "any"}
```

## Use instead

Fix such parameters for a conversation. To force one answer, say it in the newest message.
Sub-agents that are to read their parent's prefix take its model, effort and tools.

## Limits

Only parameters that the provider's documents or its diagnostics name are known. Parameters such
as temperature are no part of any key and no finding.

## References

- rian-dolphin/tau-subagents#7: another effort than the parent's
- nicobailon/pi-subagents#1682
- weave-os/router#275: another model after a failure
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM501",
    name="parameter",
    kind="parameter",
    summary="A parameter changed that is part of the cache's key.",
    help=(
        "Keep {parameter} as it is for the whole conversation: under {rule} all from "
        "{section} on is kept apart by its value. Decide it before the first request; where "
        "two values are needed, expect two caches, and switch seldom."
    ),
    page=__doc__ or "",
    needs_parameters=True,
)
