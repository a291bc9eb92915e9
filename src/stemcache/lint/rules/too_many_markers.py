"""A request has more markers than the API takes.

## What it finds

More markers than the provider allows in one request (four on Anthropic's API), those of tools,
system prompt and messages together, and the automatic one with them.

## Why it costs

The API answers with a 400, and the conversation cannot go on until markers are dropped.

## Example

```text
tools [1]  system [2]  result [3]  result [4]  result [5]     Found 5, 4 are allowed
```

## Use instead

Count markers on the wire, after everything that adds some. A helper stands down where the caller
has placed any. One marker meant for a turn with parallel results goes to the last result only.

## Limits

Requests that the log says succeeded were counted by the provider in another way; they are found
all the same.

## References

- BerriAI/litellm#30480, BerriAI/litellm#33886, router-for-me/CLIProxyAPI#339
- oguzbilgic/kern-ai#316: one marker that became one for each parallel result
- continuedev/continue#6937, vellum-ai/vellum-assistant#23693, strands-agents/harness-sdk#3571
- Anthropic, *Prompt caching*
"""

from stemcache.lint.finding import Severity
from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM404",
    name="too-many-markers",
    kind="too-many-markers",
    summary="More markers than the API takes.",
    help=(
        "Keep at most {most_markers}: count them on the wire, where a helper or a gateway may "
        "have added its own, and drop the oldest of those in the history first."
    ),
    page=__doc__ or "",
    worst=Severity.ERROR,
    needs_parameters=True,
)
