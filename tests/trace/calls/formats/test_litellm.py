from pathlib import Path
from typing import Any

from stemcache.trace.calls.call import Fidelity
from stemcache.wire.api import Api
from tests.trace.calls.logs import CHAT, MESSAGES, one, read_records

PAYLOAD: dict[str, Any] = {
    "id": "chatcmpl-1",
    "trace_id": "trace-1",
    "call_type": "acompletion",
    "status": "success",
    "response_cost": 0.012,
    "custom_llm_provider": "anthropic",
    "api_base": "https://api.anthropic.com/v1/messages",
    "model": "claude-opus-5",
    "model_group": "smart",
    "startTime": 1772352000.0,
    "completionStartTime": 1772352000.5,
    "endTime": 1772352002.0,
    "cache_hit": None,
    "metadata": {"user_api_key_hash": "88dc28", "user_api_key_alias": "team-a"},
    "messages": CHAT["messages"],
    "model_parameters": {"temperature": 0, "tools": []},
    "prompt_tokens": 2010,
    "completion_tokens": 4,
    "response": {
        "id": "chatcmpl-1",
        "choices": [{"message": {"role": "assistant", "content": "At six."}}],
        "usage": {"prompt_tokens": 2010, "prompt_tokens_details": {"cached_tokens": 2000}},
    },
}
ROW: dict[str, Any] = {
    "request_id": "chatcmpl-2",
    "call_type": "anthropic_messages",
    "api_key": "88dc28",
    "spend": 0.02,
    "startTime": "2026-03-01T08:00:00.000Z",
    "endTime": "2026-03-01T08:00:02.000Z",
    "model": "claude-opus-5",
    "messages": {},
    "response": {},
    "proxy_server_request": {},
    "cache_hit": "False",
    "prompt_tokens": 10,
    "completion_tokens": 4,
    "metadata": {"additional_usage_values": {"cache_read_input_tokens": 2000, "x": None}},
}


def test_a_payload_is_put_together(tmp_path: Path) -> None:
    """Messages and parameters make a body; usage, cost, times and key alias are read."""
    call = one(tmp_path, PAYLOAD)
    assert call.body == {
        "model": "claude-opus-5",
        "messages": CHAT["messages"],
        "temperature": 0,
        "tools": [],
    }
    assert (call.fidelity, call.api, call.host) == (
        Fidelity.RECONSTRUCTED,
        Api.CHAT,
        "api.anthropic.com",
    )
    assert call.usage == PAYLOAD["response"]["usage"]
    assert (call.billed_usd, call.route, call.session) == (0.012, "team-a", "trace-1")
    assert (call.time_s, call.answered_s, call.ended_s) == (
        1772352000.0,
        1772352000.5,
        1772352002.0,
    )
    assert call.answer == [{"role": "assistant", "content": "At six."}]


def test_a_received_body_is_taken(tmp_path: Path) -> None:
    """Where the proxy logged what it received, that is the body; a table loses its key order."""
    asked = {"url": "http://proxy:4000/v1/messages?x=1", "body": MESSAGES}
    call = one(tmp_path, {**PAYLOAD, "proxy_server_request": asked})
    assert (call.body, call.fidelity) == (MESSAGES, Fidelity.RESERIALISED)
    assert (call.api, call.path, call.host) == (
        Api.MESSAGES,
        "/v1/messages",
        "api.anthropic.com",
    )
    row = one(tmp_path, {**ROW, "proxy_server_request": MESSAGES})
    assert (row.body, row.fidelity, row.api) == (MESSAGES, Fidelity.UNORDERED, Api.MESSAGES)


def test_rows_without_prompts_have_usage(tmp_path: Path) -> None:
    """A table that stores no prompts gives usage and cost."""
    call = one(tmp_path, ROW)
    assert (call.body, call.fidelity, call.id) == (None, Fidelity.USAGE_ONLY, "chatcmpl-2")
    assert call.usage == {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "cache_read_input_tokens": 2000,
    }
    assert (call.billed_usd, call.ended_s) == (0.02, 1772352002.0)


def test_its_own_cache_is_no_call(tmp_path: Path) -> None:
    """What LiteLLM answered by itself never reached a provider."""
    calls, log = read_records(
        tmp_path, [{**ROW, "cache_hit": "True"}, {**PAYLOAD, "cache_hit": True}, PAYLOAD]
    )
    assert (len(calls), log.left_out) == (
        1,
        {"answered by LiteLLM's own cache, never sent": 2},
    )


def test_marred_texts_are_known(tmp_path: Path) -> None:
    """Redacted and cut prompts say so, so that nobody compares them."""
    gone = [{"role": "user", "content": "redacted-by-litellm"}]
    cut = [{"role": "user", "content": "Once ... (litellm_truncated 900 chars) ... end"}]
    assert one(tmp_path, {**PAYLOAD, "messages": gone}).fidelity is Fidelity.REDACTED
    assert one(tmp_path, {**PAYLOAD, "messages": cut}).fidelity is Fidelity.TRUNCATED


def test_failures_say_so(tmp_path: Path) -> None:
    """A payload of a failure is a failed call."""
    failed = {**PAYLOAD, "status": "failure", "response": None, "error_str": "rate limited"}
    assert one(tmp_path, failed).failed


def test_wrapped_payloads_are_found(tmp_path: Path) -> None:
    """The payload may stand in the record of a callback."""
    call = one(tmp_path, {"standard_logging_object": PAYLOAD, "litellm_params": {}})
    assert call.place.inner == "/standard_logging_object/messages"
    assert call.id == "chatcmpl-1"
