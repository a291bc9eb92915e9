"""A tool's description or schema differs.

## What it finds

A tool of the same name whose text is not the one of the request before: its description, its
schema, a list of allowed values.

## Why it costs

Tools are the first part of a prompt: all behind the difference is lost, system prompt and history
included.

## Example

```diff
  tools/bash/description
- Runs a command. Working directory: /work/a
+ Runs a command. Working directory: /work/b
```

## Use instead

Write descriptions as constants. What a tool has to know of the moment belongs in the newest user
message or in the tool's result; a list of values that changes (users, tables, agents) belongs
behind a tool that returns it.

## Limits

Where what differs is a clock or an id, the finding is that one. Order of keys alone is
`key-order`.

## References

- anthropics/claude-code#87137: a session's address in a description
- openclaw/openclaw#58037, langchain-ai/deepagents#2497: definitions that are built anew
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM203",
    name="tool-definition",
    kind="tool-changed",
    summary="A tool's description or schema differs.",
    help=(
        "Keep descriptions and schemas constant for a session; what a tool has to know of the"
        " moment (paths, lists of values, dates, who is signed in) goes to the newest user message"
        " or into the tool's result."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims whatever is left of the tools."""
    del pair
    if change.section is not Section.TOOLS:
        return None
    end = change.pointer.rsplit("/", 1)[-1]
    part = "description" if end == "description" else "schema" if _in_schema(change) else ""
    message = f"a tool's {part} differs" if part else "a tool's definition differs"
    return content_cause(RULE, change, message, part)


def _in_schema(change: Change) -> bool:
    parts = change.pointer.split("/")
    return any(name in parts for name in ("input_schema", "parameters", "inputSchema", "schema"))
