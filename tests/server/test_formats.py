"""Choices to OpenAI's shapes, as a client parses them."""

import json
from typing import Any

import msgspec
import pytest

from stemcache.server.answer import Piece, Shown, Spelled
from stemcache.server.formats import ChatFormat, CompletionFormat, Format, Heading, Whole
from stemcache.wire.answers import PromptDetails, UsageReport

USAGE = UsageReport(
    prompt_tokens=4,
    completion_tokens=2,
    total_tokens=6,
    prompt_tokens_details=PromptDetails(cached_tokens=3),
)
USAGE_SEEN = {
    "prompt_tokens": 4,
    "completion_tokens": 2,
    "total_tokens": 6,
    "prompt_tokens_details": {"cached_tokens": 3},
}
A = Spelled("a", b"a", -0.5)
HALF = Spelled("bytes:\\xf0", b"\xf0", -1.5)
SHOWN = (Shown(A, (A, HALF), 7), Shown(HALF, (), 8))

CHAT_HEAD = {
    "id": "i",
    "object": "chat.completion",
    "created": 5,
    "model": "m",
    "system_fingerprint": "fp",
}
CHUNK_HEAD = {**CHAT_HEAD, "object": "chat.completion.chunk"}
TEXT_HEAD = {**CHAT_HEAD, "object": "text_completion"}


def heading(*, logprobs: bool = False, usage_in_stream: bool = False) -> Heading:
    """What every part repeats."""
    return Heading(
        id="i",
        created=5,
        model="m",
        system_fingerprint="fp",
        logprobs=logprobs,
        usage_in_stream=usage_in_stream,
    )


def seen(answer: msgspec.Struct | None) -> Any:
    """An answer as a client parses it."""
    return json.loads(msgspec.json.encode(answer))


def test_a_chat_stream_opens_with_the_role() -> None:
    """Before any text, as OpenAI does it."""
    opening = seen(ChatFormat(heading()).opening(2))

    assert {
        **CHUNK_HEAD,
        "choices": [
            {
                "index": 2,
                "delta": {"role": "assistant", "content": ""},
                "logprobs": None,
                "finish_reason": None,
            }
        ],
    } == opening


def test_a_completion_stream_opens_with_nothing() -> None:
    """A completion has no role."""
    form: Format = CompletionFormat(heading())

    assert form.opening(0) is None


def test_a_chat_chunk_has_the_text_and_then_the_reason() -> None:
    """The reason comes in an event of its own, with an empty delta."""
    chunks = [seen(one) for one in ChatFormat(heading()).chunk(1, Piece("ab", (), "length"))]

    assert [
        {"index": 1, "delta": {"content": "ab"}, "logprobs": None, "finish_reason": None},
        {"index": 1, "delta": {}, "logprobs": None, "finish_reason": "length"},
    ] == [chunk["choices"][0] for chunk in chunks]


def test_a_completion_chunk_has_text_and_reason_together() -> None:
    """One event says both."""
    (chunk,) = CompletionFormat(heading()).chunk(1, Piece("ab", (), "stop"))

    assert {
        **TEXT_HEAD,
        "choices": [{"index": 1, "text": "ab", "logprobs": None, "finish_reason": "stop"}],
    } == seen(chunk)


@pytest.mark.parametrize("form", [ChatFormat(heading()), CompletionFormat(heading())])
def test_a_step_that_shows_nothing_is_no_event(form: Format) -> None:
    """Half a character, or the beginning of a stop string, waits for the rest."""
    assert [] == form.chunk(0, Piece("", (), None))


@pytest.mark.parametrize(
    ("form", "events"), [(ChatFormat(heading()), 1), (CompletionFormat(heading()), 1)]
)
def test_an_end_without_text_is_an_event(form: Format, events: int) -> None:
    """The reason is never lost."""
    assert events == len(form.chunk(0, Piece("", (), "stop")))


@pytest.mark.parametrize(
    "form", [ChatFormat(heading(logprobs=True)), CompletionFormat(heading(logprobs=True))]
)
def test_tokens_without_text_are_an_event(form: Format) -> None:
    """A token may spell nothing, and has its log-probability all the same."""
    assert 1 == len(form.chunk(0, Piece("", SHOWN, None)))


