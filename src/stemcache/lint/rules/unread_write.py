"""What is written at a surcharge is not read before it is gone.

## What it finds

Prefixes that are written at 1.25 to 2.5 times the input price and not read by any request of the
log within their time to live.

## Why it costs

A write costs more than plain input. One that is never read is a loss; a write for an hour costs
twice the input price and needs a read or two to pay.

## Example

```text
09:00  write 40,000 for 1h
10:20  write 40,000 for 1h       the first was never read
```

## Use instead

No marker on requests that stand alone. The shorter time to live where turns follow quickly, the
longer where they come after a pause. Bring requests that share a prefix together.

## Limits

Reads by callers whose requests are not in the log are not seen.

## References

- anthropics/claude-code#56307: 37% of writes for an hour are never read
- anthropics/claude-code#46829, anthropics/claude-code#58515: the time to live changed silently
- anima-research/connectome-host#97: keep-alive later than the time to live pays a write each time
- Anthropic, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM408",
    name="unread-write",
    kind="unread-write",
    summary="What is written at a surcharge is not read before it is gone.",
    help=(
        "Leave the marker out where no second request follows in time, choose `5m` instead of "
        "`1h` where the next comes within minutes (and `1h` where it does not), or send the "
        "requests that share a prefix nearer to each other."
    ),
    page=__doc__ or "",
    needs_times=True,
    needs_parameters=True,
)
