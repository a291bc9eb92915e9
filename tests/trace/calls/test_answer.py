import json
from typing import Any

import pytest

from stemcache.trace.calls.answer import Answer, answer_of
from tests.trace.calls.logs import ANSWERED

CHAT = {
    "id": "chatcmpl-1",
    "model": "gpt-5.5",
    "service_tier": "flex",
    "choices": [{"message": {"role": "assistant", "content": "At six."}}],
    "usage": {"prompt_tokens": 20},
}
RESPONSES = {
    "id": "resp_1",
    "object": "response",
    "error": None,
    "model": "gpt-6.1-sol",
    "service_tier": "default",
    "output": [{"type": "message"}],
    "usage": {"input_tokens": 20},
    "prompt_cache_diagnostics": {"reason": "tools_changed"},
}
GEMINI = {
    "responseId": "g1",
    "modelVersion": "gemini-4-argon",
    "candidates": [{"content": {"parts": [{"text": "At six."}]}}],
    "usageMetadata": {"promptTokenCount": 20},
}


def test_anthropic() -> None:
    """Id, usage, content, diagnostics and geography of a message are read."""
    assert answer_of(ANSWERED) == Answer(
        id="msg_01",
        model="claude-opus-5",
        usage=ANSWERED["usage"],
        content=ANSWERED["content"],
        diagnostics=ANSWERED["diagnostics"],
        region="us",
    )


def test_openai() -> None:
    """Chat gives its message, Responses its items and diagnostics; the default tier is none."""
    assert answer_of(CHAT) == Answer(
        id="chatcmpl-1",
        model="gpt-5.5",
        usage={"prompt_tokens": 20},
        content=[{"role": "assistant", "content": "At six."}],
        tier="flex",
    )
    assert answer_of(RESPONSES) == Answer(
        id="resp_1",
        model="gpt-6.1-sol",
        usage={"input_tokens": 20},
        content=[{"type": "message"}],
        diagnostics={"reason": "tools_changed"},
    )


def test_gemini_and_converse() -> None:
    """Their usage and parts are read from where they keep them."""
    assert answer_of(GEMINI) == Answer(
        id="g1",
        model="gemini-4-argon",
        usage={"promptTokenCount": 20},
        content=[{"text": "At six."}],
    )
    converse = {"output": {"message": {"content": [{"text": "x"}]}}, "usage": {"inputTokens": 1}}
    assert answer_of(converse) == Answer(usage={"inputTokens": 1}, content=[{"text": "x"}])


@pytest.mark.parametrize("answer", [ANSWERED, CHAT, RESPONSES, GEMINI])
def test_wrappers_are_opened(answer: dict[str, Any]) -> None:
    """An answer as a text, in a body, or in a response is the same answer, with its status."""
    plain = answer_of(answer)
    assert plain is not None
    assert answer_of(json.dumps(answer)) == plain
    assert answer_of({"headers": {}, "body": json.dumps(answer)}) == plain
    held = answer_of({"status_code": 200, "body": answer})
    assert held is not None
    assert (held.id, held.usage, held.status) == (plain.id, plain.usage, 200)


def test_an_anthropic_stream() -> None:
    """Usage is the last word on each field, blocks are joined, diagnostics come last."""
    start = {"type": "message_start", "message": {**ANSWERED, "content": [], "diagnostics": None}}
    events: list[dict[str, Any]] = [
        start,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
        {"type": "content_block_delta", "index": 0, "delta": {"thinking": "Hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"signature": "sig"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use"}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"a"'}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ": 1}"}},
        {"type": "ping"},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 30, "cache_read_input_tokens": None},
            "diagnostics": {"cache_miss_reason": {"type": "tools_changed"}},
        },
        {"type": "message_stop"},
    ]
    expected = Answer(
        id="msg_01",
        model="claude-opus-5",
        usage={**ANSWERED["usage"], "output_tokens": 30},
        content=[
            {"type": "thinking", "thinking": "Hm", "signature": "sig"},
            {"type": "tool_use", "input": {"a": 1}},
        ],
        diagnostics={"cache_miss_reason": {"type": "tools_changed"}},
        region="us",
    )
    text = "".join(
        f"event: {event['type']}\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events
    )
    assert answer_of(events) == expected
    assert answer_of(text) == expected
    assert answer_of([f"data: {json.dumps(event)}\n\n" for event in events]) == expected
    assert answer_of([{"event": event["type"], "data": event} for event in events]) == expected


