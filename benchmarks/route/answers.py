"""The bytes that a fake worker answers with. They say the truth about its cache."""

from dataclasses import dataclass
from typing import Any

import msgspec

from benchmarks.route.tokens import BEGIN

__all__ = ["Asked", "Dialect", "head", "read", "usage"]

_DECODE = msgspec.json.Decoder()
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a request's body a worker heeds."""

    text: str
    stream: bool
    include_usage: bool
    tokens: int


def read(body: bytes) -> Asked:
    """Read a chat completion, a completion or a message. ValueError where it is none."""
    asked: Any = _DECODE.decode(body)
    if "messages" in asked:
        contents = [str(asked["system"])] if "system" in asked else []
        for message in asked["messages"]:
            content = message["content"]
            if not isinstance(content, str):
                content = "".join(part.get("text", "") for part in content or ())
            contents.append(content)
        text = "".join(BEGIN + content for content in contents)
    else:
        text = str(asked["prompt"])
    options = asked.get("stream_options") or {}
    return Asked(
        text=text,
        stream=bool(asked.get("stream")),
        include_usage=bool(options.get("include_usage")),
        tokens=int(asked.get("max_tokens") or asked.get("max_completion_tokens") or 1),
    )


def usage(prompt: int, cached: int, output: int) -> bytes:
    """Of a chat completion, cached tokens always in it."""
    return (
        b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,'
        b'"prompt_tokens_details":{"cached_tokens":%d}}'
    ) % (prompt, output, prompt + output, cached)


def head(status: bytes, length: int, kind: bytes = b"application/json") -> bytes:
    """The head of an answer whose length is known."""
    return b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n" % (status, kind, length)


def _event(data: bytes, name: bytes = b"") -> bytes:
    line = (b"event: %b\n" % name if name else b"") + b"data: %b\n\n" % data
    return b"%x\r\n%b\r\n" % (len(line), line)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one endpoint answers."""

    first: bytes
    """Head of a stream and its first token."""
    token: bytes
    """Every further one."""
    messages: bool
    whole: bytes
    """What stands around the usage of a plain answer: one %b for it."""
    tail: bytes
    """An event with the usage, with one %b for it."""

    def plain(self, prompt: int, cached: int, output: int) -> bytes:
        """A whole answer."""
        data = self.whole % self._usage(prompt, cached, output)
        return head(b"200 OK", len(data)) + data

    def end(self, prompt: int, cached: int, output: int, *, include_usage: bool) -> bytes:
        """The end of a stream."""
        if self.messages:
            told = _event(self.tail % self._usage(prompt, cached, output), b"message_delta")
            return told + _event(b'{"type":"message_stop"}', b"message_stop") + b"0\r\n\r\n"
        told = b""
        if include_usage:
            told = _event(self.tail % self._usage(prompt, cached, output))
        return told + _event(b"[DONE]") + b"0\r\n\r\n"

    def _usage(self, prompt: int, cached: int, output: int) -> bytes:
        if not self.messages:
            return usage(prompt, cached, output)
        return (
            b'{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,'
            b'"output_tokens":%d}'
        ) % (prompt - cached, cached, output)


_CHUNK = (
    b'{"id":"c","object":"chat.completion.chunk","created":1,"model":"fake","choices":'
    b'[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}'
)
CHAT = Dialect(
    first=_STREAM_HEAD + _event(_CHUNK),
    token=_event(_CHUNK),
    messages=False,
    whole=(
        b'{"id":"c","object":"chat.completion","created":1,"model":"fake","choices":[{"index":0,'
        b'"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}],"usage":%b}'
    ),
    tail=(
        b'{"id":"c","object":"chat.completion.chunk","created":1,"model":"fake","choices":[],'
        b'"usage":%b}'
    ),
)
_TEXT = (
    b'{"id":"c","object":"text_completion","created":1,"model":"fake","choices":'
    b'[{"index":0,"text":"word ","finish_reason":null}]}'
)
COMPLETION = Dialect(
    first=_STREAM_HEAD + _event(_TEXT),
    token=_event(_TEXT),
    messages=False,
    whole=(
        b'{"id":"c","object":"text_completion","created":1,"model":"fake","choices":[{"index":0,'
        b'"text":"word","finish_reason":"stop"}],"usage":%b}'
    ),
    tail=b'{"id":"c","object":"text_completion","created":1,"model":"fake","choices":[],"usage":%b}',
)
_DELTA = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}'
MESSAGES = Dialect(
    first=_STREAM_HEAD
    + _event(
        b'{"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
        b'"model":"fake","content":[],"usage":{"input_tokens":0,"output_tokens":0}}}',
        b"message_start",
    )
    + _event(_DELTA, b"content_block_delta"),
    token=_event(_DELTA, b"content_block_delta"),
    messages=True,
    whole=(
        b'{"id":"m","type":"message","role":"assistant","model":"fake","content":[{"type":"text",'
        b'"text":"word"}],"stop_reason":"end_turn","usage":%b}'
    ),
    tail=b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":%b}',
)
DIALECTS: dict[bytes, Dialect] = {
    b"/v1/chat/completions": CHAT,
    b"/v1/completions": COMPLETION,
    b"/v1/messages": MESSAGES,
}
