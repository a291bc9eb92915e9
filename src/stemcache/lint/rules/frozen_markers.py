"""All markers are used up in the old part of a history that goes on growing.

## What it finds

As many markers as are allowed, all where they stood in the request before, while messages were
appended behind the last.

## Why it costs

The tail behind the last marker is never kept. It grows with each turn, and each turn pays for all
of it.

## Example

```text
[1] [2] [3] [4] ──────── tail, longer each turn, never kept
```

## Use instead

Set the moving markers anew on each turn: the end of the newest message and that of the one
before. What they leave behind stays readable for its time to live.

## Limits

Told from two requests that follow each other.

## References

- dhanji/g3#77, dhanji/g3#78: markers at results 10, 20 and 30, and a tail without one
- Anthropic, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM410",
    name="frozen-markers",
    kind="frozen-markers",
    summary="All markers are used up in the old part of a history that goes on growing.",
    help=(
        "Move markers instead of adding them: keep one or two behind what never changes, and "
        "set the others anew on each turn, at the end of the newest message and of the one "
        "before."
    ),
    page=__doc__ or "",
    needs_parameters=True,
)
