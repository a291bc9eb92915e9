"""More blocks were added since the last marker than it looks back over.

## What it finds

A request whose marker stands further behind the parent's than the provider looks back: from a
marker it compares so many positions with what is stored (20 on Anthropic's API and on Bedrock)
and no more. On Anthropic's API a run of tool calls, or of their results, is one position; on
Bedrock each counts.

## Why it costs

What the parent wrote is there and equal, but is not found, so the whole prefix is written again:
everything between the last system marker and the new one.

## Example

```text
parent   … block 4 [marker]
child    … block 4   24 more blocks   block 28 [marker]     looks back to block 9
```

## Use instead

Set a marker on the way, within the window, when a turn adds many blocks; or join small blocks
into fewer. Two moving markers, one at the end of this turn and one at the end of the turn before,
keep within it in all but the longest turns.

## Limits

Whether runs are one position differs between platforms, and sources contest it for some; the rule
that was used is named in the finding.

## References

- redpanda-data/ai-sdk-go#205, brightwave-inc/tidebreak#1154, brightwave-inc/tidebreak#1270: wide
  fan-outs
- Anthropic, *Prompt caching*
- Amazon Bedrock, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM401",
    name="look-back",
    kind="look-back",
    summary="More blocks were added since the last marker than it looks back over.",
    help=(
        "Put a second marker on the way: no more than {look_back} blocks behind the last one "
        "that was written, for example at the end of each turn, and let both move on "
        "together."
    ),
    page=__doc__ or "",
    needs_parameters=True,
)
