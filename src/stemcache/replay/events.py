"""What one event of a stream says, in each API's own shape. Pure.

Only what is measured is decoded. Whether an event carries generated text is known, the text is not
kept.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from stemcache.replay.outcome import Usage
from stemcache.replay.target import Api
from stemcache.wire.sse import SseEvent

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
    odd_usage: bool = False
    """Whether some count of the usage cannot be one; it is unknown then."""
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


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: object = None  # of any kind: a count that is none must not cost the answer
    error: msgspec.Raw = msgspec.Raw()


class _Message(msgspec.Struct):
    usage: object = None


class _ContentDelta(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _AnthropicEvent(msgspec.Struct):
    type: str
    message: _Message | None = None
    delta: _ContentDelta | None = None
    usage: object = None
    error: msgspec.Raw = msgspec.Raw()


_CHUNK = msgspec.json.Decoder(_Chunk)
_ANTHROPIC = msgspec.json.Decoder(_AnthropicEvent)

_Event = TypeVar("_Event")

_MOST_TOKENS = 2**40
"""No prompt is so long, and sums of what is shorter stay exact."""


def _decoded(decoder: msgspec.json.Decoder[_Event], data: bytes) -> _Event:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # NaN is no JSON, but Python's own encoder writes it.
        if b"NaN" not in data and b"Infinity" not in data:
            raise
        try:
            plain = json.loads(data, parse_constant=str)
        except (ValueError, RecursionError):
            plain = None
        if plain is None:
            raise
        return decoder.decode(msgspec.json.encode(plain))


@dataclass(slots=True)
class _Counts:
    """Takes counts out of what a target calls its usage."""

    odd: bool = False
    """Whether one of them was something else."""

    def take(self, table: object, name: str) -> int | None:
        """A count; None if there is none, or none that can be one."""
        value = self.part(table, name)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
            return value
        self.odd = True
        return None

    def part(self, table: object, name: str) -> object:
        """A field of the usage, whatever it is."""
        if isinstance(table, dict):
            return table.get(name)
        self.odd = self.odd or table is not None
        return None


def _openai(event: SseEvent) -> Said:
    data = event.data
    if not data or data.isspace():
        return NOTHING
    if data.strip() == b"[DONE]":
        return _DONE
    try:
        chunk = _decoded(_CHUNK, data)
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
    counts = _Counts()
    usage = None if chunk.usage is None else _openai_usage(counts, chunk.usage)
    return Said(text=text, finished=finished, usage=usage, odd_usage=counts.odd)


def _openai_usage(counts: _Counts, usage: object) -> Usage:
    details = counts.part(usage, "prompt_tokens_details")
    return Usage(
        prompt_tokens=counts.take(usage, "prompt_tokens"),
        cached_tokens=counts.take(details, "cached_tokens"),
        written_tokens=counts.take(details, "cache_write_tokens"),
        output_tokens=counts.take(usage, "completion_tokens"),
    )


def _anthropic(event: SseEvent) -> Said:
    if not event.data or event.data.isspace():
        return NOTHING
    try:
        said = _decoded(_ANTHROPIC, event.data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EventError(f"an event of the stream is not one of Anthropic's: {error}") from None
    delta = said.delta or _ContentDelta()
    match said.type:
        case "message_start":
            return _anthropic_usage(None if said.message is None else said.message.usage)
        case "content_block_delta":
            return Said(text=bool(delta.text or delta.thinking or delta.partial_json))
        case "message_delta":
            return replace(_anthropic_usage(said.usage), finished=delta.stop_reason is not None)
        case "message_stop":
            return _DONE
        case "error":
            return Said(error=error_message(bytes(said.error)))
        case _:
            return NOTHING


def _anthropic_usage(usage: object) -> Said:
    if usage is None:
        return NOTHING
    # Anthropic's input_tokens leave out what was read from the cache or written to it.
    counts = _Counts()
    read = counts.take(usage, "cache_read_input_tokens")
    written = counts.take(usage, "cache_creation_input_tokens")
    fresh = counts.take(usage, "input_tokens")
    found = Usage(
        prompt_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached_tokens=read,
        written_tokens=written,
        output_tokens=counts.take(usage, "output_tokens"),
    )
    return Said(usage=found, odd_usage=counts.odd)


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
