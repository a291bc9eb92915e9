"""Usage figures that cannot be right, or that are easily added up wrongly.

## What it finds

Usage in which more tokens were read than sent, parts that do not add up to their sum, final
figures of a stream that are lower than earlier ones, or fields of two providers at once.

## Why it costs

Some providers count cached tokens as part of the input figure, some beside it. Taken the wrong
way, money is off by a factor of up to twenty in either direction, and a hit rate says anything.

## Example

```json
{"usage": {"prompt_tokens": 1200, "prompt_tokens_details": {"cached_tokens": 4800}}}
```

## Use instead

Read usage with one function a provider that says what each field includes; take the last figures
of a stream; count a response id once, however often it was logged.

## Limits

A figure that is missing is unknown, not zero, and no finding.

## References

- earendil-works/pi#2148, BerriAI/litellm#9812, langfuse/langfuse#10592, dust-tt/dust#20989: too
  much
- gi-dellav/zerostack#172, genkit-ai/genkit#5412, livekit/agents#6663: too little
- vercel/ai#2845, github/copilot-sdk#1160: not read at all
"""

from stemcache.lint.finding import Severity
from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM701",
    name="accounting",
    kind="accounting",
    summary="Usage figures that cannot be right, or that are easily added up wrongly.",
    help=(
        "Mend the reader of usage before you trust the money: say once for each provider "
        "whether cached tokens are part of the input figure, take the final usage of a "
        "stream, and count each response id once."
    ),
    page=__doc__ or "",
    needs_bodies=False,
    needs_usage=True,
    worst=Severity.NOTE,
)
