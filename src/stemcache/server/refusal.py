"""Errors that are about HTTP itself, and the status that each error of the package has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from stemcache.errors import EngineError, QueueFullError, RequestError, StemcacheError
from stemcache.wire.failure import ErrorAnswer, code_of, error_answer

__all__ = ["HttpError", "Reply", "reply_to"]

_RETRY_AFTER_S = 1


class HttpError(StemcacheError):
    """A request that is refused with a status of its own."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.headers = headers or {}


@dataclass(frozen=True, slots=True)
class Reply:
    """An error as it goes out."""

    status: int
    answer: ErrorAnswer
    headers: Mapping[str, str] = field(default_factory=dict)


def reply_to(error: Exception) -> Reply:
    """The status, body and headers for whatever was raised."""
    match error:
        case HttpError():
            body = error_answer(error.status, str(error), param=error.param, code=error.code)
            return Reply(error.status, body, error.headers)
        case RequestError():
            status = HTTPStatus.BAD_REQUEST
            body = error_answer(status, str(error), param=error.param, code=code_of(error))
            return Reply(status, body)
        case QueueFullError():
            status = HTTPStatus.SERVICE_UNAVAILABLE
            seconds = max(_RETRY_AFTER_S, round(error.retry_after_s))
            body = error_answer(status, str(error), code="queue_full")
            return Reply(status, body, {"retry-after": str(seconds)})
        case EngineError():
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            return Reply(status, error_answer(status, str(error), code="engine_error"))
        case _:
            # The details are in the log; a stranger gets none.
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            message = "the server failed on this request; its log says why under X-Request-Id"
            return Reply(status, error_answer(status, message, code="internal_error"))
