"""Streams as the answers that plain calls would have given."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest
from pydantic import TypeAdapter

from stemcache.errors import UsageError
from stemcache.prompt.answer.parts import parts_of
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.part import Native, Text, Thinking, ToolCall
from stemcache.wire.api import Api
from tests.prompt.conversations import APIS, answer, step


def cut(rng: Random, text: str) -> list[str]:
    """A text in pieces, of which some are empty."""
    ends = sorted(rng.choices(range(len(text) + 1), k=rng.randrange(4)))
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


def of_messages(rng: Random, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As Anthropic's API streams an answer."""
    yield {"type": "message_start", "message": {**given, "content": [], "usage": {}}}
    yield {"type": "ping"}
    for i, block in enumerate(given["content"]):
        start, deltas = _pieces_of_block(rng, block)
        yield {"type": "content_block_start", "index": i, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    yield {"type": "message_stop"}


def _pieces_of_block(
    rng: Random, block: dict[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            texts = [{"type": "text_delta", "text": one} for one in cut(rng, block["text"])]
            cited = [
                {"type": "citations_delta", "citation": one} for one in block["citations"] or []
            ]
            return {**block, "text": "", "citations": [] if cited else None}, [*texts, *cited]
        case "thinking":
            thoughts = cut(rng, block["thinking"])
            seal = {"type": "signature_delta", "signature": block["signature"]}
            deltas = [{"type": "thinking_delta", "thinking": one} for one in thoughts]
            return {**block, "thinking": "", "signature": ""}, [*deltas, seal]
        case "tool_use":
            text = json.dumps(block["input"]) if block["input"] or rng.random() < 0.5 else ""
            deltas = [{"type": "input_json_delta", "partial_json": one} for one in cut(rng, text)]
            return {**block, "input": {}}, deltas
    return block, []


def of_chat(rng: Random, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As OpenAI's and others' chats stream an answer."""

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return {**head, "choices": [choice]}

    message = given["choices"][0]["message"]
    yield chunk({"role": "assistant", "content": ""})
    for name in ("reasoning", "reasoning_content", "content"):
        for piece in cut(rng, message.get(name) or ""):
            yield chunk({name: piece})
    for i, call in enumerate(message.get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{**call, "index": i, "function": function}]})
        for piece in cut(rng, call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
    yield chunk({}, "stop")
    yield {"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 1}}


def of_responses(rng: Random, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As OpenAI's Responses stream an answer."""
    yield {"type": "response.created", "sequence_number": 0, "response": {**given, "output": []}}
    for i, item in enumerate(given["output"]):
        started = {**item, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": i, "item": started}
        yield {"type": "response.output_text.delta", "output_index": i, "delta": "x"}
        yield {"type": "response.output_item.done", "output_index": i, "item": item}
    whole = given if rng.random() < 0.5 else {**given, "output": []}
    yield {"type": "response.completed", "sequence_number": 9, "response": whole}


def of_generate(rng: Random, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As Gemini streams an answer."""
    for part in given["candidates"][0]["content"]["parts"]:
        plain = part.keys() == {"text"}
        for piece in cut(rng, part["text"]) if plain else [None]:
            one = part if piece is None else {"text": piece}
            yield {"candidates": [{"content": {"role": "model", "parts": [one]}}]}
    yield {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}
    yield {"usageMetadata": {"promptTokenCount": 1}}


def of_converse(rng: Random, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As Bedrock's client streams an answer."""
    yield {"messageStart": {"role": "assistant"}}
    for i, block in enumerate(given["output"]["message"]["content"]):
        deltas: list[dict[str, Any]]
        match block:
            case {"toolUse": call}:
                start = {"toolUse": {name: call[name] for name in call if name != "input"}}
                yield {"contentBlockStart": {"contentBlockIndex": i, "start": start}}
                text = json.dumps(call["input"]) if call["input"] else ""
                deltas = [{"toolUse": {"input": one}} for one in cut(rng, text)]
            case {"reasoningContent": {"reasoningText": thought}}:
                deltas = [{"reasoningContent": {"text": one}} for one in cut(rng, thought["text"])]
                deltas.append({"reasoningContent": {"signature": thought["signature"]}})
            case {"reasoningContent": _}:
                deltas = [block]
            case _:
                deltas = [{"text": one} for one in cut(rng, block["text"])]
        for delta in deltas:
            yield {"contentBlockDelta": {"contentBlockIndex": i, "delta": delta}}
        yield {"contentBlockStop": {"contentBlockIndex": i}}
    yield {"messageStop": {"stopReason": "end_turn"}}
    yield {"metadata": {"usage": {}}}


STREAMS: dict[Api, Callable[[Random, dict[str, Any]], Iterator[dict[str, Any]]]] = {
    Api.MESSAGES: of_messages,
    Api.CHAT: of_chat,
    Api.RESPONSES: of_responses,
    Api.GENERATE: of_generate,
    Api.CONVERSE: of_converse,
}


@pytest.mark.parametrize("api", APIS)
def test_a_stream_comes_to_the_parts_of_the_plain_answer(api: Api) -> None:
    """However its texts were cut."""
    for number in range(150):
        given = answer(Random(number), api)
        events = list(STREAMS[api](Random(number), given))
        assert parts_of(events, api) == parts_of(given, api)
        assert parts_of(tuple(events), api) == parts_of(given, api)


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        (Api.MESSAGES, TypeAdapter(anthropic.types.RawMessageStreamEvent)),
        (Api.CHAT, openai.types.chat.ChatCompletionChunk),
        (Api.RESPONSES, TypeAdapter(openai.types.responses.ResponseStreamEvent)),
    ],
)
def test_events_of_the_official_clients_are_read_as_what_they_were_made_of(
    api: Api, kind: Any
) -> None:
    """Objects, as `for event in stream` gives them."""
    for number in range(60):
        given = answer(Random(number), api)
        events = [
            _object(api, kind, one)
            for one in STREAMS[api](Random(number), given)
            if one["type" if api is not Api.CHAT else "choices"] not in ("ping", [])
        ]
        assert parts_of(events, api) == parts_of(given, api)


def _object(api: Api, kind: Any, event: dict[str, Any]) -> Any:
    if api is Api.CHAT:
        return kind.construct(**event)
    module = anthropic._models if api is Api.MESSAGES else openai._models
    return module.construct_type(type_=kind._type, value=event)


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_broke_off_is_no_answer(api: Api) -> None:
    """At whichever event."""
    given = answer(Random(1), api)
    events = list(STREAMS[api](Random(1), given))
    last = max(i for i in range(len(events)) if _broken(events[:i], api))
    assert last >= len(events) - 2
    for end in range(last + 1):
        with pytest.raises(UsageError, match="it broke off, or is of another API; send the req"):
            parts_of(events[:end], api)


def _broken(events: list[dict[str, Any]], api: Api) -> bool:
    try:
        parts_of(events, api)
    except UsageError:
        return True
    return False


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("other", APIS)
def test_a_stream_of_another_api_is_no_answer(api: Api, other: Api) -> None:
    """It has none of the events that would end it."""
    if api is not other:
        events = list(STREAMS[other](Random(1), answer(Random(1), other)))
        with pytest.raises(UsageError):
            parts_of(events, api)


@pytest.mark.parametrize(
    ("api", "event", "shown"),
    [
        (
            Api.MESSAGES,
            {"type": "error", "error": {"type": "overloaded_error"}},
            "overloaded_error",
        ),
        (Api.CHAT, {"error": {"message": "x", "type": "server_error"}}, "server_error"),
        (
            Api.RESPONSES,
            {"type": "response.failed", "response": {"error": {"type": "rate"}}},
            "rate",
        ),
        (Api.GENERATE, {"error": {"code": 503, "type": "UNAVAILABLE"}}, "UNAVAILABLE"),
        (Api.CONVERSE, {"throttlingException": {"message": "x"}}, "throttlingException"),
    ],
)
def test_an_error_within_a_stream_is_told_by_its_kind(
    api: Api, event: dict[str, Any], shown: str
) -> None:
    """Not by what it says."""
    events = list(STREAMS[api](Random(1), answer(Random(1), api)))
    with pytest.raises(UsageError) as error:
        parts_of([events[0], event, *events[1:]], api)
    assert str(error.value) == (
        f"the streamed answer ended in an error ({shown}); send the request again"
    )


def test_an_error_without_a_kind_is_told_all_the_same() -> None:
    """Servers write errors as they like."""
    with pytest.raises(UsageError, match="ended in an error; send the request again"):
        parts_of([{"error": "no"}], Api.CHAT)


def test_arguments_that_break_off_are_told() -> None:
    """A model ran out of tokens within a call: an API that takes objects cannot take it back."""
    start = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"a": '}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_stop"},
    ]
    with pytest.raises(UsageError, match="arguments break off; raise max_tokens and ask again"):
        parts_of(events, Api.MESSAGES)


@pytest.mark.parametrize(
    ("api", "events", "problem"),
    [
        (
            Api.MESSAGES,
            [{"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta"}}],
            "adds to block 3, which did not start",
        ),
        (
            Api.MESSAGES,
            [
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "x"}},
            ],
            "has a delta of a kind that is not known",
        ),
        (
            Api.CHAT,
            [{"choices": [{"index": 1, "delta": {}}]}],
            "has several choices; keep the events of one of them",
        ),
        (
            Api.GENERATE,
            [{"candidates": [{"index": 1, "content": {}}]}],
            "has several candidates; ask for one",
        ),
        (
            Api.CONVERSE,
            [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"image": {}}}}],
            "has a delta of a kind that is not known; ask without streaming",
        ),
        (
            Api.CONVERSE,
            [
                {"contentBlockStart": {"contentBlockIndex": 0, "start": {"image": {}}}},
                {"messageStop": {}},
            ],
            "has a block of a kind that is not known; ask without streaming",
        ),
        (
            Api.CONVERSE,
            [
                {
                    "contentBlockDelta": {
                        "contentBlockIndex": 0,
                        "delta": {"reasoningContent": {"redactedContent": b"x"}},
                    }
                }
            ]
            * 2,
            "has a hidden thought in pieces; ask without streaming",
        ),
        (
            Api.CHAT,
            [{"choices": [{"delta": {"audio": {"id": "a"}}, "finish_reason": "stop"}]}],
            "holds audio, which no conversation keeps; ask for text",
        ),
        (Api.CHAT, ["data: {}"], "event 0 of the streamed answer is a str, no object"),
    ],
)
def test_what_a_stream_cannot_say_is_told(api: Api, events: list[Any], problem: str) -> None:
    """Rather than dropped."""
    with pytest.raises(UsageError) as error:
        parts_of(events, api)
    assert problem in str(error.value)


