import json
from pathlib import Path
from typing import Any

from stemcache.trace.calls.call import Fidelity
from stemcache.trace.calls.headers import scope_digest
from stemcache.wire.api import Api
from tests.trace.calls.logs import ANSWERED, MESSAGES, one

ASKED = {
    "messages": [{"role": "user", "content": [{"text": "When?"}, {"cachePoint": {}}]}],
    "system": [{"text": "Answer."}],
}
LOGGED: dict[str, Any] = {
    "schemaType": "ModelInvocationLog",
    "schemaVersion": "1.0",
    "timestamp": "2026-03-01T08:00:00Z",
    "accountId": "111122223333",
    "identity": {"arn": "arn:aws:sts::111122223333:assumed-role/App/session-1"},
    "region": "us-east-1",
    "requestId": "915a6a04",
    "operation": "Converse",
    "modelId": "us.anthropic.claude-opus-5-v1:0",
    "input": {
        "inputContentType": "application/json",
        "inputBodyJson": ASKED,
        "inputTokenCount": 35,
        "cacheReadInputTokenCount": 2000,
        "cacheWriteInputTokenCount": 0,
    },
    "output": {
        "outputContentType": "application/json",
        "outputBodyJson": {
            "output": {"message": {"role": "assistant", "content": [{"text": "At six."}]}},
            "usage": {"inputTokens": 35, "outputTokens": 4, "cacheReadInputTokens": 2000},
        },
        "outputTokenCount": 4,
    },
}


def test_converse_is_read(tmp_path: Path) -> None:
    """Body, model, usage, answer, account and region of a Converse record are read."""
    call = one(tmp_path, LOGGED)
    assert (call.body, call.api, call.fidelity) == (ASKED, Api.CONVERSE, Fidelity.UNORDERED)
    assert (call.model, call.host, call.region) == (
        "us.anthropic.claude-opus-5-v1:0",
        "bedrock",
        "us-east-1",
    )
    assert call.usage == {"inputTokens": 35, "outputTokens": 4, "cacheReadInputTokens": 2000}
    assert (call.answer, call.id, call.time_s) == ([{"text": "At six."}], "915a6a04", 1772352000.0)
    assert call.scope == scope_digest("111122223333")


def test_a_stream_of_claude_is_put_together(tmp_path: Path) -> None:
    """The events of an InvokeModel stream give Anthropic's usage and content."""
    events = [
        {"type": "message_start", "message": {**ANSWERED, "content": [], "diagnostics": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "At "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "six"}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}},
    ]
    record = {
        **LOGGED,
        "operation": "InvokeModelWithResponseStream",
        "input": {"inputBodyJson": {**MESSAGES, "anthropic_version": "bedrock-2023-05-31"}},
        "output": {"outputBodyJson": events},
    }
    call = one(tmp_path, record)
    assert (call.api, call.id) == (Api.MESSAGES, "msg_01")
    assert call.usage == {**ANSWERED["usage"], "output_tokens": 9}
    assert call.answer == [{"type": "text", "text": "At six"}]


def test_bodies_in_s3_leave_usage(tmp_path: Path) -> None:
    """A record whose bodies are elsewhere has its counts, under Converse's names."""
    record = {
        **LOGGED,
        "operation": "InvokeModel",
        "input": {
            "inputBodyS3Path": "s3://bucket/key.json.gz",
            "inputTokenCount": 35,
            "cacheReadInputTokenCount": 2000,
        },
        "output": {"outputTokenCount": 4},
    }
    call = one(tmp_path, record)
    assert (call.body, call.fidelity, call.size_bytes) == (None, Fidelity.USAGE_ONLY, 0)
    assert call.usage == {"inputTokens": 35, "cacheReadInputTokens": 2000, "outputTokens": 4}
    assert (call.api, call.place.inner) == (Api.CONVERSE, "")


def test_exports_of_cloudwatch_are_unwrapped(tmp_path: Path) -> None:
    """A record may be a text in the message of a log event, or one of a document's events."""
    text = json.dumps(LOGGED)
    for name in ("@message", "message"):
        call = one(tmp_path, {"@timestamp": "2026-03-01 08:00:00.000", name: text})
        assert (call.body, call.place.inner) == (ASKED, f"/{name}/input/inputBodyJson")
    assert one(tmp_path, {"events": [{"timestamp": 1, "message": text}]}).body == ASKED


def test_refusals_failed(tmp_path: Path) -> None:
    """A record with an error code is a failed call."""
    record = {**LOGGED, "errorCode": "ThrottlingException", "output": {}}
    assert one(tmp_path, record).failed


def test_the_account_is_found_in_the_arn(tmp_path: Path) -> None:
    """Roles whose sessions differ share the scope of their account."""
    record = {name: value for name, value in LOGGED.items() if name != "accountId"}
    assert one(tmp_path, record).scope == scope_digest("111122223333")
