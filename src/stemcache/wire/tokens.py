"""The bodies of `POST /tokenize` and `POST /detokenize`, in the shapes that vLLM has."""

from dataclasses import dataclass
from typing import Any

import msgspec

from stemcache.errors import RequestError
from stemcache.wire.body import Fields, convert, decode_object, settle, show
from stemcache.wire.completions import token_ids
from stemcache.wire.messages import (
    check_template_values,
    messages_for_template,
    tools_for_template,
)

__all__ = [
    "DetokenizeRequest",
    "Detokenized",
    "TokenizeRequest",
    "Tokenized",
    "decode_detokenize",
    "decode_tokenize",
]

_TOKENIZE = Fields(
    implemented=frozenset(
        {
            "add_generation_prompt",
            "add_special_tokens",
            "chat_template_kwargs",
            "messages",
            "model",
            "prompt",
            "return_token_strs",
            "tools",
        }
    ),
    neutral={"continue_final_message": (False,)},
)
_DETOKENIZE = Fields(implemented=frozenset({"model", "tokens"}))


class _TokenizeBody(msgspec.Struct, frozen=True, kw_only=True):
    model: str | None = None
    prompt: str | None = None
    messages: Any = None
    tools: Any = None
    add_special_tokens: bool | None = None
    add_generation_prompt: bool = True
    return_token_strs: bool = False
    chat_template_kwargs: dict[str, Any] = {}


class _DetokenizeBody(msgspec.Struct, frozen=True, kw_only=True):
    model: str | None = None
    tokens: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizeRequest:
    """Text or a conversation to tokenize."""

    model: str | None
    prompt: str | None
    messages: list[dict[str, Any]]
    """Empty where `prompt` is given."""
    tools: list[dict[str, Any]]
    template_values: dict[str, Any]
    add_special_tokens: bool
    add_generation_prompt: bool
    return_token_strs: bool


@dataclass(frozen=True, slots=True)
class DetokenizeRequest:
    """Token ids to turn into text."""

    model: str | None
    tokens: list[int]


class Tokenized(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `/tokenize`."""

    tokens: list[int]
    count: int
    max_model_len: int
    token_strs: list[str] | None = None


class Detokenized(msgspec.Struct, frozen=True):
    """The answer of `/detokenize`."""

    prompt: str


def decode_tokenize(raw: bytes) -> TokenizeRequest:
    """Read a body. Raises RequestError; never anything else."""
    body = convert(settle(decode_object(raw), _TOKENIZE), _TokenizeBody)
    if (body.prompt is None) == (body.messages is None):
        raise RequestError(
            "the request body must hold either prompt or messages; send one of them",
            param="prompt",
        )
    check_template_values(body.chat_template_kwargs)
    return TokenizeRequest(
        model=body.model,
        prompt=body.prompt,
        messages=[] if body.messages is None else messages_for_template(body.messages),
        tools=tools_for_template(body.tools, None),
        template_values=body.chat_template_kwargs,
        # A template writes its own special tokens, so only plain text gets them by default.
        add_special_tokens=(
            body.prompt is not None if body.add_special_tokens is None else body.add_special_tokens
        ),
        add_generation_prompt=body.add_generation_prompt,
        return_token_strs=body.return_token_strs,
    )


def decode_detokenize(raw: bytes) -> DetokenizeRequest:
    """Read a body. Raises RequestError; never anything else."""
    body = convert(settle(decode_object(raw), _DETOKENIZE), _DetokenizeBody)
    if not isinstance(body.tokens, list):
        raise RequestError(
            f"tokens is {show(body.tokens)}; send a list of token ids", param="tokens"
        )
    tokens = token_ids(body.tokens, "tokens") if body.tokens else []
    return DetokenizeRequest(model=body.model, tokens=tokens)
