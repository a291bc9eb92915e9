import json
from pathlib import Path
from typing import Any

from stemcache.trace.calls.call import Fidelity
from stemcache.wire.api import Api
from tests.trace.calls.logs import CHAT, one, read_records


def _given(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP spells them."""

    def spelt(value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            return {"stringValue": value}
        if isinstance(value, int):
            return {"intValue": str(value)}
        if isinstance(value, list):
            return {"arrayValue": {"values": [spelt(item) for item in value]}}
        return {
            "kvlistValue": {
                "values": [{"key": key, "value": spelt(item)} for key, item in value.items()]
            }
        }

    return [{"key": key, "value": spelt(value)} for key, value in attributes.items()]


def _span(attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "traceId": "t1",
        "name": "chat gpt-5.5",
        "startTimeUnixNano": "1772352000000000000",
        "endTimeUnixNano": "1772352002000000000",
        "attributes": _given(attributes),
        **more,
    }


def _exported(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": list(spans)}]}]}


ASKED = [
    {"role": "user", "parts": [{"type": "text", "content": "When?"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"a": 1}}],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "six"}]},
]
GENAI: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5.5",
    "gen_ai.request.temperature": 0,
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.conversation.id": "talk-1",
    "gen_ai.usage.input_tokens": 2010,
    "gen_ai.usage.output_tokens": 4,
    "gen_ai.usage.cache_read.input_tokens": 2000,
    "gen_ai.system_instructions": [{"type": "text", "content": "Answer."}],
    "gen_ai.input.messages": json.dumps(ASKED),
}
MESSAGES = [
    {"role": "system", "content": [{"type": "text", "text": "Answer."}]},
    {"role": "user", "content": [{"type": "text", "text": "When?"}]},
    {
        "role": "assistant",
        "content": [],
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": {"a": 1}}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "six"},
]


def test_a_span_of_the_conventions_is_put_together(tmp_path: Path) -> None:
    """Instructions and parts become messages; usage, ids and times are read."""
    call = one(tmp_path, _exported(_span(GENAI)))
    assert call.body == {"model": "gpt-5.5", "temperature": 0, "messages": MESSAGES}
    assert (call.fidelity, call.api, call.id) == (Fidelity.RECONSTRUCTED, Api.CHAT, "chatcmpl-1")
    assert call.usage == {
        "gen_ai.usage.input_tokens": 2010,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 2000,
    }
    assert (call.host, call.session, call.route) == ("openai", "talk-1", "chat gpt-5.5")
    assert (call.time_s, call.ended_s) == (1772352000.0, 1772352002.0)
    assert call.place.inner == "/resourceSpans/0/scopeSpans/0/spans/0"


def test_contents_may_stand_in_an_event(tmp_path: Path) -> None:
    """Contents that an event of the span has count as the span's."""
    bare = {name: value for name, value in GENAI.items() if "messages" not in name}
    event = {"name": "x", "attributes": _given({"gen_ai.input.messages": json.dumps(ASKED)})}
    call = one(tmp_path, _exported(_span(bare, events=[event])))
    assert (call.body or {})["messages"] == MESSAGES


def test_spans_without_contents_have_usage(tmp_path: Path) -> None:
    """Most instrumentations log no contents: such a span has usage alone."""
    bare = {name: value for name, value in GENAI.items() if "usage" in name or "model" in name}
    call = one(tmp_path, _exported(_span(bare)))
    assert (call.body, call.fidelity, call.model) == (None, Fidelity.USAGE_ONLY, "gpt-5.5")


def test_one_line_may_hold_many_spans(tmp_path: Path) -> None:
    """Each span that asked a model is a call with a place of its own; others are left out."""
    tool = _span({"gen_ai.operation.name": "execute_tool"})
    second = {**GENAI, "gen_ai.response.id": "chatcmpl-2"}
    calls, log = read_records(tmp_path, [_exported(tool, _span(GENAI), _span(second))])
    assert [call.place.inner[-1] for call in calls] == ["1", "2"]
    assert log.left_out == {"spans that call no model": 1}
    assert [log.reread.body(call.place) for call in calls] == [call.body for call in calls]


def test_openinference_is_unflattened(tmp_path: Path) -> None:
    """Numbered attributes become messages and tools, in the order of their numbers."""
    flat: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-5.5",
        "llm.provider": "openai",
        "llm.invocation_parameters": '{"temperature": 0, "model": "x"}',
        "llm.input_messages.10.message.role": "user",
        "llm.input_messages.10.message.content": "And then?",
        "llm.input_messages.2.message.role": "assistant",
        "llm.input_messages.2.message.tool_calls.0.tool_call.id": "c1",
        "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "find",
        "llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments": "{}",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.contents.0.message_content.type": "text",
        "llm.input_messages.0.message.contents.0.message_content.text": "Answer.",
        "llm.tools.0.tool.json_schema": '{"type": "function"}',
        "llm.token_count.prompt": 30,
        "llm.token_count.prompt_details.cache_read": 20,
    }
    record = {
        "name": "call",
        "context": {"trace_id": "0x1"},
        "start_time": "2026-03-01T08:00:00.000000Z",
        "end_time": "2026-03-01T08:00:02.000000Z",
        "attributes": flat,
    }
    call = one(tmp_path, record)
    assert call.body == {
        "model": "gpt-5.5",
        "temperature": 0,
        "tools": [{"type": "function"}],
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Answer."}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "find", "arguments": "{}"},
                    }
                ],
            },
            {"role": "user", "content": "And then?"},
        ],
    }
    assert call.usage == {
        "llm.token_count.prompt": 30,
        "llm.token_count.prompt_details.cache_read": 20,
    }
    assert (call.session, call.time_s) == ("0x1", 1772352000.0)


def test_a_whole_request_is_taken(tmp_path: Path) -> None:
    """Where the input is a request as it was called, that is the body."""
    flat = {
        "openinference.span.kind": "LLM",
        "input.value": json.dumps(CHAT),
        "input.mime_type": "application/json",
    }
    call = one(tmp_path, _exported(_span(flat)))
    assert (call.body, call.fidelity) == (CHAT, Fidelity.RESERIALISED)


def test_openllmetry_is_unflattened(tmp_path: Path) -> None:
    """The older numbered prompts are read, and attributes that a store made objects of."""
    flat = {
        "llm.request.type": "chat",
        "gen_ai": {"request": {"model": "gpt-5.5"}, "usage": {"prompt_tokens": 30}},
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "When?",
    }
    call = one(tmp_path, {"name": "openai.chat", "attributes": flat})
    assert call.body == {"model": "gpt-5.5", "messages": [{"role": "user", "content": "When?"}]}
    assert call.usage == {"gen_ai.usage.prompt_tokens": 30}


def test_failed_spans_failed(tmp_path: Path) -> None:
    """A span that ended in an error and reports no usage is a failed call."""
    asked = {name: value for name, value in GENAI.items() if "usage" not in name}
    assert one(tmp_path, _exported(_span(asked, status={"code": 2}))).failed
    assert not one(tmp_path, _exported(_span(GENAI, status={"code": 2}))).failed
