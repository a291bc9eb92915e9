"""Requests that share a prefix were sent before the first had written it.

## What it finds

A request that began while the one that would have written its prefix was still running, and that
did not read it.

## Why it costs

A prefix can be read from when its writer's answer begins (on some providers: ends). A wave of ten
requests sent at once writes the same prefix ten times.

## Example

```text
09:00:00.0  request 1   write 50,000
09:00:00.1  request 2   write 50,000      request 1 had not answered yet
```

## Use instead

One first, the rest when its answer has begun. Or a request of one output token that only writes
the prefix, before the wave.

## Limits

Needs the times at which requests began, and answers began.

## References

- matt-house-e/accrue#116: the first wave of workers all write
- anthony-chaudhary/fak#718: how to warm a prefix
- bastani-inc/atomic#2493
- Anthropic, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM602",
    name="raced",
    kind="raced",
    summary="Requests that share a prefix were sent before the first had written it.",
    help=(
        "Send one request first, wait for the first byte of its answer (for its end where the "
        "provider writes only then), and send the others after that; or warm the prefix with "
        "a request of one output token."
    ),
    page=__doc__ or "",
    needs_times=True,
)