CHAT_LOGPROBS = {
    "content": [
        {
            "token": "a",
            "logprob": -0.5,
            "bytes": [97],
            "top_logprobs": [
                {"token": "a", "logprob": -0.5, "bytes": [97]},
                {"token": "bytes:\\xf0", "logprob": -1.5, "bytes": [240]},
            ],
        },
        {"token": "bytes:\\xf0", "logprob": -1.5, "bytes": [240], "top_logprobs": []},
    ],
    "refusal": None,
}
TEXT_LOGPROBS = {
    "tokens": ["a", "bytes:\\xf0"],
    "token_logprobs": [-0.5, -1.5],
    "top_logprobs": [{"a": -0.5, "bytes:\\xf0": -1.5}, {}],
    "text_offset": [7, 8],
}


def test_chat_logprobs_spell_each_token_and_its_alternatives() -> None:
    """In a chunk as in a whole answer."""
    form = ChatFormat(heading(logprobs=True))
    (chunk,) = form.chunk(0, Piece("a", SHOWN, None))
    whole = form.whole([Whole("a", SHOWN, "stop")], USAGE)

    assert CHAT_LOGPROBS == seen(chunk)["choices"][0]["logprobs"]
    assert CHAT_LOGPROBS == seen(whole)["choices"][0]["logprobs"]


def test_completion_logprobs_are_lists_of_one_length() -> None:
    """In a chunk as in a whole answer."""
    form = CompletionFormat(heading(logprobs=True))
    (chunk,) = form.chunk(0, Piece("a", SHOWN, None))
    whole = form.whole([Whole("a", SHOWN, "stop")], USAGE)

    assert TEXT_LOGPROBS == seen(chunk)["choices"][0]["logprobs"]
    assert TEXT_LOGPROBS == seen(whole)["choices"][0]["logprobs"]


def test_of_two_alternatives_with_one_spelling_the_more_probable_stays() -> None:
    """Completions have them by text, where the second would overwrite the first."""
    twice = (Spelled("x", b"x", -0.1), Spelled("y", b"y", -0.2), Spelled("x", b"x", -9.0))
    (chunk,) = CompletionFormat(heading(logprobs=True)).chunk(
        0, Piece("x", (Shown(twice[0], twice, 0),), None)
    )

    assert [{"x": -0.1, "y": -0.2}] == seen(chunk)["choices"][0]["logprobs"]["top_logprobs"]


@pytest.mark.parametrize("form", [ChatFormat(heading()), CompletionFormat(heading())])
def test_log_probabilities_that_nobody_asked_for_are_null(form: Format) -> None:
    """Not an empty list, which would say that there was no token."""
    (chunk,) = form.chunk(0, Piece("a", SHOWN, None))

    assert seen(chunk)["choices"][0]["logprobs"] is None


def test_a_whole_chat_answer_has_a_message_a_choice() -> None:
    """In the order of their indices, with usage once."""
    answer = ChatFormat(heading()).whole([Whole("a", (), "stop"), Whole("", (), "length")], USAGE)

    assert {
        **CHAT_HEAD,
        "choices": [
            {
                "index": index,
                "message": {"content": text, "role": "assistant", "refusal": None},
                "logprobs": None,
                "finish_reason": finish,
            }
            for index, text, finish in ((0, "a", "stop"), (1, "", "length"))
        ],
        "usage": USAGE_SEEN,
        "service_tier": "default",
    } == seen(answer)


def test_a_whole_completion_has_a_text_a_choice() -> None:
    """In the order of their indices, with usage once, whatever streams would do."""
    answer = CompletionFormat(heading()).whole([Whole("a", (), "stop")], USAGE)

    assert {
        **TEXT_HEAD,
        "choices": [{"index": 0, "text": "a", "logprobs": None, "finish_reason": "stop"}],
        "usage": USAGE_SEEN,
    } == seen(answer)


@pytest.mark.parametrize("form", [ChatFormat, CompletionFormat])
def test_usage_in_a_stream_is_null_until_the_last_chunk(
    form: type[ChatFormat] | type[CompletionFormat],
) -> None:
    """Which has no choices."""
    asked = form(heading(usage_in_stream=True))
    (chunk,) = asked.chunk(0, Piece("a", (), None))
    last = seen(asked.usage_chunk(USAGE))

    assert seen(chunk)["usage"] is None
    assert ([], USAGE_SEEN) == (last["choices"], last["usage"])


@pytest.mark.parametrize("form", [ChatFormat, CompletionFormat])
def test_usage_that_nobody_asked_for_is_absent(
    form: type[ChatFormat] | type[CompletionFormat],
) -> None:
    """Some clients take the key for the last chunk."""
    (chunk,) = form(heading()).chunk(0, Piece("a", (), None))

    assert "usage" not in seen(chunk)