def test_a_chat_stream() -> None:
    """Pieces of text and of calls are joined, and the last chunk has the usage."""

    def chunk(delta: dict[str, Any]) -> dict[str, Any]:
        return {"id": "c1", "model": "gpt-5.5", "choices": [{"delta": delta}], "usage": None}

    call = {"index": 0, "id": "t1", "function": {"name": "find", "arguments": '{"a"'}}
    events = [
        chunk({"role": "assistant", "content": "At "}),
        chunk({"content": "six."}),
        chunk({"tool_calls": [call]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
        {"id": "c1", "choices": [], "usage": {"prompt_tokens": 20}},
    ]
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    made = {"id": "t1", "type": "function", "function": {"name": "find", "arguments": '{"a":1}'}}
    assert answer_of(text) == Answer(
        id="c1",
        model="gpt-5.5",
        usage={"prompt_tokens": 20},
        content=[{"role": "assistant", "content": "At six.", "tool_calls": [made]}],
    )


def test_other_streams() -> None:
    """Responses ends with the whole response, Gemini counts on, Converse tells its metadata."""
    events = [
        {"type": "response.created", "response": {"id": "resp_1", "usage": None}},
        {"type": "response.output_text.delta", "delta": "At"},
        {"type": "response.completed", "response": RESPONSES},
    ]
    assert answer_of(events) == answer_of(RESPONSES)
    parts = [{"text": "At "}, {"text": "six."}]
    chunks = [
        {
            "responseId": "g1",
            "candidates": [{"content": {"parts": [part]}}],
            "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": number},
        }
        for number, part in enumerate(parts)
    ]
    assert answer_of(chunks) == Answer(
        id="g1",
        usage={"promptTokenCount": 20, "candidatesTokenCount": 1},
        content=parts,
    )
    converse = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "At six."}}},
        {"metadata": {"usage": {"inputTokens": 3}}},
    ]
    assert answer_of(converse) == Answer(
        usage={"inputTokens": 3}, content=[{"type": "text", "text": "At six."}]
    )


def test_the_usage_of_streams_of_other_servers() -> None:
    """Zeros at the end undo nothing, and usage is found where Groq and Moonshot put it."""
    gateway = [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 9}}},
        {"type": "message_delta", "usage": {"input_tokens": 0, "output_tokens": 3}},
    ]
    assert answer_of(gateway) == Answer(id="m", usage={"input_tokens": 9, "output_tokens": 3})
    said = {"prompt_tokens": 7}
    for last in ({"choices": [], "x_groq": {"usage": said}}, {"choices": [{"usage": said}]}):
        answer = answer_of([{"id": "c", "choices": [{"delta": {"content": "a"}}]}, last])
        assert answer is not None
        assert answer.usage == said


@pytest.mark.parametrize(
    "refusal",
    [
        {"error": {"message": "overloaded"}},
        {"type": "error", "error": {"type": "rate_limit_error"}},
        {"status_code": 500, "body": None},
        {"status": 404},
        [{"type": "error", "error": {"type": "overloaded_error"}}],
        'event: error\ndata: {"type": "error", "error": {}}\n\n',
    ],
)
def test_refusals(refusal: object) -> None:
    """An error in place of an answer, or a status that says so, is a failure."""
    answer = answer_of(refusal)
    assert answer is not None
    assert answer.failed


def test_an_error_behind_an_answer_is_none() -> None:
    """A stream that broke after it began did write its cache: it is no failed call."""
    events = [
        {"type": "message_start", "message": ANSWERED},
        {"type": "error", "error": {"type": "overloaded_error"}},
    ]
    answer = answer_of(events)
    assert answer is not None
    assert not answer.failed


@pytest.mark.parametrize("nothing", [None, 5, True, "", "plain text", [], [1, None], {}, {"a": 1}])
def test_no_answers(nothing: object) -> None:
    """What is no answer is none, and no error."""
    assert answer_of(nothing) is None
