"""What the gateway says itself."""

import json

import pytest

from stemcache.server.gateway.refusals import (
    LOST,
    NO_REPLICA,
    STOPPING,
    Refusal,
    error_body,
    nobody_answered,
    refusal_bytes,
    stream_error,
)

BUSY = Refusal(status=503, message='it is "full"', code="full", retry_after_s=3)


def test_a_refusal_is_a_whole_answer() -> None:
    """With when to try again, where that is known."""
    start, _, body = refusal_bytes(b"/v1/x", BUSY, close=True, extra=b"a: b\r\n").partition(
        b"\r\n\r\n"
    )
    assert start == (
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\na: b\r\nretry-after: 3\r\nconnection: close" % len(body)
    )
    assert json.loads(body) == {
        "error": {
            "message": 'it is "full"',
            "type": "service_unavailable_error",
            "param": None,
            "code": "full",
        }
    }


def test_a_refusal_of_a_head_request_has_no_body() -> None:
    """And leaves the connection open, where it may."""
    refusal = Refusal(status=404, message="m", code="c")
    data = refusal_bytes(b"/", refusal, close=False, bodiless=True)
    assert data.endswith(b"\r\n\r\n")
    assert b"connection" not in data


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (408, "invalid_request_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (431, "invalid_request_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
    ],
)
def test_anthropic_s_clients_know_errors_by_their_type(status: int, kind: str) -> None:
    """Each status has one."""
    refusal = Refusal(status=status, message="m", code="c")
    assert json.loads(error_body(b"/v1/messages?beta=true", refusal)) == {
        "type": "error",
        "error": {"type": kind, "message": "m"},
    }


@pytest.mark.parametrize("path", [b"", b"/v1/chat/completions", b"/v1/x?y=/messages"])
def test_all_others_get_openai_s_shape(path: bytes) -> None:
    """A query does not tell the API."""
    assert "code" in json.loads(error_body(path, BUSY))["error"]


def test_a_stream_ends_in_an_event() -> None:
    """In the shape of its API, by who is lost: a client knows whether to ask again here."""
    lost = "the replica that answered was lost; send the request again"
    assert stream_error(b"/v1/messages", LOST) == (
        b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"%b"}}\n\n'
        % lost.encode()
    )
    assert stream_error(b"/v1/completions", LOST) == (
        b'data: {"error":{"message":"%b","type":"server_error","param":null,'
        b'"code":"replica_lost"}}\n\n' % lost.encode()
    )
    stopping = b"the gateway is stopping; send the request again"
    assert stream_error(b"/v1/messages", STOPPING) == (
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error",'
        b'"message":"%b"}}\n\n' % stopping
    )
    assert b'"message":"%b"' % stopping in stream_error(b"/v1/responses", STOPPING)
    assert b'"code":"gateway_stopping"' in stream_error(b"/v1/responses", STOPPING)


@pytest.mark.parametrize(
    ("kind", "attempts", "status", "said"),
    [
        ("timeout", 1, 504, "no replica answered (1 attempt; the last: timeout); try again later"),
        ("no-answer", 3, 502, "no replica answered (3 attempts; the last: no-answer); try again"),
    ],
)
def test_attempts_that_all_failed_are_told(
    kind: str, attempts: int, status: int, said: str
) -> None:
    """How many there were, and how the last ended."""
    refusal = nobody_answered(kind, attempts)
    assert refusal.status == status
    assert refusal.message.startswith(said)
    assert refusal.code == "replica_" + kind.replace("-", "_")
    assert refusal.retry_after_s == NO_REPLICA.retry_after_s == 1
