import json
from pathlib import Path
from typing import Any

import pytest

from stemcache.trace.calls.call import Fidelity
from stemcache.trace.calls.headers import scope_digest
from stemcache.wire.api import Api
from tests.trace.calls.logs import ANSWERED, CHAT, MESSAGES, one, read, read_records

RESPONSES = {"model": "gpt-6.1-sol", "input": "When?", "previous_response_id": "resp_0"}
COMPLETIONS = {"model": "m", "prompt": [1, 2, 3]}
CONVERSE = {"messages": [{"role": "user", "content": [{"text": "When?"}]}], "inferenceConfig": {}}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "When?"}]}]}


@pytest.mark.parametrize(
    ("body", "api"),
    [
        (CHAT, Api.CHAT),
        (MESSAGES, Api.MESSAGES),
        (RESPONSES, Api.RESPONSES),
        (COMPLETIONS, Api.COMPLETIONS),
        (CONVERSE, Api.CONVERSE),
        (GEMINI, Api.GENERATE),
    ],
)
def test_bare_bodies_of_each_api(tmp_path: Path, body: dict[str, Any], api: Api) -> None:
    """A line that is a body is read as it is, and is its own bytes."""
    call = one(tmp_path, body)
    assert (call.body, call.api, call.fidelity) == (body, api, Fidelity.WIRE)
    assert (call.raw, call.place.line, call.place.inner) == (None, 1, "")
    assert call.size_bytes == len(json.dumps(body))


def test_key_order_is_kept(tmp_path: Path) -> None:
    """The keys of a body stand in the order of the file."""
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"z": 1, "messages": [{"role": "user", "content": "x", "b": 1, "a": 2}], "c": 1}'
    )
    (call,), _ = read(str(path))
    assert call.body is not None
    assert list(call.body) == ["z", "messages", "c"]
    assert list(call.body["messages"][0]) == ["role", "content", "b", "a"]


@pytest.mark.parametrize(
    ("record", "inner"),
    [
        ({"body": MESSAGES}, "/body"),
        ({"request": MESSAGES}, "/request"),
        ({"params": MESSAGES}, "/params"),
        ({"payload": MESSAGES}, "/payload"),
        ({"request_body": MESSAGES}, "/request_body"),
        ({"request.body": MESSAGES}, "/request.body"),
        ({"request": {"body": MESSAGES, "url": "/v1/messages"}}, "/request/body"),
        ({"payload": {"request": MESSAGES}}, "/payload/request"),
    ],
)
def test_wrapped_bodies(tmp_path: Path, record: dict[str, Any], inner: str) -> None:
    """A body in a record was spelt anew, and its place says where it stands."""
    call = one(tmp_path, record)
    assert (call.body, call.fidelity, call.place.inner) == (MESSAGES, Fidelity.RESERIALISED, inner)


def test_a_body_as_a_text_has_its_bytes(tmp_path: Path) -> None:
    """A body that was logged as a text is as it was sent, and its bytes are given."""
    sent = json.dumps(MESSAGES, indent=3)
    for record in (
        {"request": sent},
        {"request": {"body": sent}},
        {"request": json.dumps({"body": sent})},
    ):
        call = one(tmp_path, record)
        assert (call.body, call.raw, call.fidelity) == (MESSAGES, sent.encode(), Fidelity.WIRE)


def test_what_stands_near_is_read(tmp_path: Path) -> None:
    """Times, session, tenant, route, URL, status, cost, headers and answer are found."""
    record = {
        "timestamp": "2026-03-01T08:00:00Z",
        "ended_at": 1772352002000,
        "session_id": 7,
        "tenant": "acme",
        "route": "search",
        "cost_usd": 0.5,
        "request": {
            "url": "https://api.anthropic.com/v1/messages?x=1",
            "headers": {"Authorization": "Bearer secret", "User-Agent": "app/1"},
            "body": MESSAGES,
        },
        "response": {"status_code": 200, "body": ANSWERED},
    }
    call = one(tmp_path, record)
    assert (call.time_s, call.ended_s) == (1772352000.0, 1772352002.0)
    assert (call.session, call.scope, call.route) == ("7", scope_digest("acme"), "search")
    assert (call.host, call.path, call.status) == ("api.anthropic.com", "/v1/messages", 200)
    assert (call.billed_usd, call.headers) == (0.5, {"user-agent": "app/1"})
    assert (call.id, call.usage, call.region) == ("msg_01", ANSWERED["usage"], "us")
    assert (call.answer, call.diagnostics) == (ANSWERED["content"], ANSWERED["diagnostics"])
    assert "secret" not in repr(call)


