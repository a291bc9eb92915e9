"""What came back: one form for the usage of every provider.

```
anthropic   input 100 (excludes) + written 4,000 + read 20,000     ──►  prompt 24,100
openai      input 24,100 (includes), cached 20,000, written 4,000  ──►  prompt 24,100
```
`prompt = read + written + plain`. A figure that was not reported is None, and stays None through
every sum that needs it: unknown is not zero.
"""

from dataclasses import dataclass

__all__ = ["Usage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call as billed."""

    prompt_tokens: int | None
    """All of the prompt, however billed."""
    read_tokens: int | None
    """Of those, read from the cache."""
    written_tokens: int | None = None
    """Of those, written to the cache at a price of their own; 0 where the provider has no such
    thing, None where it has and did not say."""
    written_by_ttl: tuple[tuple[str, int], ...] = ()
    """How `written_tokens` divides, where reported, by the name of the TTL."""
    output_tokens: int | None = None
    odd: tuple[str, ...] = ()
    """What cannot be right about it, a sentence each: more read than sent, sums that differ."""
