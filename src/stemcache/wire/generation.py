"""The fields that chat completions and completions share, decoded and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from stemcache.errors import RequestError
from stemcache.wire.body import show

__all__ = ["HARMLESS", "IMPLEMENTED", "NEUTRAL", "Generation", "GenerationBody", "generation"]

_MAX_CHOICES = 128
_MAX_STOPS = 16
_MAX_STOP_CHARS = 1024

IMPLEMENTED = frozenset(
    {
        "cache_salt",
        "ignore_eos",
        "max_tokens",
        "model",
        "n",
        "priority",
        "seed",
        "stop",
        "stop_token_ids",
        "stream",
        "stream_options",
        "temperature",
        "top_k",
        "top_p",
    }
)

HARMLESS = frozenset({"user"})

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "frequency_penalty": (0,),
    "include_stop_str_in_output": (False,),
    "length_penalty": (1,),
    "logit_bias": ({},),
    "min_p": (0,),
    "min_tokens": (0,),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "skip_special_tokens": (True,),
    "use_beam_search": (False,),
}


class StreamOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """OpenAI's `stream_options`."""

    include_usage: bool = False
    include_obfuscation: bool = False


class GenerationBody(msgspec.Struct, frozen=True, kw_only=True):
    """The shared fields as they stand in a body, types checked, ranges not."""

    model: str
    n: int = 1
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    stop: str | list[str] = []
    stop_token_ids: list[int] = []
    max_tokens: int | None = None
    cache_salt: str | None = None
    priority: int = 0
    ignore_eos: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """How to continue a prompt. The ranges of temperature, top_p, top_k are the engine's."""

    model: str
    n: int
    stream: bool
    include_usage: bool
    temperature: float
    top_p: float
    top_k: int
    seed: int | None
    stop: tuple[str, ...]
    stop_token_ids: frozenset[int]
    max_tokens: int | None
    """None: the endpoint's default."""
    max_tokens_field: str
    """What the body calls it, for errors."""
    logprobs: int | None
    """Alternatives wanted per token; None: no log-probabilities."""
    cache_salt: str | None
    priority: int
    ignore_eos: bool


def generation(
    body: GenerationBody,
    *,
    max_tokens: int | None,
    logprobs: int | None,
    max_tokens_field: str = "max_tokens",
) -> Generation:
    """Check what the types cannot. Raises RequestError naming the field, as the body spells it."""
    if not 1 <= body.n <= _MAX_CHOICES:
        raise RequestError(f"n is {show(body.n)}; use 1 to {_MAX_CHOICES}", param="n")
    if max_tokens is not None and max_tokens < 1:
        raise RequestError(
            f"{max_tokens_field} is {show(max_tokens)}; use 1 or more", param=max_tokens_field
        )
    if body.stream_options is not None:
        if not body.stream:
            raise RequestError(
                "stream_options is given without stream; set stream to true or leave it out",
                param="stream_options",
            )
        if body.stream_options.include_obfuscation:
            raise RequestError(
                "stream_options.include_obfuscation is true, which this server does not support; "
                "leave it out or send false",
                param="stream_options.include_obfuscation",
            )
    if body.cache_salt == "":
        raise RequestError(
            "cache_salt is an empty string; use a secret of the tenant's or leave it out",
            param="cache_salt",
        )
    if not -(2**31) <= body.priority < 2**31:
        raise RequestError(
            f"priority is {show(body.priority)}; use a number of 32 bits", param="priority"
        )
    for name, value in (("top_k", body.top_k), (max_tokens_field, max_tokens)):
        if value is not None and value >= 2**31:
            raise RequestError(f"{name} is {show(value)}; use a smaller number", param=name)
    if any(not 0 <= token < 2**31 for token in body.stop_token_ids):
        raise RequestError(
            "stop_token_ids holds a number that is no token id; use ids of the vocabulary",
            param="stop_token_ids",
        )
    return Generation(
        model=body.model,
        n=body.n,
        stream=body.stream,
        include_usage=body.stream_options is not None and body.stream_options.include_usage,
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=max(body.top_k, 0) if body.top_k >= -1 else body.top_k,  # -1: all, as vLLM has it
        seed=body.seed,
        stop=_stops(body.stop),
        stop_token_ids=frozenset(body.stop_token_ids),
        max_tokens=max_tokens,
        max_tokens_field=max_tokens_field,
        logprobs=logprobs,
        cache_salt=body.cache_salt,
        priority=body.priority,
        ignore_eos=body.ignore_eos,
    )


def _stops(stop: str | list[str]) -> tuple[str, ...]:
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    if len(stops) > _MAX_STOPS:
        raise RequestError(
            f"stop holds {len(stops)} strings; use at most {_MAX_STOPS}", param="stop"
        )
    for one in stops:
        if not 1 <= len(one) <= _MAX_STOP_CHARS:
            raise RequestError(
                f"stop holds a string of {len(one)} characters; use 1 to {_MAX_STOP_CHARS}",
                param="stop",
            )
    return stops
