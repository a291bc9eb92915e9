"""Nothing is marked on a provider that keeps only what is marked.

## What it finds

Requests that share a prefix above the minimum and carry no marker at all, where the provider
writes only at markers.

## Why it costs

Nothing is kept and nothing read: every request pays the full input price for all that it shares
with the one before.

## Example

```json
{"system": [{"type": "text", "text": "…10,000 tokens…"}], "messages": […]}
```

## Use instead

Add a marker to the last block of the system prompt and one to the end of the newest message, or
the provider's automatic marker. Check that it survives the libraries and gateways between.

## Limits

Silent where a log does not keep parameters and markers, as transcripts do not. Providers that
cache without markers are not meant.

## References

- aaif-goose/goose#8921, pydantic/pydantic-ai#9404, spring-projects/spring-ai#6261: lost on tool
  turns
- GEMISIS/leviath#351
- Anthropic, *Prompt caching*
- Amazon Bedrock, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM403",
    name="no-marker",
    kind="no-marker",
    summary="Nothing is marked on a provider that keeps only what is marked.",
    help=(
        "Mark the end of what is sent again ({pointer}): one marker behind tools and system "
        "prompt, one at the end of the newest message, or the provider's automatic marker on "
        "the request."
    ),
    page=__doc__ or "",
    needs_parameters=True,
)
