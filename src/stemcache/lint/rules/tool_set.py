"""Tools were added or are missing.

## What it finds

A list of tools in which one side has names that the other has not.

## Why it costs

Tools are the first part of a prompt, so a tool more or less loses all behind the place where it
stands: with sorted lists the tools behind it, the system prompt and the whole history.

## Example

```diff
  tools
  get_order
+ get_weather
  search_docs
  system, messages …
```

## Use instead

Give a session one set of tools and send all of it on every turn. To keep the model from some, say
so with `tool_choice` or a list of allowed tools where the provider has one that does not key the
cache, or in the newest message. Load tools that come late through deferred loading or a search
tool. Wait for servers before the first request, and keep the definitions of one that is away for
a moment.

## Limits

Tools appended behind all others still lose system prompt and history, since these stand behind
the tools.

## References

- anthropics/claude-code#92033: 2,766 changes of the set, 224.4M tokens
- anthropics/claude-code#65917, openai/codex#37351, charmbracelet/crush#1271: tools that come late
- zeroclaw-labs/zeroclaw#10959: another set each turn, 6.7% read
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching: diagnostics*
"""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.divergence.names import tool_name
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM202",
    name="tool-set",
    kind="tool-set",
    summary="Tools were added or are missing.",
    help=(
        "Send the whole set on every turn and say in the newest message which of them to use"
        " (`tool_choice`, allowed tools); load late tools behind the shared part where the API can"
        " (deferred loading, tool search), and sort so that a server that flaps changes nothing."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims tools whose names one side does not have."""
    del pair
    if change.section is not Section.TOOLS:
        return None
    if change.kind in {ChangeKind.REORDERED, ChangeKind.KEY_ORDER, ChangeKind.EXTENDED}:
        return None
    old, new = set(map(tool_name, change.before)), set(map(tool_name, change.after))
    added, missing = len(new - old), len(old - new)
    if not added and not missing:
        return None
    message = " and ".join(
        f"{count} {'tool' if count == 1 else 'tools'} {verb}"
        for count, verb in (
            (added, "was added" if added == 1 else "were added"),
            (missing, "is missing" if missing == 1 else "are missing"),
        )
        if count
    )
    return content_cause(
        RULE,
        change,
        message,
        "",
        old=_count(len(change.before)),
        new=_count(len(change.after)),
        fields=(("added", str(added)), ("missing", str(missing))),
    )


def _count(tools: int) -> str:
    return f"{tools} tool{'s' if tools > 1 else ''}" if tools else ""
