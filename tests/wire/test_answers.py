import json

from stemcache.errors import ContextOverflowError, RequestError, UnsupportedError
from stemcache.wire.answers import (
    ChatChunk,
    ChatChunkChoice,
    Delta,
    PromptDetails,
    UsageReport,
    sse,
)
from stemcache.wire.failure import code_of, error_answer


def chunk(**fields: object) -> dict[str, object]:
    """A chunk as a client parses it."""
    event = sse(
        ChatChunk(
            id="i",
            created=1,
            model="m",
            choices=[ChatChunkChoice(index=0, delta=Delta(content="a\nb"))],
            system_fingerprint="fp",
            **fields,  # type: ignore[arg-type]  # usage alone is passed
        )
    )
    assert event.startswith(b"data: ")
    assert event.endswith(b"\n\n")
    assert event.count(b"\n") == 2
    decoded = json.loads(event[6:])
    assert isinstance(decoded, dict)
    return decoded


def test_an_event_is_one_line_with_openais_fields() -> None:
    """Line breaks in the text stay inside the JSON."""
    assert chunk() == {
        "id": "i",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "delta": {"content": "a\nb"}, "logprobs": None, "finish_reason": None}
        ],
        "system_fingerprint": "fp",
    }


def test_usage_is_absent_null_or_there() -> None:
    """Absent unless asked for; null before the last chunk; then the figures."""
    assert "usage" not in chunk()
    assert chunk(usage=None)["usage"] is None
    report = UsageReport(
        prompt_tokens=3,
        completion_tokens=2,
        total_tokens=5,
        prompt_tokens_details=PromptDetails(cached_tokens=0),
    )
    assert chunk(usage=report)["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def test_errors_have_openais_types_and_codes() -> None:
    """The type follows the status, the code the kind of refusal."""
    assert error_answer(400, "m", param="p").error.type == "invalid_request_error"
    assert error_answer(401, "m").error.type == "authentication_error"
    assert error_answer(500, "m").error.type == "server_error"
    assert error_answer(503, "m").error.type == "service_unavailable_error"
    assert code_of(ContextOverflowError("m")) == "context_length_exceeded"
    assert code_of(UnsupportedError("m")) == "unsupported_parameter"
    assert code_of(RequestError("m")) is None
