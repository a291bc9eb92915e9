"""Markers were sent, but usage shows that they did nothing.

## What it finds

Requests with markers above the minimum whose usage has neither a write nor a read, time after
time.

## Why it costs

Somewhere behind the recorder the marker is lost: a gateway translates the body and leaves it out,
or the route does not know caching. Every request pays in full.

## Example

```json
{"usage": {"input_tokens": 48210, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}
```

## Use instead

Look at the body that leaves the last hop. Name the model as that hop expects (an alias or a
profile's address may not be known to cache), update the adapter, or call the provider directly.

## Limits

Needs usage, and a log that keeps markers.

## References

- BerriAI/litellm#12695, BerriAI/litellm#18219, pydantic/pydantic-ai#4381
- strands-agents/harness-sdk#1404, anthropics/anthropic-sdk-csharp#241, vercel/ai#11077
- johnnichev/selectools#57
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM407",
    name="marker-dropped",
    kind="marker-dropped",
    summary="Markers were sent, but usage shows that they did nothing.",
    help=(
        "Look at what leaves the last hop: a gateway, a library or a model's adapter may drop "
        "markers or not know them for this model. Compare a direct call; a usage with neither "
        "writes nor reads above the minimum is the sign."
    ),
    page=__doc__ or "",
    needs_usage=True,
    needs_parameters=True,
)
