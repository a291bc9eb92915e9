"""OpenAI's error object."""

from http import HTTPStatus

import msgspec

from stemcache.errors import ContextOverflowError, RequestError, UnsupportedError

__all__ = ["ErrorAnswer", "ErrorBody", "code_of", "error_answer"]


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """The inside of OpenAI's error object."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorAnswer(msgspec.Struct, frozen=True):
    """An error as a response body or as the last event of a stream."""

    error: ErrorBody


def code_of(error: RequestError) -> str | None:
    """OpenAI's code for a request that cannot be served as asked."""
    match error:
        case ContextOverflowError():
            return "context_length_exceeded"
        case UnsupportedError():
            return "unsupported_parameter"
        case _:
            return None


def error_answer(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> ErrorAnswer:
    """Word an error in OpenAI's terms for a status."""
    match status:
        case HTTPStatus.UNAUTHORIZED:
            kind = "authentication_error"
        case HTTPStatus.SERVICE_UNAVAILABLE:
            kind = "service_unavailable_error"
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            kind = "server_error"
        case _:
            kind = "invalid_request_error"
    return ErrorAnswer(ErrorBody(message=message, type=kind, param=param, code=code))
