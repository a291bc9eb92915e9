"""What one event of a stream says, in each API's own shape. Pure.

Only what is measured is decoded. Whether an event carries generated text is known, the text is not
kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from stemcache.replay.outcome import Usage
from stemcache.replay.sse import SseEvent
from stemcache.replay.target import Api

__all__ = ["NOTHING", "READERS", "EventError", "Said", "error_message"]


class EventError(Exception):
    """An event is not what the API documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one event adds."""

    text: bool = False
    """Whether it carries generated text, reasoning or a tool call."""
    finished: bool = False
    """Whether the model has stopped."""
    last: bool = False
    """Whether nothing comes after it."""
    usage: Usage | None = None
    error: str | None = None
    """The target's own words, if it gives up."""


NOTHING = Said()
_DONE = Said(finished=True, last=True)


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    refusal: str | None = None
    tool_calls: list[msgspec.Raw] | None = None


class _Choice(msgspec.Struct):
    text: str | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OpenAIUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _OpenAIUsage | None = None
    error: msgspec.Raw = msgspec.Raw()


class _AnthropicUsage(msgspec.Struct):
    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _AnthropicUsage | None = None


class _ContentDelta(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _AnthropicEvent(msgspec.Struct):
    type: str
    message: _Message | None = None
    delta: _ContentDelta | None = None
    usage: _AnthropicUsage | None = None
    error: msgspec.Raw = msgspec.Raw()


_CHUNK = msgspec.json.Decoder(_Chunk)
_ANTHROPIC = msgspec.json.Decoder(_AnthropicEvent)


def _openai(event: SseEvent) -> Said:
    data = event.data
    if not data or data.isspace():
        return NOTHING
    if data.strip() == b"[DONE]":
        return _DONE
    try:
        chunk = _CHUNK.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EventError(f"an event of the stream is not a chunk of OpenAI's: {error}") from None
    if bytes(chunk.error) not in {b"", b"null"}:
        return Said(error=error_message(bytes(chunk.error)))
    text = finished = False
    for choice in chunk.choices or ():
        delta = choice.delta
        text = text or bool(choice.text)
        if delta is not None:
            text = text or bool(
                delta.content
                or delta.reasoning
                or delta.reasoning_content
                or delta.refusal
                or delta.tool_calls
            )
        finished = finished or choice.finish_reason is not None
    usage = None if chunk.usage is None else _openai_usage(chunk.usage)
    return Said(text=text, finished=finished, usage=usage)


def _openai_usage(usage: _OpenAIUsage) -> Usage:
    details = usage.prompt_tokens_details or _PromptDetails()
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=details.cached_tokens,
        written_tokens=details.cache_write_tokens,
        output_tokens=usage.completion_tokens,
    )


def _anthropic(event: SseEvent) -> Said:
    if not event.data or event.data.isspace():
        return NOTHING
    try:
        said = _ANTHROPIC.decode(event.data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EventError(f"an event of the stream is not one of Anthropic's: {error}") from None
    usage = None if said.usage is None else _anthropic_usage(said.usage)
    delta = said.delta or _ContentDelta()
    match said.type:
        case "message_start":
            started = None if said.message is None else said.message.usage
            return Said(usage=None if started is None else _anthropic_usage(started))
        case "content_block_delta":
            return Said(text=bool(delta.text or delta.thinking or delta.partial_json))
        case "message_delta":
            return Said(finished=delta.stop_reason is not None, usage=usage)
        case "message_stop":
            return _DONE
        case "error":
            return Said(error=error_message(bytes(said.error)))
        case _:
            return NOTHING


def _anthropic_usage(usage: _AnthropicUsage) -> Usage:
    # Anthropic's input_tokens leave out what was read from the cache or written to it.
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    fresh = usage.input_tokens
    return Usage(
        prompt_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached_tokens=read,
        written_tokens=written,
        output_tokens=usage.output_tokens,
    )


READERS: Mapping[Api, Callable[[SseEvent], Said]] = {
    "openai-completions": _openai,
    "openai-chat": _openai,
    "anthropic-messages": _anthropic,
}
"""By API: what an event says. They raise EventError for what is none."""


class _Error(msgspec.Struct):
    message: str | None = None
    detail: str | None = None
    error: "_Error | str | None" = None


def error_message(body: bytes) -> str:
    """The message within an error body, whatever its shape; the body itself if it has none."""
    try:
        error: _Error | str | None = msgspec.json.decode(body, type=_Error | str | None)
        while isinstance(error, _Error) and error.error is not None:
            error = error.error
    except (msgspec.DecodeError, UnicodeDecodeError):
        error = None
    text = (error.message or error.detail) if isinstance(error, _Error) else error
    return " ".join((text or body.decode(errors="replace")).split())
