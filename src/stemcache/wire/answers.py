"""What the endpoints answer, as OpenAI shapes it, whole and in chunks."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

__all__ = [
    "ChatAnswer",
    "ChatChoice",
    "ChatChunk",
    "ChatChunkChoice",
    "ChatLogprob",
    "ChatLogprobs",
    "ChatMessage",
    "ChatTopLogprob",
    "Completion",
    "CompletionChoice",
    "CompletionLogprobs",
    "Delta",
    "Finish",
    "PromptDetails",
    "UsageReport",
    "sse",
]

Finish = Literal["stop", "length"]


class PromptDetails(msgspec.Struct, frozen=True):
    """`usage.prompt_tokens_details`."""

    cached_tokens: int


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """`usage`. The prompt counts once, however many choices were asked for."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails


class ChatTopLogprob(msgspec.Struct, frozen=True):
    """An alternative to a chosen token."""

    token: str
    logprob: float
    bytes: list[int]


class ChatLogprob(msgspec.Struct, frozen=True):
    """A chosen token and its alternatives."""

    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[ChatTopLogprob]


class ChatLogprobs(msgspec.Struct, frozen=True):
    """`logprobs` of a chat choice."""

    content: list[ChatLogprob]
    refusal: None = None


class ChatMessage(msgspec.Struct, frozen=True):
    """The assistant's message. Tool calls are not parsed out of its text."""

    content: str
    role: Literal["assistant"] = "assistant"
    refusal: None = None


class ChatChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One of the `n` answers to a conversation."""

    index: int
    message: ChatMessage
    logprobs: ChatLogprobs | None
    finish_reason: Finish


class ChatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `/v1/chat/completions` without `stream`."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: UsageReport
    service_tier: Literal["default"] = "default"
    system_fingerprint: str


class Delta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a chunk adds to a message; `role` in the first one only."""

    role: Literal["assistant"] | None = None
    content: str | None = None


class ChatChunkChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One choice's part of a chunk."""

    index: int
    delta: Delta
    logprobs: ChatLogprobs | None = None
    finish_reason: Finish | None = None


class ChatChunk(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a streamed chat answer."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChatChunkChoice]
    system_fingerprint: str
    usage: UsageReport | UnsetType | None = UNSET
    """Absent unless `stream_options.include_usage`; then null but in the last chunk."""


class CompletionLogprobs(msgspec.Struct, frozen=True):
    """`logprobs` of a completion choice: four lists of equal length."""

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class CompletionChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One continuation of one prompt, or a chunk of it."""

    index: int
    text: str
    logprobs: CompletionLogprobs | None
    finish_reason: Finish | None


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `/v1/completions`, whole or one event of a stream."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    system_fingerprint: str
    usage: UsageReport | UnsetType | None = UNSET


def sse(event: msgspec.Struct) -> bytes:
    """One server-sent event. JSON has no raw line breaks, so one `data:` line holds it."""
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
