"""The bytes of fake workers."""

import json
from collections.abc import Callable

import pytest

from benchmarks.route.answers import DIALECTS, read


def test_contents_are_read_in_order() -> None:
    """Of chats with parts, of completions, of messages with a system prompt; a mark before each."""
    chat = {
        "messages": [
            {"role": "system", "content": "ab"},
            {"role": "user", "content": [{"type": "text", "text": "cd"}, {"type": "image"}]},
        ]
    }
    assert read(json.dumps(chat).encode()).text == "<im>ab<im>cd"
    assert read(b'{"prompt": "xy", "max_tokens": 7, "stream": true}').text == "xy"
    message = {"system": "s", "messages": [{"role": "user", "content": "u"}], "max_tokens": 2}
    asked = read(json.dumps(message).encode())
    assert (asked.text, asked.tokens, asked.stream, asked.include_usage) == (
        "<im>s<im>u",
        2,
        False,
        False,
    )


def test_usage_is_asked_for() -> None:
    """Only stream_options says so."""
    asked = read(b'{"prompt":"x","stream":true,"stream_options":{"include_usage":true}}')
    assert asked.stream
    assert asked.include_usage


def test_other_bodies_are_refused() -> None:
    """Neither JSON of another shape nor no JSON is a request."""
    for data in (b"", b"{", b"[]", b"{}", b"7"):
        with pytest.raises((ValueError, KeyError, TypeError)):
            read(data)


def _body(answer: bytes) -> bytes:
    head, _, data = answer.partition(b"\r\n\r\n")
    assert f"content-length: {len(data)}".encode() in head
    return data


def test_plain_answers_say_what_was_cached() -> None:
    """In each endpoint's own words; Anthropic's input tokens are those not cached."""
    chat = json.loads(_body(DIALECTS[b"/v1/chat/completions"].plain(100, 64, 3)))
    assert chat["usage"] == {
        "prompt_tokens": 100,
        "completion_tokens": 3,
        "total_tokens": 103,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    messages = json.loads(_body(DIALECTS[b"/v1/messages"].plain(100, 64, 3)))
    assert messages["usage"]["input_tokens"] == 36
    assert messages["usage"]["cache_read_input_tokens"] == 64


def _unchunked(data: bytes) -> bytes:
    text = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        length = int(size, 16)
        text += rest[:length]
        assert rest[length : length + 2] == b"\r\n"
        data = rest[length + 2 :]
    return text


def _events(data: bytes) -> list[str]:
    return [line[6:] for line in data.decode().split("\n") if line.startswith("data: ")]


def _is_word(path: bytes) -> Callable[[str], bool]:
    return lambda event: "word " in event and path is not None


@pytest.mark.parametrize("path", sorted(DIALECTS))
def test_streams_are_chunked_events(path: bytes) -> None:
    """First, further tokens and the end make one well-formed body."""
    dialect = DIALECTS[path]
    whole = dialect.first + dialect.token * 2 + dialect.end(10, 4, 3, include_usage=True)
    head, _, data = whole.partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head
    events = _events(_unchunked(data))
    assert len(list(filter(_is_word(path), events))) == 3
    parsed = [json.loads(event) for event in events if event != "[DONE]"]
    assert any("usage" in event and event.get("type") != "message_start" for event in parsed)


def test_streams_tell_usage_when_asked() -> None:
    """Without being asked a chat's stream has none, and ends as always."""
    end = DIALECTS[b"/v1/chat/completions"].end(10, 4, 3, include_usage=False)
    assert _events(_unchunked(end)) == ["[DONE]"]
    asked = DIALECTS[b"/v1/chat/completions"].end(10, 4, 3, include_usage=True)
    (usage, done) = _events(_unchunked(asked))
    assert json.loads(usage)["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}
    assert json.loads(usage)["choices"] == []
    assert done == "[DONE]"
