import json
from typing import Any

import pytest

from stemcache.trace.bodies.envelope import Logged, find_body, is_body, why_no_body
from stemcache.trace.problem import BadLineError

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def found(record: dict[str, Any]) -> Logged:
    """What stands in a record that has a body."""
    logged = find_body(record)
    assert logged is not None
    return logged


@pytest.mark.parametrize(
    "record",
    [
        CHAT,
        {"body": CHAT},
        {"request": CHAT},
        {"request": {"method": "POST", "body": CHAT}},
        {"request": {"body": json.dumps(CHAT)}},
        {"body": json.dumps(CHAT)},
        {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": CHAT},
        {"custom_id": "1", "params": CHAT},
    ],
)
def test_a_body_is_found_in_the_usual_places(record: dict[str, Any]) -> None:
    """Bare, wrapped once or twice, as JSON or as a string of it, and in batch files."""
    assert found(record).body == CHAT


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (CHAT, True),
        ({"prompt": "text"}, True),
        ({"prompt": [1, 2]}, True),
        ({"model": "m", "input": "text"}, True),
        ({"model": "m", "input": []}, True),
        ({"input": "a field of some other record"}, False),
        ({"messages": 3}, False),
        ({"prompt": None}, False),
        ("text", False),
        (None, False),
    ],
)
def test_a_body_is_known_by_what_it_asks(value: object, expected: bool) -> None:  # noqa: FBT001
    """Messages, a prompt, or an input for a model."""
    assert is_body(value) is expected


@pytest.mark.parametrize("record", [{}, {"body": {}}, {"body": "[]"}, {"request": {"body": 3}}])
def test_no_body_is_none(record: dict[str, Any]) -> None:
    """It is for the reader to say so."""
    assert find_body(record) is None


def test_what_stands_near_is_taken_from_the_outside_in() -> None:
    """Time, session and tenant of the envelope come before those of the body."""
    body = CHAT | {"user": "inner", "metadata": {"session_id": "s-inner", "user_id": "m"}}
    logged = found({"ts": 5, "user": "outer", "session": {"id": 7}, "request": {"body": body}})
    assert (logged.time_s, logged.session, logged.tenant) == (5.0, "7", "outer")
    logged = found({"request": {"body": body, "timestamp": "2026-03-01T08:00:00Z"}})
    assert (logged.time_s, logged.session, logged.tenant) == (1772352000.0, "s-inner", "inner")
    logged = found(CHAT | {"metadata": {"user_id": 12}})
    assert (logged.time_s, logged.session, logged.tenant) == (None, None, "12")


def test_a_salt_names_nobody() -> None:
    """It is a secret: it shows up neither as a tenant nor anywhere else."""
    logged = found(CHAT | {"cache_salt": "hush"})
    assert logged.tenant is None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"usage": {"completion_tokens": 9}}, 9),
        ({"usage": {"output_tokens": 0}}, 0),
        ({"response": {"usage": {"output_tokens": 4}}}, 4),
        ({"response": {"status_code": 200, "body": {"usage": {"completion_tokens": 5}}}}, 5),
        ({"usage": {"prompt_tokens": 3}}, None),
        ({"usage": None, "response": "text"}, None),
        ({}, None),
    ],
)
def test_the_answers_length_is_what_usage_says(more: dict[str, Any], expected: int | None) -> None:
    """Beside the body or in the response; what it does not say is not known."""
    assert found({"body": CHAT} | more).output_tokens == expected


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"body": CHAT, "user": [1]}, "user is neither a text nor an integer"),
        ({"body": CHAT, "session": True}, "session is neither a text nor an integer"),
        ({"body": CHAT, "session": {}}, "session is neither a text nor an integer"),
        ({"body": CHAT, "ts": "soon"}, "ts is no ISO 8601 time"),
        (
            {"body": CHAT, "usage": {"output_tokens": -1}},
            "usage.output_tokens is no number of tokens",
        ),
        (
            {"body": CHAT, "usage": {"output_tokens": 1.5}},
            "usage.output_tokens is no number of tokens",
        ),
        ({"body": '{"messages": ['}, "the body is a string: the JSON ends early"),
        ({"body": "secret"}, "the body is a string: not JSON: invalid character (byte 0)"),
    ],
)
def test_what_cannot_be_is_told(record: dict[str, Any], reason: str) -> None:
    """By the name of the field, never by what it says."""
    with pytest.raises(BadLineError) as caught:
        find_body(record)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({}, "no messages, prompt or input"),
        ({"body": {"id": 1}}, "no messages, prompt or input"),
        ({"messages": "text"}, "messages is no list"),
        ({"request": {"body": {"messages": None}}}, "request.body.messages is no list"),
        ({"params": {"prompt": {}}}, "params.prompt is neither a text nor a list"),
        ({"model": "m", "input": 3}, "input is neither a text nor a list"),
        ({"input": "text"}, "input stands without a model"),
    ],
)
def test_why_there_is_no_body_is_said(record: dict[str, Any], why: str) -> None:
    """By the field that is there, but of another type, if there is one."""
    assert find_body(record) is None
    assert why_no_body(record) == why


def test_lengths_may_be_written_as_floats() -> None:
    """As tables write a column that has gaps, if they are whole."""
    assert found({"body": CHAT, "usage": {"completion_tokens": 4.0}}).output_tokens == 4
    with pytest.raises(BadLineError, match=r"usage.completion_tokens is no number of tokens"):
        find_body({"body": CHAT, "usage": {"completion_tokens": 4.5}})
