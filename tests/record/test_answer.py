"""Answers of every API, whole and streamed, reduced to what matters to a cache."""

import json
import tracemalloc
from typing import Any

import pytest

from stemcache.record.answer import reduced, reduced_body


def sse(*events: object) -> bytes:
    """Server-sent events."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


GEMINI = {
    "responseId": "g-1",
    "modelVersion": "gemini-4",
    "candidates": [{"content": {"parts": [{"text": "Hi"}]}}],
    "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 8},
}
STREAM = "text/event-stream; charset=utf-8"


@pytest.mark.parametrize("content", [False, True])
@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (json.dumps(GEMINI).encode(), "application/json", ("g-1", 10)),
        (json.dumps([{"candidates": []}, GEMINI]).encode(), "application/json", ("g-1", 10)),
        (sse({"responseId": "g-1"}, {}, {}, GEMINI), STREAM, ("g-1", 10)),
    ],
)
def test_gemini(body: bytes, kind: str, expected: tuple[str, int], *, content: bool) -> None:
    """Whole, as an array, and as events."""
    found = reduced_body(body, kind, content=content)
    assert found is not None
    assert (found["id"], found["usage"]["promptTokenCount"]) == expected
    assert (found["content"] is not None) == content


def test_texts_of_a_stream_are_joined_when_asked_for() -> None:
    """Tool calls too."""
    chunk = {"id": "c-1", "object": "chat.completion.chunk", "usage": None}
    call = {"index": 0, "id": "t-1", "function": {"name": "f", "arguments": '{"a"'}}
    more = {"index": 0, "function": {"arguments": ": 1}"}}
    body = sse(
        {**chunk, "choices": [{"index": 0, "delta": {"content": "Hel"}}]},
        {**chunk, "choices": [{"index": 0, "delta": {"content": "lo"}}]},
        {**chunk, "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
        {**chunk, "choices": [{"index": 0, "delta": {"tool_calls": [more]}}]},
    )
    found = reduced_body(body, STREAM, content=True)
    assert found is not None
    (message,) = found["content"]
    assert message["content"] == "Hello"
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}
    assert reduced_body(body, STREAM, content=False) == {**found, "content": None}


def test_an_error_in_a_stream_is_told() -> None:
    """With what came before it."""
    body = sse(
        {"type": "message_start", "message": {"id": "m-1", "usage": {"input_tokens": 3}}},
        {"type": "ping"},
        {"type": "ping"},
        {"type": "error", "error": {"type": "overloaded_error", "message": "secret text"}},
    )
    found = reduced_body(body, STREAM, content=False)
    assert found is not None
    assert (found["id"], found["error"]) == ("m-1", "overloaded_error")
    assert "secret" not in json.dumps(found)


def test_diagnostics_of_both_vendors_are_kept() -> None:
    """Anthropic's in a message, OpenAI's in a response that has ended."""
    word = {"cache_miss_reason": {"type": "tools_changed"}}
    whole = {"id": "m", "usage": {"input_tokens": 1}, "diagnostics": word}
    assert (reduced(whole, content=False) or {})["diagnostics"] == word
    miss = {"type": "cache_miss", "cache_missed_tokens": 100}
    response = {"id": "r", "usage": {"input_tokens": 1}, "prompt_cache_diagnostics": miss}
    body = sse({"type": "response.completed", "response": response})
    found = reduced_body(body, STREAM, content=False)
    assert found is not None
    assert found["diagnostics"] == miss


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "x",
        [],
        [1, None],
        {},
        {"usage": []},
        {"id": 5},
        {"choices": {}},
        {"x": float("nan")},
    ],
)
def test_what_is_no_answer_is_none(value: Any) -> None:
    """And raises nothing."""
    assert reduced(value, content=True) is None


def test_what_is_too_large_is_left_out() -> None:
    """A usage of 64 KiB is none; a name is cut."""
    found = reduced({"id": "i" * 9999, "usage": {"a": "x" * 70_000, "b": 1}}, content=False)
    assert found is not None
    assert found["usage"] is None
    assert len(found["id"]) == 512


USAGE = b'"usage": {"prompt_tokens": 7}'


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"id": "c", "choices": [' + b"{}," * 3_000_000 + b"{}], " + USAGE + b"}", ""),
        (b'{"id": "c", ' + USAGE + b', "x": "' + b"y" * 2**24 + b'"}', "application/json"),
        (
            b'data: {"id": "c", "choices": []}\n\n'
            + (b"x" * 9_999 + b"\n") * 1_000
            + b'data: {"choices": [], '
            + USAGE
            + b"}\n\n",
            STREAM,
        ),
        (
            b'data: {"id": "c", "choices": []}\n\n: '
            + b"x" * 2**24
            + b'\ndata: {"choices": [], '
            + USAGE
            + b"}\n\n",
            STREAM,
        ),
    ],
)
def test_large_answers_cost_no_more_than_their_length(body: bytes, kind: str) -> None:
    """Id and usage are found without decoding the rest."""
    tracemalloc.start()
    try:
        found = reduced_body(body, kind, content=False)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None
    assert (found["id"], found["usage"]) == ("c", {"prompt_tokens": 7})
    assert peak_bytes < 3 * len(body)