def test_a_flat_record_loses_what_no_request_has(tmp_path: Path) -> None:
    """A time beside the messages is no parameter; what an API takes stays."""
    flat = {
        "timestamp": 1772352000,
        "id": "x",
        **CHAT,
        "temperature": 0,
        "user": "ann",
        "usage": {"prompt_tokens": 20},
        "response": {"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 1}},
        "latency_ms": 5,
    }
    call = one(tmp_path, flat)
    assert call.body == {**CHAT, "temperature": 0, "user": "ann"}
    assert (call.fidelity, call.time_s) == (Fidelity.RESERIALISED, 1772352000.0)
    assert (call.id, call.usage) == ("chatcmpl-1", {"prompt_tokens": 20})


def test_routing_of_openrouter_stays_in_the_body(tmp_path: Path) -> None:
    """An object named provider is a parameter; a text of that name is who answered."""
    asked = one(tmp_path, {**CHAT, "provider": {"order": ["a"]}})
    assert (asked.body or {})["provider"] == {"order": ["a"]}
    named = one(tmp_path, {**CHAT, "provider": "openai"})
    assert (named.body, named.host) == (CHAT, "openai")


def test_previous_responses_are_named(tmp_path: Path) -> None:
    """The response that a request goes on from is read from wherever the API has it."""
    assert one(tmp_path, RESPONSES).previous_id == "resp_0"
    asked = {**MESSAGES, "diagnostics": {"previous_message_id": "msg_0"}}
    assert one(tmp_path, asked).previous_id == "msg_0"


@pytest.mark.parametrize(
    "more",
    [
        {"status": 429},
        {"response": {"error": {"message": "no"}}},
        {"response": {"status_code": "503"}},
        {"error": "timeout"},
    ],
)
def test_failed_calls(tmp_path: Path, more: dict[str, Any]) -> None:
    """A status of 400 and more, or an error and no answer, is a failed call."""
    assert one(tmp_path, {"request": CHAT, **more}).failed


def test_the_model_may_stand_in_the_path(tmp_path: Path) -> None:
    """Gemini's and Bedrock's paths name the model."""
    google = {"url": "https://x.googleapis.com/v1beta/models/gemini-4:generateContent?key=secret"}
    amazon = {"url": "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.claude:0/converse"}
    assert one(tmp_path, {**google, "body": GEMINI}).model == "gemini-4"
    assert one(tmp_path, {**amazon, "body": CONVERSE}).model == "us.claude:0"
    assert "secret" not in repr(one(tmp_path, {**google, "body": GEMINI}))


def test_tiers(tmp_path: Path) -> None:
    """What was served counts before what was asked for; the default tier is none."""
    assert one(tmp_path, {**CHAT, "service_tier": "flex"}).tier == "flex"
    assert one(tmp_path, {**CHAT, "service_tier": "auto"}).tier is None
    served = {"id": "x", "choices": [], "usage": {}, "service_tier": "priority"}
    assert one(tmp_path, {"body": {**CHAT, "service_tier": "auto"}, "response": served}).tier == (
        "priority"
    )


def test_usage_alone_is_a_call(tmp_path: Path) -> None:
    """A record of usage, or of an answer, is a call without a body."""
    told = one(tmp_path, {"time": 1772352000, "model": "m", "usage": {"prompt_tokens": 20}})
    assert (told.body, told.fidelity, told.model) == (None, Fidelity.USAGE_ONLY, "m")
    assert (told.usage, told.time_s) == ({"prompt_tokens": 20}, 1772352000.0)
    for record in (ANSWERED, {"response": ANSWERED}, {"response": {"body": ANSWERED}, "usage": {}}):
        came = one(tmp_path, {**record, "usage": ANSWERED["usage"]})
        assert (came.id, came.usage, came.body) == ("msg_01", ANSWERED["usage"], None)


def test_records_without_a_body_are_counted(tmp_path: Path) -> None:
    """A record of something else in a log of bodies is a problem, and the others are read."""
    calls, log = read_records(tmp_path, [CHAT, {"event": "start"}, 5, CHAT])
    assert len(calls) == 2
    assert dict(log.problems.counts) == {
        "no request body: no messages, contents, prompt or input": 1,
        "the record is no object": 1,
    }
    assert [str(problem) for problem in log.problems.examples] == [
        f"{calls[0].place.file}:2: no request body: no messages, contents, prompt or input",
        f"{calls[0].place.file}:3: the record is no object",
    ]
