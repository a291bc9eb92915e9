"""Usage put together from streamed events."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.wire.usage_stream import StreamUsage


def reported(*events: dict[str, Any]) -> Any:
    """The merged usage of a stream."""
    stream = StreamUsage()
    for event in events:
        stream.add(event)
    return stream.reported


def test_anthropic_start_and_deltas_are_one_usage() -> None:
    """Input and cache are from the start, the output from the last delta, counted once."""
    usage = reported(
        {
            "type": "message_start",
            "message": {
                "usage": {
                    "input_tokens": 9,
                    "cache_read_input_tokens": 4000,
                    "cache_creation_input_tokens": 50,
                    "cache_creation": {"ephemeral_5m_input_tokens": 50},
                    "output_tokens": 1,
                }
            },
        },
        {"type": "content_block_delta", "delta": {"text": "hi"}},
        {"type": "message_delta", "usage": {"output_tokens": 40}},
        {
            "type": "message_delta",
            "usage": {
                "output_tokens": 52,
                "input_tokens": 9,
                "cache_read_input_tokens": 4000,
                "cache_creation_input_tokens": None,
            },
        },
        {"type": "message_stop"},
    )
    assert usage == {
        "input_tokens": 9,
        "cache_read_input_tokens": 4000,
        "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 50},
        "output_tokens": 52,
    }


def test_a_later_zero_does_not_undo_a_figure() -> None:
    """Cumulative figures never fall, so a gateway's zeros in the last event are passed over."""
    usage = reported(
        {"message": {"usage": {"input_tokens": 9, "cache_read_input_tokens": 4000}}},
        {"usage": {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 3}},
    )
    assert usage == {"input_tokens": 9, "cache_read_input_tokens": 4000, "output_tokens": 3}


def test_openai_states_usage_in_the_last_chunk() -> None:
    """Chunks before it have null."""
    usage = reported(
        {"choices": [{"delta": {"content": "a"}}], "usage": None},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}},
    )
    assert usage == {"prompt_tokens": 7, "completion_tokens": 1}


def test_responses_state_usage_in_the_completed_event() -> None:
    """It stands in the response that the event carries."""
    usage = reported(
        {"type": "response.created", "response": {"usage": None}},
        {"type": "response.completed", "response": {"usage": {"input_tokens": 7}}},
    )
    assert usage == {"input_tokens": 7}


def test_gemini_states_usage_in_every_chunk() -> None:
    """The last one counts, also where it is less."""
    usage = reported(
        {"usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5}},
        {"usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 4}},
    )
    assert usage == {"promptTokenCount": 7, "candidatesTokenCount": 4}


@pytest.mark.parametrize("wrapped", [True, False])
def test_converse_states_usage_in_its_metadata(wrapped: bool) -> None:  # noqa: FBT001  # two forms of it
    """With the event's name around it or without."""
    metadata = {"usage": {"inputTokens": 7}, "metrics": {"latencyMs": 1}}
    usage = reported({"messageStop": {}}, {"metadata": metadata} if wrapped else metadata)
    assert usage == {"inputTokens": 7}


def test_bedrock_metrics_stand_in_where_there_is_no_usage() -> None:
    """InvokeModel's metrics are used only where the stream said nothing else."""
    metrics = {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 7}}
    assert reported(metrics) == {"inputTokenCount": 7}
    assert reported({"usage": {"input_tokens": 9}}, metrics) == {"input_tokens": 9}


def test_moonshot_puts_usage_into_its_choice() -> None:
    """The last choice has it."""
    assert reported({"choices": [{"usage": {"prompt_tokens": 3}}]}) == {"prompt_tokens": 3}


def test_a_stream_without_usage_has_none() -> None:
    """Nothing reported is None, not an empty usage."""
    assert reported({"choices": [{"delta": {}}]}) is None


def test_what_is_kept_is_bounded() -> None:
    """A stream of ever new keys does not fill memory."""
    stream = StreamUsage()
    for number in range(10_000):
        stream.add({"usage": {f"key{number}": number}})
    assert stream.reported is not None
    assert len(stream.reported) == 64


def test_what_is_kept_of_details_is_bounded_too() -> None:
    """In the first event that has them and in all later ones."""
    many = {f"first{number}": number for number in range(1000)}
    later = [{"usage": {"details": {f"key{number}": number}}} for number in range(1000)]
    assert len(reported({"usage": {"details": many}}, *later)["details"]) == 64


@settings(max_examples=80)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["usage", "message", "response", "choices", "x_groq", "metadata"]),
            st.recursive(
                st.none() | st.integers() | st.text(max_size=3),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["usage", "a", "b"]), inner, max_size=3)
                ),
                max_leaves=8,
            ),
            max_size=4,
        ),
        max_size=6,
    ),
)
def test_junk_events_never_raise(events: list[dict[str, Any]]) -> None:
    """Whatever the events hold."""
    usage = reported(*events)
    assert usage is None or isinstance(usage, dict)
