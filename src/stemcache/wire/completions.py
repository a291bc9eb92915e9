"""The body of `POST /v1/completions`."""

from dataclasses import dataclass
from typing import Any

from stemcache.errors import RequestError, UnsupportedError
from stemcache.wire.body import Fields, convert, decode_object, settle, show
from stemcache.wire.generation import (
    HARMLESS,
    IMPLEMENTED,
    NEUTRAL,
    Generation,
    GenerationBody,
    generation,
)

__all__ = ["CompletionRequest", "decode_completion", "token_ids"]

_MAX_PROMPTS = 2048

_FIELDS = Fields(
    implemented=IMPLEMENTED | {"best_of", "logprobs", "prompt"},
    harmless=HARMLESS,
    neutral={**NEUTRAL, "echo": (False,), "prompt_embeds": (), "suffix": ("",)},
)


class _Body(GenerationBody, frozen=True, kw_only=True):
    prompt: Any
    logprobs: int | bool | None = None
    best_of: int | None = None


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """Prompts to continue, each `generation.n` times."""

    generation: Generation
    prompts: list[str | list[int]]
    """Each as text or as token ids; at least one."""


def decode_completion(raw: bytes) -> CompletionRequest:
    """Read a body. Raises RequestError or UnsupportedError; never anything else."""
    body = convert(settle(decode_object(raw), _FIELDS), _Body)
    if body.best_of is not None and body.best_of != body.n:
        raise UnsupportedError(
            f"best_of is {show(body.best_of)} with n {show(body.n)}, which this server does not "
            "support; leave it out",
            param="best_of",
        )
    logprobs = body.logprobs
    if isinstance(logprobs, bool):
        raise RequestError(
            f"logprobs is {show(logprobs)}; send the number of alternatives, 0 to 20",
            param="logprobs",
        )
    if logprobs is not None and not 0 <= logprobs <= 20:
        raise RequestError(f"logprobs is {show(logprobs)}; use 0 to 20", param="logprobs")
    return CompletionRequest(
        generation=generation(body, max_tokens=body.max_tokens, logprobs=logprobs),
        prompts=_prompts(body.prompt),
    )


def _prompts(prompt: object) -> list[str | list[int]]:
    if isinstance(prompt, str):
        return [prompt]
    if not isinstance(prompt, list) or not prompt:
        raise RequestError(
            f"prompt is {show(prompt)}; send a string, a list of token ids, or a list of either",
            param="prompt",
        )
    if isinstance(prompt[0], int):
        return [token_ids(prompt, "prompt")]
    if len(prompt) > _MAX_PROMPTS:
        raise RequestError(
            f"prompt holds {len(prompt)} prompts; send at most {_MAX_PROMPTS} at once",
            param="prompt",
        )
    return [
        one if isinstance(one, str) else token_ids(one, f"prompt[{i}]")
        for i, one in enumerate(prompt)
    ]


def token_ids(ids: object, where: str) -> list[int]:
    """A list of token ids, or RequestError. Does not know which ids the vocabulary has."""
    if not isinstance(ids, list) or not ids:
        raise RequestError(
            f"{where} is {show(ids)}; send a string or a list of token ids", param=where
        )
    for i, token in enumerate(ids):
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < 2**31:
            raise RequestError(
                f"{where}[{i}] is {show(token)}, which is no token id; send ids only", param=where
            )
    return ids
