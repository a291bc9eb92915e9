"""What an answer says about tokens."""

import json
from typing import Any

import pytest

from stemcache.gateway.usage import AnswerUsage
from stemcache.server.gateway.usage_reader import JsonUsage, usage_of


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 8},
            },
            AnswerUsage(10, 8, 3),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": None},
            AnswerUsage(10, None, 3),
        ),
        ({"prompt_tokens": 10}, AnswerUsage(10, None, None)),
        (
            {
                "input_tokens": 10,
                "output_tokens": 3,
                "input_tokens_details": {"cached_tokens": 0},
            },
            AnswerUsage(10, 0, 3),
        ),
        (
            {
                "input_tokens": 2,
                "output_tokens": 3,
                "cache_read_input_tokens": 7,
                "cache_creation_input_tokens": 1,
            },
            AnswerUsage(10, 7, 3),
        ),
        ({"input_tokens": 2, "output_tokens": 3}, AnswerUsage(2, None, 3)),
        (
            {"input_tokens": 2, "output_tokens": 3, "cache_read_input_tokens": None},
            AnswerUsage(2, None, 3),
        ),
    ],
)
def test_each_api_has_its_own_words(usage: dict[str, Any], found: AnswerUsage) -> None:
    """What is not said is unknown, not zero."""
    assert usage_of(usage) == found


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "usage",
        {},
        {"prompt_tokens": "10"},
        {"prompt_tokens": True},
        {"prompt_tokens": -1},
        {"prompt_tokens": 1.5},
        {"prompt_tokens": 2**70},
        {"input_tokens": {"a": 1}},
        {"prompt_tokens": None, "completion_tokens": None},
        {"input_tokens_details": []},
    ],
)
def test_what_is_no_count_is_unknown(usage: object) -> None:
    """Whatever a replica sends."""
    assert usage_of(usage) is None


def test_llama_cpp_says_what_was_cached_in_its_timings() -> None:
    """Beside a usage without it, or without any."""
    timings = {"cache_n": 236, "prompt_n": 1, "predicted_n": 35}
    usage = {"prompt_tokens": 237, "completion_tokens": 35}
    assert usage_of(usage, timings=timings) == AnswerUsage(237, 236, 35)
    assert usage_of(None, timings=timings) == AnswerUsage(237, 236, 35)
    assert usage_of(usage, timings={"prompt_n": 1}) == AnswerUsage(237, None, 35)


def test_usage_wins_over_timings() -> None:
    """It is the API's own."""
    usage = {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
    found = usage_of(usage, timings={"cache_n": 1, "prompt_n": 1})
    assert found == AnswerUsage(5, 4, None)


def test_sglang_has_words_of_its_own() -> None:
    """In the answers of its own API."""
    meta = {"prompt_tokens": 9, "cached_tokens": 8, "completion_tokens": 1}
    assert usage_of(None, meta_info=meta) == AnswerUsage(9, 8, 1)


def read(*parts: bytes) -> AnswerUsage | None:
    """A JSON answer in these parts."""
    reader = JsonUsage()
    for part in parts:
        reader.add(part)
    return reader.finish()


def test_a_json_answer_is_read_at_its_end() -> None:
    """However its parts are cut."""
    body = json.dumps({"choices": [{"usage": 1}], "usage": {"prompt_tokens": 4}}).encode()
    assert read(body) == AnswerUsage(4, None, None)
    assert read(*(body[i : i + 1] for i in range(len(body)))) == AnswerUsage(4, None, None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"usage"',
        b'{"usage": {"prompt_tokens": 4}',
        b'{"usage": 4}',
        b'{"usage": {"prompt_tokens": NaN}}',
        b'{"usage": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": ' + b"[" * 100_000,
        b'{"usage": {"prompt_tokens": 4, "x": "\xff"}}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_answer_has_no_usage(body: bytes) -> None:
    """Nothing is raised."""
    assert read(body) is None


def test_a_huge_answer_is_not_kept() -> None:
    """Its usage is unknown."""
    part = b" " * 2**18
    reader = JsonUsage()
    for _ in range(5):
        reader.add(part)
    reader.add(b'{"usage": {"prompt_tokens": 4}}')
    assert reader.finish() is None
    assert reader._parts == []