def test_calls_of_a_chat_without_numbers_are_told_apart_by_their_ids() -> None:
    """As Gemini's own chat endpoint streams them."""

    def chunk(reason: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"delta": {"tool_calls": list(calls)}, "finish_reason": reason}]}

    events = [
        chunk(None, {"id": "a", "function": {"name": "f", "arguments": "{"}}),
        chunk(None, {"function": {"arguments": "}"}}),
        chunk("tool_calls", {"id": "b", "function": {"name": "g", "arguments": "{}"}}),
    ]
    assert parts_of(events, Api.CHAT) == (
        ToolCall(id="a", name="f", arguments="{}"),
        ToolCall(id="b", name="g", arguments="{}"),
    )


def test_members_of_a_call_may_be_named_anything() -> None:
    """Also as if they were members of another member."""
    call = {"id": "a", "id.x": 1, "function.y": 2, "function": {"name": "f", "arguments": "{}"}}
    events = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, **call}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    ]
    (found,) = parts_of(events, Api.CHAT)
    assert isinstance(found, ToolCall)
    assert (found.id, found.name, found.arguments) == ("a", "f", "{}")
    odd = {"id": "a", "function": "f", "function.name": "g"}
    events[0] = {"choices": [{"delta": {"tool_calls": [{"index": 0, **odd}]}}]}
    (found,) = parts_of(events, Api.CHAT)
    assert isinstance(found, ToolCall)
    assert found.name == "g"


