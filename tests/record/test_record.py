"""A record, field by field."""

import gzip
import json
from typing import Any

import pytest

from stemcache.record.exchange import Exchange
from stemcache.record.record import Keep, line_of
from stemcache.record.scope import ScopeKey
from tests.record.made import BODY, captured, exchange

KEY = ScopeKey(b"k" * 32)


def record(call: Exchange, keep: Keep | None = None) -> dict[str, Any]:
    """The record of a call that is one."""
    line = line_of(call, KEY, keep or Keep())
    assert line is not None
    assert line.data.endswith(b"\n")
    assert line.data.count(b"\n") == 1
    found: dict[str, Any] = json.loads(line.data)
    return found


def test_a_record_has_these_fields() -> None:
    """All of them, each time, in this order."""
    assert record(exchange()) == {
        "stemcache": 1,
        "time": 1000.0,
        "answered": 1001.0,
        "ended": 1002.0,
        "method": "POST",
        "url": "https://api.example/v1/messages",
        "scope": KEY.digest("secret-key-0123456789"),
        "headers": {},
        "request": BODY.decode(),
        "status": 200,
        "failed": None,
        "response_headers": {"content-type": "application/json", "content-encoding": ""},
        "response": {
            "id": "a-1",
            "model": "m",
            "usage": {
                "input_tokens": 1,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 3,
                "output_tokens": 1,
            },
            "diagnostics": None,
            "service_tier": None,
            "content": None,
        },
        "truncated": False,
    }


def test_a_line_says_what_came_from_the_cache() -> None:
    """For the summary; nothing where it is not reported."""
    line = line_of(exchange(), KEY, Keep())
    assert line is not None
    assert line.usage is not None
    assert (line.usage.prompt_tokens, line.usage.read_tokens) == (4, 3)
    line = line_of(exchange(answer=b'{"id": "x"}'), KEY, Keep())
    assert line is not None
    assert line.usage is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"method": "GET"}, "another method"),
        ({"body": b'{"no": "prompt"}'}, "no prompt"),
        ({"body": b"[1]"}, "no object"),
        ({"body": b""}, "no body"),
        ({"url": "https://h/v1/messages/count_tokens?beta=true"}, "counts"),
        ({"url": "https://h/v1beta/models/g:countTokens"}, "counts"),
        ({"url": "https://h/v1/embeddings"}, "embeds"),
    ],
)
def test_some_requests_are_no_calls(fields: dict[str, Any], reason: str) -> None:
    """They ask for no answer that a cache could have helped with."""
    assert line_of(exchange(**fields), KEY, Keep()) is None, reason


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": []}',
        b'{"model": "m", "input": "x"}',
        b'{"prompt": [1, 2]}',
        b'{"contents": []}',
        b'{"inputText": "x"}',
        b'{"requests": []}',
    ],
)
def test_every_api_has_a_prompt(body: bytes) -> None:
    """Messages, Responses, Completions, Gemini, Titan, batches."""
    assert record(exchange(body))["request"] == body.decode()


def test_a_body_that_is_no_utf8_is_base64() -> None:
    """Its bytes are kept."""
    found = record(exchange(b'{"messages": "\xff"}'))
    assert "request" not in found
    assert found["request_base64"] == "eyJtZXNzYWdlcyI6ICL/In0="


def test_a_compressed_request_is_recorded_plain() -> None:
    """What the provider read is what counts."""
    call = exchange(gzip.compress(BODY), headers=[("content-encoding", "gzip")])
    assert record(call)["request"] == BODY.decode()


def test_no_bodies_means_none() -> None:
    """The rest is there."""
    found = record(exchange(), Keep(bodies=False))
    assert found["request"] is None
    assert found["response"]["id"] == "a-1"


def test_a_request_that_is_too_large_is_truncated() -> None:
    """Half of a JSON text is of no use, so none of it is kept."""
    found = record(exchange(request=captured(BODY, limit_bytes=10)))
    assert (found["request"], found["truncated"]) == (None, True)


def test_a_stream_that_is_too_large_keeps_its_usage() -> None:
    """The beginning has the id, the end has the figures."""
    start = b'data: {"id": "c-1", "model": "m", "choices": [], "usage": null}\n\n'
    filler = b'data: {"id": "c-1", "choices": [{"delta": {"content": "x"}}], "usage": null}\n\n'
    end = b'data: {"id": "c-1", "choices": [], "usage": {"prompt_tokens": 7}}\n\n'
    call = exchange(
        response=captured(start + filler * 50_000 + end, limit_bytes=1000),
        kind="text/event-stream",
    )
    response = record(call)["response"]
    assert (response["id"], response["usage"]) == ("c-1", {"prompt_tokens": 7})


def test_a_compressed_answer_that_is_too_large_is_not_read() -> None:
    """There is no way into the middle of it."""
    call = exchange(response=captured(gzip.compress(b"{}" * 99), limit_bytes=9), encoding="gzip")
    assert record(call)["response"] is None


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        (b'data: {"id": "x", "choices": []}\n\ndata: [DONE]\n\n', None),
        (b'event: message_stop\ndata: {"type": "message_stop"}\n\n', None),
        (b'event: response.completed\ndata: {"type": "response.completed"}\n\n', None),
        (b'event: message_stop\r\ndata: {"type": "message_stop"}\r\n\r\n', None),
        (b'data: {"id": "x", "choices": []}\n\n', "client_left"),
        (b'data: {"text": "[DONE]"}\n\ndata: {}\n\n', "client_left"),
        (b"", "client_left"),
    ],
)
def test_who_leaves_after_the_last_event_has_not_left(answer: bytes, failed: str | None) -> None:
    """OpenAI's client closes a stream at its last event, before the end of the body."""
    call = exchange(answer=answer, kind="text/event-stream", failed="client_left")
    assert record(call)["failed"] == failed


def test_headers_are_kept_by_name() -> None:
    """Those that bear on caching and routing, and none that nobody thought of."""
    headers = [
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "a"),
        ("anthropic-beta", "b"),
        ("x-session-id", "s" * 2000),
        ("openai-project", "proj"),
        ("x-unknown", "value"),
        ("accept", "*/*"),
    ]
    assert record(exchange(headers=headers))["headers"] == {
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "a, b",
        "x-session-id": "s" * 1024,
        "openai-project": KEY.digest("proj"),
    }
