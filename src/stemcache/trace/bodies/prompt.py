"""The prompt of a request body: a text, token ids, or a conversation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from stemcache.core.tokens import Tokens
from stemcache.trace.problem import BadLineError

__all__ = ["Conversation", "Prompt", "PromptReader", "TextPrompt", "TokenPrompt", "prompts_of"]

_TOKEN_LIMIT = 2**32

_HISTORIES = ("previous_response_id", "conversation")
"""Name a history that the server holds and the body does not."""


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """A text to continue."""

    text: str


@dataclass(frozen=True, slots=True)
class TokenPrompt:
    """Token ids, taken as they are."""

    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a provider reads, in its order: tools, the system prompt, messages."""

    tools: Sequence[Any]
    system: Any
    """A text, a list of parts, or None where messages hold it."""
    messages: Sequence[Any]


Prompt = TextPrompt | TokenPrompt | Conversation


class PromptReader(Protocol):
    """**Protocol**: prompts to what is counted and compared, one number each."""

    @property
    def unit(self) -> Literal["tokens", "characters"]:
        """What the numbers stand for."""
        ...

    def tokens(self, prompt: TextPrompt | Conversation) -> Tokens:
        """Linear in the prompt's length. Raises BadLineError without saying what it holds."""
        ...


def prompts_of(body: Mapping[str, Any]) -> Iterator[Prompt]:
    """The prompts of a body, more than one where a completion asks for several."""
    tools = body.get("tools") or body.get("functions") or []
    if not isinstance(tools, list):
        raise BadLineError("tools is no list")
    if isinstance(body.get("messages"), list):
        yield Conversation(tools, body.get("system"), body["messages"])
    elif isinstance(body.get("prompt"), str | list):
        yield from _completion(body["prompt"])
    else:
        yield _response(body, tools)


def _completion(prompt: object) -> Iterator[Prompt]:
    if isinstance(prompt, str):
        yield TextPrompt(prompt)
        return
    assert isinstance(prompt, list), "bodies have a prompt of this type"
    if not prompt:
        raise BadLineError("prompt is an empty list")
    if isinstance(prompt[0], int):
        yield TokenPrompt(_ids(prompt))
        return
    for one in prompt:
        if isinstance(one, str):
            yield TextPrompt(one)
        elif isinstance(one, list):
            yield TokenPrompt(_ids(one))
        else:
            raise BadLineError("prompt is a list of neither texts nor token ids")


def _ids(values: list[object]) -> Tokens:
    if not all(type(value) is int and 0 <= value < _TOKEN_LIMIT for value in values):
        raise BadLineError(f"prompt has token ids outside 0 to {_TOKEN_LIMIT - 1}")
    return np.array(values, np.uint32)


def _response(body: Mapping[str, Any], tools: list[Any]) -> Prompt:
    for name in _HISTORIES:
        if body.get(name) is not None:
            raise BadLineError(
                f"{name} names a history that the line does not hold",
                fix="log the whole input",
            )
    given = body["input"]
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not all(isinstance(item, dict) for item in given):
        raise BadLineError("input is a list, but not of messages", fix="leave embeddings out")
    return Conversation(tools, body.get("instructions"), given)
