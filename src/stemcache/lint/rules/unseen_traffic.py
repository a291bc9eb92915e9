"""More was read than this log could have left.

## What it finds

Requests that read more tokens than all earlier requests of the log can explain: others with the
same credential sent the same prefix.

## Why it costs

It costs nothing. But predictions are too low where it is common, and a loss that others made good
is not seen.

## Example

```text
predicted   read 0            first request of this log
reported    read 12,000       somebody else wrote it
```

## Use instead

Record all callers of a credential in one log, or one log a credential.

## Limits

Needs usage.

## References

- anthropics/claude-code#94177
- Anthropic, *Prompt caching*
"""

from stemcache.lint.finding import Severity
from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM703",
    name="unseen-traffic",
    kind="unseen-traffic",
    summary="More was read than this log could have left: other requests share the prefix.",
    help=(
        "Nothing to mend. Record the other callers of this credential too, so that their "
        "writes are known and predictions hold."
    ),
    page=__doc__ or "",
    needs_usage=True,
    worst=Severity.NOTE,
)
