import pytest

from stemcache.errors import (
    ContextOverflowError,
    EngineError,
    QueueFullError,
    RequestError,
    UnsupportedError,
)
from stemcache.server.refusal import HttpError, reply_to


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RequestError("m", param="p"), 400, None),
        (ContextOverflowError("m", param="p"), 400, "context_length_exceeded"),
        (UnsupportedError("m", param="p"), 400, "unsupported_parameter"),
        (QueueFullError("m", retry_after_s=0.2), 503, "queue_full"),
        (EngineError("m"), 500, "engine_error"),
        (HttpError(413, "m", code="c", param="p"), 413, "c"),
    ],
)
def test_each_error_has_its_status(error: Exception, status: int, code: str | None) -> None:
    """The message is the error's own, and so is the field."""
    reply = reply_to(error)
    assert (reply.status, reply.answer.error.code) == (status, code)
    assert reply.answer.error.message == "m"
    assert reply.answer.error.param == getattr(error, "param", None)


def test_a_full_queue_says_when_to_come_back() -> None:
    """At least a second, in whole ones."""
    assert reply_to(QueueFullError("m", retry_after_s=0.2)).headers == {"retry-after": "1"}
    assert reply_to(QueueFullError("m", retry_after_s=4.6)).headers == {"retry-after": "5"}


def test_a_mistake_of_ours_tells_a_stranger_nothing() -> None:
    """The log has the details."""
    reply = reply_to(ValueError("secret"))
    assert reply.status == 500
    assert reply.answer.error.message == (
        "the server failed on this request; its log says why under X-Request-Id"
    )
