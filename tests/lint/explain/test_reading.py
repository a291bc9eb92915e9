from typing import Any

import pytest

from tests.lint.explain.requests import changed, explained, shown
from tests.lint.logs import anthropic, chat

USAGE = {"input_tokens": 20, "output_tokens": 5}
WROTE = {**USAGE, "cache_creation_input_tokens": 6_000, "cache_read_input_tokens": 0}


@pytest.mark.parametrize(
    ("new_call", "label", "words"),
    [
        ({"time_s": 2_000.0}, "expired", "17 min after the last use, and is kept for 5m"),
        ({"time_s": 1_000.5}, "raced", "still running"),
        ({"time_s": 1_060.0}, "unexplained", "nothing in the log says why"),
        ({"time_s": None}, "unexplained", "nothing in the log says why"),
    ],
)
def test_what_is_not_read_though_it_is_there_is_told_by_time(
    new_call: dict[str, Any], label: str, words: str
) -> None:
    """Where both are equal and usage says that nothing was read."""
    old = {"time_s": 1_000.0, "answered_s": 1_002.0, "ended_s": 1_003.0, "usage": WROTE}
    told = explained(
        anthropic(3), anthropic(3), old_call=old, new_call={**new_call, "usage": WROTE}
    )
    assert [one.label for one in told.reading.reasons] == [label]
    assert words in told.reading.reasons[0].message
    assert not told.costs
    assert not told.reading.whole_log


def test_another_key_is_another_server() -> None:
    """Where usage says that nothing was read, and both are equal but for the key."""
    usage = {
        "prompt_tokens": 6_000,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    one = {**chat(3), "prompt_cache_key": "a"}
    told = explained(
        one,
        changed(one, "prompt_cache_key", to="b"),
        old_call={"time_s": 100.0, "ended_s": 102.0, "usage": usage},
        new_call={"time_s": 110.0, "usage": usage},
    )
    assert [one.label for one in told.reading.reasons] == ["routed"]
    assert told.cache.routing == (("prompt_cache_key", False),)
    page = shown(told)
    assert "tokens routed: the prefix was written under another prompt_cache_key" in page
    assert "routed by prompt_cache_key: another value, so perhaps another server" in page
    assert not told.costs


def test_what_was_not_reported_is_predicted_and_said_to_be() -> None:
    """Unknown is no zero."""
    told = explained(anthropic(3), anthropic(4))
    assert told.reading.reported_tokens is None
    assert told.reading.reasons == ()
    assert "what it did read is not recorded" in shown(told, width=200)


def test_reading_more_than_this_request_left_is_no_fault() -> None:
    """Others leave prefixes as well."""
    usage = {
        "input_tokens": 20,
        "cache_read_input_tokens": 5_000,
        "output_tokens": 1,
        "cache_creation_input_tokens": 0,
    }
    told = explained(anthropic(1), anthropic(4), new_call={"usage": usage})
    assert told.reading.reported_tokens == 5_000
    assert told.reading.reasons == ()
    assert told.lost_tokens == 0
    told = explained(anthropic(3, system="a"), anthropic(3, system="b"), new_call={"usage": usage})
    assert "more than A left, so other calls left it" in shown(told, width=200)
