"""The prefix was written at another server, host or key.

## What it finds

A request that should have been read by the rule and was not, where host, routing key or the
header that chooses a server is another than in the request that wrote the prefix.

## Why it costs

A cache lives on the server that wrote it. Another region, another key, another server behind a
balancer: another cache, which starts empty.

## Example

```diff
- "prompt_cache_key": "conversation-17"
+ "prompt_cache_key": "3f1c0f8e-…"      new with every request
```

## Use instead

One key a conversation, or one a shared prefix where many conversations share it and traffic stays
below what one server takes. Keep it through gateways, retries and forks.

## Limits

Said only where the log shows another host or key. Which server answered is not known to the
caller; what a balancer does is `unexplained`.

## References

- vectorize-io/hindsight#3271: 0.085% to 99.4%
- openclaw/openclaw#68079: 52% to 96%
- weave-os/router#275, diegosouzapw/OmniRoute#1643, BerriAI/litellm#42012
- openai/codex#24704: a fork without its parent's key
- OpenAI, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM603",
    name="routed",
    kind="routed",
    summary="The prefix was written at another server, host or key.",
    help=(
        "Give all requests of a conversation the same host and routing key (or session "
        "header), derived from the prefix or the conversation and not from the request; do "
        "not switch hosts within a conversation unless one is down."
    ),
    page=__doc__ or "",
)
