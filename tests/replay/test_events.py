import json

import pytest

from stemcache.replay.events import NOTHING, READERS, EventError, Said, error_message
from stemcache.replay.outcome import Usage
from stemcache.replay.target import Api
from stemcache.wire.sse import SseEvent


def said(api: Api, value: object) -> Said:
    """What one event says."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return READERS[api](SseEvent(b"", data))


def chat(**delta: object) -> dict[str, object]:
    """A chunk with this delta."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None}


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"choices": [{"index": 0, "text": "a", "finish_reason": None}]}, True),
        ({"choices": [{"index": 0, "text": "", "finish_reason": None}]}, False),
        (chat(role="assistant", content=""), False),
        (chat(content="a"), True),
        (chat(content=None, reasoning_content="hm"), True),
        (chat(reasoning="hm"), True),
        (chat(tool_calls=[{"index": 0}]), True),
        (chat(refusal="no"), True),
        ({"choices": []}, False),
        ({"object": "unknown"}, False),
    ],
)
def test_openais_events_with_anything_generated_carry_text(
    event: dict[str, object], *, text: bool
) -> None:
    """A role alone is no token; reasoning and tool calls are."""
    assert said("openai-completions", event) == said("openai-chat", event) == Said(text=text)


def test_openais_end() -> None:
    """The reason to finish, then usage, then [DONE]."""
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    assert said("openai-chat", finish) == Said(finished=True)
    assert said("openai-chat", b"[DONE]") == Said(finished=True, last=True)
    assert said("openai-chat", b" [DONE] ").last
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
    }
    assert said("openai-chat", {"choices": [], "usage": usage}).usage == Usage(10, 8, 2, 3)


@pytest.mark.parametrize(
    "details", [{}, {"prompt_tokens_details": None}, {"prompt_tokens_details": {}}]
)
def test_cached_tokens_that_are_not_told_are_unknown(details: dict[str, object]) -> None:
    """They are not none."""
    usage = {"prompt_tokens": 10, "completion_tokens": 3, **details}
    found = said("openai-completions", {"choices": [], "usage": usage}).usage
    assert found == Usage(prompt_tokens=10, cached_tokens=None, output_tokens=3)


def test_none_cached_is_told_apart_from_unknown() -> None:
    """Zero is a figure."""
    usage = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0}}
    found = said("openai-completions", {"usage": usage}).usage
    assert found is not None
    assert found.cached_tokens == 0


def test_anthropics_stream() -> None:
    """Input tokens leave out what was read or written; the prompt is the sum."""
    counts = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 30,
        "output_tokens": 1,
    }
    api: Api = "anthropic-messages"
    begun = said(api, {"type": "message_start", "message": {"id": "m", "usage": counts}})
    assert begun == Said(usage=Usage(140, 100, 30, 1))
    assert said(api, {"type": "ping"}) == NOTHING
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    assert said(api, block) == NOTHING
    for delta in ({"text": "a"}, {"thinking": "a"}, {"partial_json": "{"}):
        event = {"type": "content_block_delta", "index": 0, "delta": {"type": "d", **delta}}
        assert said(api, event) == Said(text=True)
    signature = {"type": "content_block_delta", "delta": {"type": "signature_delta"}}
    assert said(api, signature) == Said(text=False)
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 9},
    }
    assert said(api, end) == Said(finished=True, usage=Usage(output_tokens=9))
    assert said(api, {"type": "message_stop"}) == Said(finished=True, last=True)
    assert said(api, {"type": "of the future"}) == NOTHING


def test_anthropic_without_a_cache_field_leaves_it_unknown() -> None:
    """Other servers speak this API without caching."""
    usage = {"input_tokens": 7, "output_tokens": 1}
    begun = said("anthropic-messages", {"type": "message_start", "message": {"usage": usage}})
    assert begun.usage == Usage(7, None, None, 1)


ODD = ["1.5", '"12"', "true", "NaN", "-Infinity", "[1]", "{}", "-1", "1e300", str(2**40 + 1)]


@pytest.mark.parametrize("value", [*ODD, "1" + "0" * 400])
def test_a_count_that_cannot_be_one_is_unknown_and_no_error(value: str) -> None:
    """Text of the same event, and the other counts, stand."""
    usage = f'{{"prompt_tokens": {value}, "completion_tokens": 3}}'
    event = f'{{"choices": [{{"text": "a"}}], "usage": {usage}}}'.encode()
    assert said("openai-completions", event) == Said(
        text=True, usage=Usage(output_tokens=3), odd_usage=True
    )
    usage = f'{{"cache_read_input_tokens": {value}, "output_tokens": 3}}'
    event = f'{{"type": "message_delta", "usage": {usage}}}'.encode()
    assert said("anthropic-messages", event) == Said(usage=Usage(output_tokens=3), odd_usage=True)


@pytest.mark.parametrize("usage", [[1], "x", 3, {"prompt_tokens_details": [1]}])
def test_a_usage_of_another_shape_is_unknown(usage: object) -> None:
    """And so are the details within it."""
    assert said("openai-chat", {"usage": usage}) == Said(usage=Usage(), odd_usage=True)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """Some languages have no others."""
    assert said("openai-chat", {"usage": {"prompt_tokens": 12.0}}) == Said(usage=Usage(12))


@pytest.mark.parametrize("rest", ["", '{"'])
def test_nan_within_nonsense_is_an_error(rest: str) -> None:
    """What is forgiven is the number alone."""
    with pytest.raises(EventError):
        said("openai-chat", b'{"usage": NaN, ' + rest.encode())


def test_what_later_events_say_is_added() -> None:
    """Anthropic tells the prompt first and the answer last."""
    whole = Usage(140, 100, 30, 1).merged(Usage(output_tokens=9))
    assert whole == Usage(140, 100, 30, 9)


@pytest.mark.parametrize("api", list(READERS))
def test_an_error_within_a_stream_is_told(api: Api) -> None:
    """In either provider's shape."""
    error = {"type": "error", "error": {"type": "overloaded", "message": "too much"}}
    assert said(api, error) == Said(error="too much")


@pytest.mark.parametrize("api", list(READERS))
@pytest.mark.parametrize(
    "data", [b"{", b"nonsense", b"[1]", b'{"type": 3, "choices": 3}', b"\xff", b'"text"']
)
def test_what_is_no_event_is_an_error(api: Api, data: bytes) -> None:
    """And not passed over: a stream that cannot be read gives no figures."""
    with pytest.raises(EventError, match="an event of the stream is not"):
        said(api, data)


@pytest.mark.parametrize("api", list(READERS))
def test_empty_data_is_nothing(api: Api) -> None:
    """Some servers keep connections alive so."""
    assert said(api, b"") == said(api, b" ") == NOTHING


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "a\\n b", "type": "x"}}', "a b"),
        (b'{"error": "plain"}', "plain"),
        (b'{"detail": "fastapi"}', "fastapi"),
        (b'{"message": "m"}', "m"),
        (b'"text"', "text"),
        (b"Bad Gateway\n", "Bad Gateway"),
        (b"<html>\xff</html>", "<html>\ufffd</html>"),
        (b'{"error": {"error": {"message": "deep"}}}', "deep"),
        (b'{"detail": [{"loc": 1}]}', '{"detail": [{"loc": 1}]}'),
        (b"", ""),
        (b"null", "null"),
    ],
)
def test_the_message_of_an_error_is_found_in_many_shapes(body: bytes, message: str) -> None:
    """And the body is shown where it has none."""
    assert error_message(body) == message
