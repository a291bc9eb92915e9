"""What the gateway says itself: errors in the shape of the API that was asked. Pure.

| path | shape |
|---|---|
| `…/messages…` | `{"type": "error", "error": {"type", "message"}}`, Anthropic's |
| any other | `{"error": {"message", "type", "param", "code"}}`, OpenAI's |
"""

from http import HTTPStatus

import msgspec

from stemcache.wire.failure import error_answer

__all__ = [
    "LOST",
    "NO_REPLICA",
    "STOPPING",
    "Refusal",
    "error_body",
    "nobody_answered",
    "refusal_bytes",
    "stream_error",
]

_ANTHROPIC = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded_error",
    HTTPStatus.GATEWAY_TIMEOUT: "timeout_error",
}


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request is not relayed."""

    status: int
    message: str
    """For the client: no prompt text, no credential, no replica's address."""
    code: str
    retry_after_s: int | None = None
    allow: str | None = None
    """Methods that the path takes."""


NO_REPLICA = Refusal(
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    message="no replica can take the request now; try again later",
    code="no_replica",
    retry_after_s=1,
)


LOST = Refusal(
    status=HTTPStatus.BAD_GATEWAY,
    message="the replica that answered was lost; send the request again",
    code="replica_lost",
)
"""Said in a stream, whose status was another."""
STOPPING = Refusal(
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    message="the gateway is stopping; send the request again",
    code="gateway_stopping",
    retry_after_s=1,
)


GONE_ON = Refusal(
    status=HTTPStatus.SERVICE_UNAVAILABLE,
    message="the replica that made this response cannot be asked now; try again later",
    code="replica_away",
    retry_after_s=1,
)
NOT_THEIRS = Refusal(
    status=HTTPStatus.NOT_FOUND,
    message="no response of this key's is known here by this id: another key's, made before the "
    "gateway started or by another gateway, or too long ago; send the whole conversation instead",
    code="response_not_found",
)


def nobody_answered(kind: str, attempts: int, *, acted: bool = False) -> Refusal:
    """After the last attempt, which ended so. `acted`: a replica may have done what was asked."""
    late = kind == "timeout"
    tried = f"{attempts} attempt{'s' if attempts > 1 else ''}"
    message = f"no replica answered ({tried}; the last: {kind}); try again later"
    if acted:
        message = (
            f"the replica did not answer ({kind}), and may have done what was asked; it was not "
            "asked twice: look, before you try again"
        )
    return Refusal(
        status=HTTPStatus.GATEWAY_TIMEOUT if late else HTTPStatus.BAD_GATEWAY,
        message=message,
        code="replica_" + kind.replace("-", "_"),
        retry_after_s=1,
    )


def error_body(path: bytes, refusal: Refusal) -> bytes:
    """The JSON of an error."""
    if _is_messages(path):
        return _anthropic(refusal.status, refusal.message)
    answer = error_answer(refusal.status, refusal.message, code=refusal.code)
    return msgspec.json.encode(answer)


def refusal_bytes(
    path: bytes, refusal: Refusal, *, close: bool, bodiless: bool = False, extra: bytes = b""
) -> bytes:
    """A whole answer. `bodiless`: to a HEAD. `extra`: further header lines, each with its end."""
    body = error_body(path, refusal)
    head = b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n" % (
        refusal.status,
        HTTPStatus(refusal.status).phrase.encode("ascii"),
        len(body),
    )
    retry, allow = refusal.retry_after_s, refusal.allow
    return b"".join(
        (
            head,
            extra,
            b"" if allow is None else b"allow: %b\r\n" % allow.encode("ascii"),
            b"" if retry is None else b"retry-after: %d\r\n" % retry,
            b"connection: close\r\n\r\n" if close else b"\r\n",
            b"" if bodiless else body,
        )
    )


def stream_error(path: bytes, refusal: Refusal) -> bytes:
    """The last event of a stream that is not whole. Clients of both APIs raise on it."""
    name = b"event: error\n" if _is_messages(path) else b""
    return b"%bdata: %b\n\n" % (name, error_body(path, refusal))


def _is_messages(path: bytes) -> bool:
    return b"/messages" in path.partition(b"?")[0]


def _anthropic(status: int, message: str) -> bytes:
    default = "api_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    kind = _ANTHROPIC.get(HTTPStatus(status), default)
    return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})
