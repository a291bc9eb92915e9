"""OpenAI's error object, for every status that goes out."""

import msgspec
import pytest

from stemcache.errors import ContextOverflowError, RequestError, UnsupportedError
from stemcache.wire.failure import code_of, error_answer


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "invalid_request_error"),
        (405, "invalid_request_error"),
        (413, "invalid_request_error"),
        (499, "invalid_request_error"),
        (500, "server_error"),
        (502, "server_error"),
        (503, "service_unavailable_error"),
    ],
)
def test_the_type_follows_the_status(status: int, kind: str) -> None:
    """Below 500 the request is at fault, unless it is its key."""
    assert kind == error_answer(status, "m").error.type


def test_all_four_fields_are_always_there() -> None:
    """Official clients look for them, null or not."""
    bare = msgspec.to_builtins(error_answer(400, "m"))
    full = msgspec.to_builtins(error_answer(404, "m", param="model", code="model_not_found"))

    assert {
        "error": {"message": "m", "type": "invalid_request_error", "param": None, "code": None}
    } == bare
    assert {
        "error": {
            "message": "m",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
    } == full


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RequestError("m"), None),
        (RequestError("m", param="p"), None),
        (ContextOverflowError("m"), "context_length_exceeded"),
        (UnsupportedError("m"), "unsupported_parameter"),
    ],
)
def test_the_code_names_the_kind_of_refusal(error: RequestError, code: str | None) -> None:
    """Clients shorten a conversation, or do without a parameter, by it."""
    assert code == code_of(error)