def test_custom_calls_and_lists_of_thoughts_are_put_together() -> None:
    """Members that come whole stay; texts are joined."""
    details = [{"type": "reasoning.text", "text": one} for one in "ab"]
    events = [
        {"choices": [{"delta": {"reasoning_details": details[:1]}}]},
        {"choices": [{"delta": {"reasoning_details": details[1:]}}]},
        {
            "choices": [
                {
                    "delta": {
                        "tool_calls": [
                            {"index": 0, "id": "c", "type": "custom", "custom": {"name": "g"}}
                        ]
                    }
                }
            ]
        },
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "custom": {"input": "x"}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "custom": {"input": "y"}}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    ]
    assert parts_of(events, Api.CHAT) == (
        Thinking(
            api=Api.CHAT,
            json='{"reasoning_details":[{"type":"reasoning.text","text":"a"},'
            '{"type":"reasoning.text","text":"b"}]}',
        ),
        Native(api=Api.CHAT, json='{"id":"c","type":"custom","custom":{"input":"xy","name":"g"}}'),
    )


def test_texts_of_gemini_are_joined_but_for_those_with_a_seal() -> None:
    """Its makers ask not to merge a part with a signature into one without."""

    def chunk(*parts: dict[str, Any]) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": list(parts)}}]}

    events = [
        chunk({"text": "a"}, {"text": "b"}),
        chunk({"text": "c"}),
        chunk({"text": "", "thoughtSignature": "s"}),
        chunk({"text": "d"}),
        {"candidates": [{"finish_reason": "STOP"}]},
    ]
    assert parts_of(events, Api.GENERATE) == (
        Text("abc"),
        Thinking(api=Api.GENERATE, json='{"text":"","thoughtSignature":"s"}'),
        Text("d"),
    )


