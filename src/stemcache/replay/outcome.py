"""What came of one request: when each part of it happened, and what the target said of it.

```
     due        sent   first byte  first token                  last token   end
──────┼──────────┼─────────┼───────────┼─────────┼─────────┼─────────┼────────┼──► s of the run
      └ lag ─────┘                     └── gap ──┴── gap ──┴── gap ──┘        │
      └──────────── TTFT ──────────────┘                                      │
      └──────────────────────────────── e2e ──────────────────────────────────┘
```
Times count from the moment at which the request was due, not from when it was sent: a request that
a full queue or a slow sender held back was late for its user all the same.
The end is the API's own last event (`[DONE]`, `message_stop`), or of the response where none came.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["UNFINISHED", "Outcome", "Usage"]

UNFINISHED = "unfinished"
"""Kind of "error" of requests that were given up because the run was ended."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the target counts them. None is unknown, and never taken for zero."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    written_tokens: int | None = None
    """Newly stored in the provider's cache, where that is billed and told."""
    output_tokens: int | None = None

    def merged(self, later: "Usage") -> "Usage":
        """What is known when a later event of the same answer is heard too."""
        return Usage(
            *(
                old if new is None else new
                for old, new in (
                    (self.prompt_tokens, later.prompt_tokens),
                    (self.cached_tokens, later.cached_tokens),
                    (self.written_tokens, later.written_tokens),
                    (self.output_tokens, later.output_tokens),
                )
            )
        )

    @property
    def impossible(self) -> bool:
        """Whether more of the prompt was cached, or written to the cache, than it has."""
        most = max(self.cached_tokens or 0, self.written_tokens or 0)
        return self.prompt_tokens is not None and most > self.prompt_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One request's times, in seconds since the start of the run, and its counts."""

    number: int
    """Position in the trace, from 0: what two runs are paired by."""
    tenant: str | None = None
    session: str | None = None
    asked_tokens: int
    """Length of the prompt as it was made; exact for token prompts, words for text."""
    due_s: float
    sent_s: float | None = None
    first_byte_s: float | None = None
    first_token_s: float | None = None
    last_token_s: float | None = None
    end_s: float
    gaps_s: Sequence[float] = ()
    """Between successive events that carry generated text."""
    status: int | None = None
    error: str | None = None
    """Kind of failure; None if the answer is whole."""
    detail: str | None = None
    """More about the failure; never text of a prompt, never a key."""
    usage: Usage = Usage()
    odd_usage: bool = False
    """Whether the target told counts that cannot be; of the prompt none is known then."""
    retried: bool = False
    """Whether a connection that had been kept open turned out to be closed."""
    held: bool = False
    """Whether the cap on requests in flight made it wait."""

    @property
    def held_text(self) -> bool:
        """Whether any generated text came. A whole answer without it has no first token."""
        return self.first_token_s is not None

    @property
    def ttft_s(self) -> float | None:
        """From due to first token; None where no text came."""
        return None if self.first_token_s is None else self.first_token_s - self.due_s

    @property
    def e2e_s(self) -> float | None:
        """From due to the end of a whole answer."""
        return self.end_s - self.due_s if self.error is None else None

    @property
    def lag_s(self) -> float | None:
        """From due to sent: the share of the latency that is the sender's."""
        return None if self.sent_s is None else self.sent_s - self.due_s

    @property
    def tpot_s(self) -> float | None:
        """Mean time of an output token after the first; None for fewer than two tokens."""
        tokens = self.usage.output_tokens
        if self.first_token_s is None or self.last_token_s is None or not tokens or tokens < 2:
            return None
        return (self.last_token_s - self.first_token_s) / (tokens - 1)

    @property
    def cached_share(self) -> float | None:
        """Cached over prompt tokens; None if either is unknown."""
        prompt, cached = self.usage.prompt_tokens, self.usage.cached_tokens
        return None if cached is None or not prompt else cached / prompt
