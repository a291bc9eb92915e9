"""What the engine is asked, and what it answers. Token ids only: text is a floor above."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from stemcache.errors import RequestError

__all__ = ["FinishReason", "GenerationRequest", "Progress", "Sampling", "TokenLogprobs", "Usage"]


class FinishReason(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    """A stop token was sampled."""
    LENGTH = "length"
    """`max_tokens` or the context was reached."""
    CANCELLED = "cancelled"
    """The caller cancelled it."""
    ERROR = "error"
    """A step failed."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen from logits. `temperature` 0 is greedy."""

    temperature: float = 1.0
    top_p: float = 1.0
    """Keep the smallest set of tokens whose probability reaches this, in (0, 1]."""
    top_k: int = 0
    """Keep this many most probable tokens; 0 keeps all."""
    seed: int | None = None
    """Same seed, same prompt, same model: same tokens, whatever else runs. None draws one."""
    logprobs: int | None = None
    """Report the chosen token's log-probability and this many alternatives (0 to 20)."""

    def __post_init__(self) -> None:
        """Refuse values outside their range, naming the field."""
        # `not (a <= x)` rather than `x < a`: NaN must be refused too.
        if not 0.0 <= self.temperature <= 2.0:
            raise RequestError(
                f"temperature is {self.temperature}; use a number from 0 to 2", param="temperature"
            )
        if not 0.0 < self.top_p <= 1.0:
            raise RequestError(
                f"top_p is {self.top_p}; use a number above 0 and up to 1", param="top_p"
            )
        if self.top_k < 0:
            raise RequestError(f"top_k is {self.top_k}; use 0 (all) or more", param="top_k")
        if self.logprobs is not None and not 0 <= self.logprobs <= 20:
            raise RequestError(
                f"{self.logprobs} alternatives were asked for; use 0 to 20", param="top_logprobs"
            )
        if self.seed is not None and not -(2**63) <= self.seed < 2**63:
            raise RequestError("seed does not fit 64 bits; use a smaller one", param="seed")


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt to continue."""

    request_id: str
    """Unique among the engine's live requests."""
    prompt: npt.NDArray[np.int32]
    """Shape (n,), n >= 1."""
    max_tokens: int
    """At least 1."""
    sampling: Sampling = field(default_factory=Sampling)
    stop_tokens: frozenset[int] = frozenset()
    """End the answer, beside the model's own."""
    ignore_model_stop: bool = False
    """Go on to `max_tokens` whatever the model says (for benchmarks)."""
    salt: str | None = None
    """Tenant salt: part of the namespace."""
    priority: int = 0
    """Higher is kept longer, where the eviction policy looks at it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Where a request's tokens came from: `prompt = cached + computed`, counted at admission."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    recomputed_tokens: int
    """Computed a second time after a preemption; neither cached nor computed."""


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Natural logarithms of probabilities under the untempered model, before top_p and top_k."""

    chosen: float
    top: tuple[tuple[int, float], ...]
    """(token id, log-probability), most probable first."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What one step brought one request."""

    request_id: str
    tokens: tuple[int, ...]
    """Chosen in this step; a stop token that ended the answer is not among them."""
    logprobs: tuple[TokenLogprobs, ...]
    """One per token if asked for, else empty."""
    usage: Usage
    finish: FinishReason | None
    """Set on the last message of a request, and only there."""
    error: str | None = None
    """What went wrong, when `finish` is ERROR."""
