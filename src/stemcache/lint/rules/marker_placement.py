"""A marker stands where the next request cannot read from it.

## What it finds

Markers whose position the next request does not share, such as behind a question that differs
each time, or an end of shared text without a marker, where the provider keeps only what is
marked.

## Why it costs

An entry is read only as a whole, up to its marker. One that ends in text of its own is never
read, and is paid as a write each time; what both requests share in front of it was never kept
apart.

## Example

```text
system   …10,000 tokens…
user     question 1 [marker]          nothing ends where the system prompt ends
---
system   …10,000 tokens… [marker]
user     question 1
```

## Use instead

One marker at the end of what all requests share, one at the end of what a conversation shares,
moved along as it grows. On OpenAI from 5.6 add an explicit breakpoint at the end of the shared
part, since no shorter prefix is read than one that ended at a breakpoint.

## Limits

Judged from pairs of requests in the log: where no second request shares the prefix, placement
cannot be told right from wrong.

## References

- macanderson/stella#1837: 76% to 93%
- ax-llm/ax#573: pinned at 10,445 tokens over 17 turns
- openai/codex#35300, BerriAI/litellm#37628: no breakpoint, nothing read
- askalf/dario#683: a longer time to live made a wrong placement dearer
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM402",
    name="marker-placement",
    kind="marker-placement",
    summary="A marker stands where the next request cannot read from it.",
    help=(
        "Set a marker at the end of what is sent again, byte for byte ({pointer}), and none "
        "behind text that only this request has. In a conversation keep one behind the system "
        "prompt and move one to the end of the newest message."
    ),
    page=__doc__ or "",
    needs_parameters=True,
)