def test_citations_of_converse_make_their_block() -> None:
    """With the text that they are of."""
    events = [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "so"}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"citation": {"title": "t"}}}},
        {"messageStop": {}},
    ]
    assert parts_of(events, Api.CONVERSE) == (
        Native(
            api=Api.CONVERSE,
            json='{"citationsContent":{"citations":[{"title":"t"}],"content":[{"text":"so"}]}}',
        ),
    )


@pytest.mark.parametrize("api", APIS)
def test_a_conversation_takes_streams_as_it_takes_answers(api: Api) -> None:
    """The same digest."""
    plain, streamed = Conversation(), Conversation()
    step(Random(1), plain, api)
    step(Random(1), streamed, api)
    given = answer(Random(2), api)
    plain.answer(given, api)
    streamed.answer(list(STREAMS[api](Random(2), given)), api)
    assert streamed == plain


def test_random_wrong_events_end_in_an_error_or_in_parts() -> None:
    """Never in another exception."""
    rng = Random(23)
    odd: list[Any] = [None, 5, "x", [], {}, [5], {"a": 5}, True, b"x", {"type": "text"}]
    for number in range(2000):
        api = APIS[number % len(APIS)]
        events: Any = json.loads(
            json.dumps(
                list(STREAMS[api](Random(number), answer(Random(number), api))),
                default=lambda one: one.hex(),
            )
        )
        at: Any = events
        while isinstance(at, dict | list) and at:
            name = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
            if rng.random() < 0.3 or not isinstance(at[name], dict | list):
                at[name] = rng.choice(odd)
                break
            at = at[name]
        try:
            parts_of(events, api)
        except UsageError:
            continue
