import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from stemcache.trace.calls.call import Fidelity
from stemcache.wire.api import Api
from tests.trace.calls.logs import MESSAGES, one, read_records

SENT = json.dumps(MESSAGES, indent=1)
RECORD: dict[str, Any] = {
    "stemcache": 1,
    "time": 1772352000.0,
    "answered": 1772352000.5,
    "ended": 1772352002.0,
    "method": "POST",
    "url": "https://api.anthropic.com/v1/messages?beta=true",
    "scope": "0123456789abcdef",
    "headers": {"anthropic-version": "2023-06-01", "x-session-id": "s1", "x-api-key": "secret"},
    "request": SENT,
    "status": 200,
    "failed": None,
    "response_headers": {},
    "response": {
        "id": "msg_01",
        "usage": {"input_tokens": 3, "service_tier": "batch"},
        "diagnostics": {"cache_miss_reason": {"type": "tools_changed"}},
        "content": None,
    },
    "truncated": False,
}


def test_a_record_is_read_whole(tmp_path: Path) -> None:
    """Body, bytes, times, status, scope and answer are as they were recorded."""
    call = one(tmp_path, RECORD)
    assert (call.body, call.raw) == (MESSAGES, SENT.encode())
    assert (call.fidelity, call.api, call.model) == (
        Fidelity.WIRE,
        Api.MESSAGES,
        "claude-opus-5",
    )
    assert call.place.inner == "/request"
    assert (call.time_s, call.answered_s, call.ended_s) == (
        1772352000.0,
        1772352000.5,
        1772352002.0,
    )
    assert (call.host, call.path, call.status, call.failed) == (
        "api.anthropic.com",
        "/v1/messages",
        200,
        False,
    )
    assert (call.scope, call.session, call.tier) == ("0123456789abcdef", "s1", "batch")
    assert (call.id, call.answer) == ("msg_01", None)
    assert call.usage == {"input_tokens": 3, "service_tier": "batch"}
    assert call.diagnostics == {"cache_miss_reason": {"type": "tools_changed"}}


def test_headers_are_sifted_again(tmp_path: Path) -> None:
    """A credential that somebody put into a record does not come out of it."""
    assert one(tmp_path, RECORD).headers == {
        "anthropic-version": "2023-06-01",
        "x-session-id": "s1",
    }


def test_answers_keep_their_content(tmp_path: Path) -> None:
    """Content blocks are given where they were recorded."""
    content = [{"type": "text", "text": "At six."}]
    record = {**RECORD, "response": {"id": "msg_01", "usage": {}, "content": content}}
    assert one(tmp_path, record).answer == content


def test_bytes_come_as_base64(tmp_path: Path) -> None:
    """A body that is no UTF-8 has its bytes kept, and cannot be read as a request."""
    coded = {**RECORD, "request_base64": b64encode(SENT.encode()).decode()}
    del coded["request"]
    call = one(tmp_path, coded)
    assert (call.raw, call.place.inner) == (SENT.encode(), "/request_base64")
    broken = {**coded, "request_base64": b64encode(b'{"a": "\xff"}').decode()}
    calls, log = read_records(tmp_path, [broken])
    assert (calls, dict(log.problems.counts)) == (
        [],
        {"the request: the text is not UTF-8": 1},
    )


@pytest.mark.parametrize(
    "change",
    [
        {"status": 529, "response": None},
        {"status": None, "failed": "no_connection", "answered": None},
    ],
)
def test_failed_calls_say_so(tmp_path: Path, change: dict[str, Any]) -> None:
    """A refusal and a broken connection are failed calls."""
    assert one(tmp_path, {**RECORD, **change}).failed


def test_an_answer_that_broke_off_is_no_failure(tmp_path: Path) -> None:
    """A call whose answer had begun wrote its cache, however it ended."""
    assert not one(tmp_path, {**RECORD, "failed": "dropped"}).failed


def test_bodies_that_were_not_kept_leave_usage(tmp_path: Path) -> None:
    """A record without a body, for whatever reason, is a call with usage alone."""
    call = one(tmp_path, {**RECORD, "request": None, "truncated": True})
    assert (call.body, call.raw, call.fidelity) == (None, None, Fidelity.USAGE_ONLY)
    assert (call.id, call.usage) == ("msg_01", RECORD["response"]["usage"])


def test_a_body_that_lost_a_credential_is_not_the_bytes(tmp_path: Path) -> None:
    """What was cut out of a body makes it less than what was sent."""
    assert one(tmp_path, {**RECORD, "redacted": True}).fidelity is Fidelity.RESERIALISED


def test_other_requests_are_left_out(tmp_path: Path) -> None:
    """A recorded request without a prompt, such as a list of models, is no call."""
    records = [{**RECORD, "request": ""}, {**RECORD, "request": '{"a": 1}'}]
    calls, log = read_records(tmp_path, records)
    assert (calls, log.left_out) == ([], {"requests without a prompt": 2})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"stemcache": 2},
            "the record is of another version of stemcache",
        ),
        ({"request": 5}, "the request is neither a text nor base64"),
        ({"request": "{"}, "the request: the JSON ends early"),
        ({"request": None, "request_base64": "?"}, "the request is no base64"),
    ],
)
def test_bad_records_are_counted(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    """What cannot be read is a problem that says what it lacks."""
    calls, log = read_records(tmp_path, [{**RECORD, **change}])
    assert (calls, dict(log.problems.counts)) == ([], {reason: 1})
