"""A decoded request and its tokens to what the engine is asked. Pure."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from stemcache.engine.request import GenerationRequest, Sampling
from stemcache.errors import ContextOverflowError, RequestError
from stemcache.wire.generation import Generation

__all__ = ["check_tokens", "max_tokens_for", "plan"]

_COMPLETION_DEFAULT = 16
"""OpenAI's default of `max_tokens` for completions; chat goes on to the end of the context."""


def check_tokens(tokens: Sequence[int], vocabulary: int, param: str) -> None:
    """Raise RequestError for an id outside the vocabulary, or for no token at all."""
    if not tokens:
        raise RequestError(f"{param} is empty; send at least one token", param=param)
    highest = max(tokens)
    if highest >= vocabulary:
        raise RequestError(
            f"{param} holds token {highest}, and the vocabulary ends at {vocabulary - 1}; "
            "send ids of the served model's tokenizer",
            param=param,
        )


def max_tokens_for(
    asked: int | None,
    *,
    prompt_tokens: int,
    capacity_tokens: int,
    chat: bool,
    param: str,
    field: str = "max_tokens",
) -> int:
    """How long the answer may get. Raises ContextOverflowError where it does not fit."""
    room = capacity_tokens - prompt_tokens
    if room < 1:
        raise ContextOverflowError(
            f"the prompt has {prompt_tokens} tokens, and prompt and answer may have "
            f"{capacity_tokens} together; shorten it",
            param=param,
        )
    if asked is None:
        return room if chat else min(_COMPLETION_DEFAULT, room)
    if asked > room:
        raise ContextOverflowError(
            f"the prompt has {prompt_tokens} tokens and {field} is {asked}, and both may have "
            f"{capacity_tokens} together; lower {field} to {room} or shorten the prompt",
            param=field,
        )
    return asked


def plan(
    generation: Generation,
    prompts: Sequence[Sequence[int]],
    *,
    request_id: str,
    capacity_tokens: int,
    vocabulary: int,
    chat: bool,
) -> list[GenerationRequest]:
    """Engine requests, `n` for each prompt, in the order of the choices' indices.

    Raises RequestError, ContextOverflowError.
    """
    param = "messages" if chat else "prompt"
    for stop in generation.stop_token_ids:
        if stop >= vocabulary:
            raise RequestError(
                f"stop_token_ids holds {stop}, and the vocabulary ends at {vocabulary - 1}; "
                "send ids of the served model's tokenizer",
                param="stop_token_ids",
            )
    requests: list[GenerationRequest] = []
    for tokens in prompts:
        check_tokens(tokens, vocabulary, param)
        max_tokens = max_tokens_for(
            generation.max_tokens,
            prompt_tokens=len(tokens),
            capacity_tokens=capacity_tokens,
            chat=chat,
            param=param,
            field=generation.max_tokens_field,
        )
        prompt = np.asarray(tokens, np.int32)
        requests += [
            GenerationRequest(
                request_id=f"{request_id}-{len(requests) + choice}",
                prompt=prompt,
                max_tokens=max_tokens,
                sampling=_sampling(generation, choice),
                stop_tokens=generation.stop_token_ids,
                ignore_model_stop=generation.ignore_eos,
                salt=generation.cache_salt,
                priority=generation.priority,
            )
            for choice in range(generation.n)
        ]
    return requests


def _sampling(generation: Generation, choice: int) -> Sampling:
    sampling = Sampling(
        temperature=generation.temperature,
        top_p=generation.top_p,
        top_k=generation.top_k,
        seed=generation.seed,
        logprobs=generation.logprobs,
    )
    if choice == 0 or sampling.seed is None:
        return sampling
    # Mixed, not added: the second choice of seed 7 must not be the first of seed 8.
    mixed = sha256(f"{sampling.seed} {choice}".encode()).digest()
    seed = int.from_bytes(mixed[:8], "little", signed=True)
    return Sampling(sampling.temperature, sampling.top_p, sampling.top_k, seed, sampling.logprobs)
