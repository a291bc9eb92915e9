"""What is marked or shared is shorter than the least that the provider keeps.

## What it finds

Marked or shared prefixes with fewer tokens than the provider's minimum for that model: 512 to
4,096, by model and platform.

## Why it costs

The provider says nothing and keeps nothing. The marker costs no money, but neither does it save
any.

## Example

```text
system   900 tokens [marker]          minimum of the model: 4,096
```

## Use instead

Let the marker stand behind more: tools, examples, the corpus, or the history once it has grown.
If prompts are that short, caching gains little; leave the marker out.

## Limits

Tokens are estimated where usage does not give them, so what is near the minimum may be on either
side. Some minimums are contested between sources.

## References

- aws/aws-sdk-ruby#3396: 4,096 for one model
- bug-ops/zeph#1083, BerriAI/litellm-docs#49, elgorro/aiquila#415
- Anthropic, *Prompt caching*
- OpenAI, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE", "advice"]

RULE = LintRule(
    code="STM406",
    name="below-minimum",
    kind="below-minimum",
    summary="What is marked or shared is shorter than the least that is kept.",
    help=(
        "The provider keeps nothing below {minimum} tokens for this model, and does not say so. "
        "{advice}."
    ),
    page=__doc__ or "",
)

_MARKED = (
    "Put more of what is shared in front of the marker (tools, examples, the corpus), mark further "
    "on, or leave the marker out, since it does nothing"
)
_UNMARKED = (
    "Put more of what requests share at the front (tools, examples, the corpus), so that it is long"
    " enough, or let it be: what is that short costs little to read anew"
)


def advice(*, markers: bool) -> str:
    """What to change, for a provider with markers or without, as a sentence without its stop."""
    return _MARKED if markers else _UNMARKED
