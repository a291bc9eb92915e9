"""The pause was longer than the cache is kept.

## What it finds

A request whose prefix was written or last read longer ago than its time to live, by the times of
the log, and that the provider did not read.

## Why it costs

The prefix is written anew at the price of a write. A pause of six minutes after a turn of 200,000
tokens costs the same as sending them for the first time.

## Example

```text
09:00:00  read 180,000      kept for 5m
09:07:12  write 180,000
```

## Use instead

A longer time to live for sessions with people in them; short and many requests need none. A ping
before the end keeps a prefix at the price of a read: worth it for as long as a few pings cost
less than one write.

## Limits

Needs times. Where a provider gives a range, the finding is made above its upper end only.

## References

- rossoctl/context-guru#86: 3.7% of requests, 23.6% of the money; rossoctl/context-guru#100: pings
- diegopetrucci/the-last-harness#642: 40% of $256.55 after pauses
- anthropics/claude-code#94177: how often a pause breaks, by length
- SWE-agent/SWE-agent#1509
- Anthropic, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM601",
    name="expired",
    kind="expired",
    summary="The pause was longer than the cache is kept.",
    help=(
        "Choose the longer time to live where pauses of this length are common and the prefix "
        "is large, or send a small request just before it runs out while somebody is likely "
        "to come back. Keeping it alive for longer than one new write costs does not pay."
    ),
    page=__doc__ or "",
    needs_times=True,
)
