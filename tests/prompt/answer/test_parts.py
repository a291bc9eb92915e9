"""Answers of five APIs as parts, from dictionaries and from clients' objects."""

import json
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest
from pydantic import BaseModel

from stemcache.errors import UsageError
from stemcache.prompt.answer.parts import parts_of, turns_of
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.conversation.part_json import message_bytes
from stemcache.prompt.message import Message
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from stemcache.prompt.request import Layout
from stemcache.wire.api import Api
from tests.prompt.conversations import APIS, LISTS, Order, answer, body, step


def messages(*blocks: dict[str, Any]) -> tuple[Part, ...]:
    """An answer of Messages."""
    return parts_of({"content": list(blocks)}, Api.MESSAGES)


def chat(**message: Any) -> tuple[Part, ...]:
    """An answer of Chat."""
    given = {"role": "assistant", **message}
    return parts_of({"choices": [{"index": 0, "message": given}]}, Api.CHAT)


def responses(*items: dict[str, Any]) -> tuple[Part, ...]:
    """An answer of Responses."""
    return parts_of({"output": list(items)}, Api.RESPONSES)


def generate(*parts: dict[str, Any]) -> tuple[Part, ...]:
    """An answer of Gemini."""
    return parts_of({"candidates": [{"content": {"parts": list(parts)}}]}, Api.GENERATE)


def converse(*blocks: dict[str, Any]) -> tuple[Part, ...]:
    """An answer of Converse."""
    return parts_of({"output": {"message": {"content": list(blocks)}}}, Api.CONVERSE)


def user(api: Api, *content: dict[str, Any]) -> tuple[Part, ...]:
    """A user's message."""
    held = {"role": "user", "parts" if api is Api.GENERATE else "content": list(content)}
    return turns_of([held], api)[0].parts


def test_thoughts_of_messages_keep_their_seals() -> None:
    """Known members first, so that an object's order and a server's come to the same."""
    assert messages(
        {"signature": "a+/=", "thinking": "hm", "type": "thinking"},
        {"data": "x", "type": "redacted_thinking"},
    ) == (
        Thinking(api=Api.MESSAGES, json='{"type":"thinking","thinking":"hm","signature":"a+/="}'),
        Thinking(api=Api.MESSAGES, json='{"type":"redacted_thinking","data":"x"}'),
    )


def test_arguments_of_messages_keep_the_order_of_their_members() -> None:
    """And are compact; what stands beside the call is kept beside it."""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"z": 1, "a": [1.0, "é"]}}
    assert messages(call, call | {"input": {}, "caller": {"type": "direct"}, "x": None}) == (
        ToolCall(id="t", name="f", arguments='{"z":1,"a":[1.0,"é"]}'),
        ToolCall(
            id="t",
            name="f",
            arguments="{}",
            beside=Native(api=Api.MESSAGES, json='{"caller":{"type":"direct"}}'),
        ),
    )


def test_what_a_client_adds_for_its_user_does_not_go_back() -> None:
    """Parsed answers are no part of what the model wrote."""
    assert messages({"type": "text", "text": "{}", "parsed_output": {"a": 1}}) == (Text("{}"),)
    part = {"type": "output_text", "text": "{}", "annotations": [], "parsed": {"a": 1}}
    item = {"type": "message", "role": "assistant", "content": [part]}
    assert responses(item) == (Text("{}"),)
    noted = part | {"annotations": [{"type": "url_citation"}]}
    found = responses(item | {"content": [noted]})
    assert "parsed" not in found[0].json  # type: ignore[union-attr]
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert responses(call | {"parsed_arguments": {}}) == (
        ToolCall(id="c", name="f", arguments="{}"),
    )


def test_citations_are_kept_beside_their_text() -> None:
    """The API takes them back."""
    cited = [{"type": "char_location", "cited_text": "x"}]
    assert messages({"type": "text", "text": "so", "citations": cited}) == (
        Text(
            "so",
            Native(
                api=Api.MESSAGES, json='{"citations":[{"type":"char_location","cited_text":"x"}]}'
            ),
        ),
    )


def test_blocks_that_are_not_known_are_passed_on_as_they_are() -> None:
    """Tools of the server, files of containers, what comes next year."""
    block = {"name": "web_search", "id": "s", "type": "server_tool_use", "input": {"b": 1, "a": 2}}
    assert messages(block) == (
        Native(
            api=Api.MESSAGES,
            json='{"type":"server_tool_use","id":"s","name":"web_search","input":{"b":1,"a":2}}',
        ),
    )


def test_empty_texts_of_answers_are_left_out() -> None:
    """No API takes them back."""
    assert messages({"type": "text", "text": ""}) == ()
    assert chat(content="") == chat(content=None) == chat() == ()
    assert converse({"text": ""}) == ()
    assert generate({"text": ""}) == ()


def test_a_chat_answer_has_its_thought_text_refusal_and_calls() -> None:
    """In the order in which models write them."""
    calls = [
        {"id": "c1", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{"}},
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}},
        {
            "id": "c3",
            "type": "function",
            "function": {"name": "h", "arguments": {"b": 1, "a": 2}},
            "extra_content": {"google": {"thought_signature": "s"}},
        },
    ]
    found = chat(
        tool_calls=calls,
        content="text",
        refusal="no",
        reasoning_details=[{"text": "hm"}],
        reasoning="hm",
        annotations=[],
        audio=None,
        function_call=None,
    )
    assert found == (
        Thinking(api=Api.CHAT, json='{"reasoning":"hm","reasoning_details":[{"text":"hm"}]}'),
        Text("text"),
        Native(api=Api.CHAT, json='{"type":"refusal","refusal":"no"}'),
        ToolCall(id="c1", name="f", arguments="{"),
        Native(api=Api.CHAT, json='{"id":"c2","type":"custom","custom":{"input":"x","name":"g"}}'),
        ToolCall(
            id="c3",
            name="h",
            arguments='{"b":1,"a":2}',
            beside=Native(
                api=Api.CHAT, json='{"extra_content":{"google":{"thought_signature":"s"}}}'
            ),
        ),
    )


def test_a_chat_answer_may_be_its_message_alone() -> None:
    """For those who asked for several and took one."""
    assert parts_of({"role": "assistant", "content": "a"}, Api.CHAT) == (Text("a"),)


def test_responses_have_thoughts_texts_and_calls_with_what_is_beside_them() -> None:
    """Ids and phases go back."""
    beside = '{"id":"msg_1","phase":"commentary","status":"completed"}'
    found = responses(
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [],
            "encrypted_content": "g",
            "content": None,
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [
                {"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
                {"type": "output_text", "text": "b", "annotations": []},
            ],
        },
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{ "a":1}'},
    )
    assert found == (
        Thinking(
            api=Api.RESPONSES,
            json='{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"g"}',
        ),
        Text("a", Native(api=Api.RESPONSES, json=beside)),
        Text("b", Native(api=Api.RESPONSES, json=beside)),
        ToolCall(
            id="c",
            name="f",
            arguments='{ "a":1}',
            beside=Native(api=Api.RESPONSES, json='{"id":"fc"}'),
        ),
    )


def test_items_of_responses_that_say_more_are_kept_whole() -> None:
    """Refusals, annotated texts, calls of the server's tools."""
    refusal = {"type": "refusal", "refusal": "no"}
    item = {"type": "message", "id": "m", "role": "assistant", "content": [refusal]}
    search = {"type": "web_search_call", "id": "ws", "status": "completed"}
    assert responses(item, search) == (
        Native(
            api=Api.RESPONSES,
            json='{"type":"message","id":"m","role":"assistant","content":'
            '[{"type":"refusal","refusal":"no"}]}',
        ),
        Native(api=Api.RESPONSES, json='{"type":"web_search_call","id":"ws","status":"completed"}'),
    )


def test_gemini_s_signatures_stay_beside_what_they_came_with() -> None:
    """The API refuses a call without its own; an id that is not given is not made up."""
    found = generate(
        {"text": "hm", "thought": True},
        {"text": "a", "thoughtSignature": "s+/="},
        {"text": "", "thoughtSignature": "t"},
        {"functionCall": {"name": "f", "args": {"b": 1, "a": 2}}, "thought_signature": b"\xfb\xff"},
        {"function_call": {"id": "i", "name": "g", "args": None}},
        {"executable_code": {"code": "1", "language": "PYTHON"}},
    )
    seal = Native(api=Api.GENERATE, json='{"thoughtSignature":"s+/="}')
    assert found == (
        Thinking(api=Api.GENERATE, json='{"text":"hm","thought":true}'),
        Text("a", seal),
        Thinking(api=Api.GENERATE, json='{"text":"","thoughtSignature":"t"}'),
        ToolCall(
            id="",
            name="f",
            arguments='{"b":1,"a":2}',
            beside=Native(api=Api.GENERATE, json='{"thoughtSignature":"+/8="}'),
        ),
        ToolCall(id="i", name="g", arguments="{}"),
        Native(api=Api.GENERATE, json='{"executableCode":{"code":"1","language":"PYTHON"}}'),
    )


def test_an_answer_of_gemini_may_have_no_content() -> None:
    """As where it was stopped."""
    assert parts_of({"candidates": [{"finishReason": "SAFETY"}]}, Api.GENERATE) == ()
    assert parts_of({"candidates": [{"content": {"role": "model"}}]}, Api.GENERATE) == ()


def test_converse_has_thoughts_texts_and_calls() -> None:
    """Its bytes become base64, and its client gets bytes again."""
    found = converse(
        {"reasoningContent": {"reasoningText": {"signature": "s", "text": "hm"}}},
        {"reasoningContent": {"redactedContent": b"\x00\xff"}},
        {"text": "a"},
        {"toolUse": {"name": "f", "toolUseId": "t", "input": {"b": 1, "a": 2}}},
        {"toolUse": {"name": "f", "toolUseId": "t", "input": {}, "type": "server_tool_use"}},
        {"citationsContent": {"content": [{"text": "x"}], "citations": []}},
        {"cachePoint": {"type": "default"}},
    )
    assert found == (
        Thinking(
            api=Api.CONVERSE,
            json='{"reasoningContent":{"reasoningText":{"signature":"s","text":"hm"}}}',
        ),
        Thinking(api=Api.CONVERSE, json='{"reasoningContent":{"redactedContent":"AP8="}}'),
        Text("a"),
        ToolCall(id="t", name="f", arguments='{"b":1,"a":2}'),
        ToolCall(
            id="t",
            name="f",
            arguments="{}",
            beside=Native(api=Api.CONVERSE, json='{"type":"server_tool_use"}'),
        ),
        Native(
            api=Api.CONVERSE,
            json='{"citationsContent":{"citations":[],"content":[{"text":"x"}]}}',
        ),
    )


PNG = Image(media_type="image/png", base64="aGk=")
PDF = Document(media_type="application/pdf", name="a.pdf", base64="aGk=")
SOURCE = {"type": "base64", "media_type": "image/png", "data": "aGk="}


@pytest.mark.parametrize(
    ("api", "block", "part"),
    [
        (Api.MESSAGES, {"type": "image", "source": SOURCE}, PNG),
        (
            Api.MESSAGES,
            {"type": "image", "source": {"type": "url", "url": "https://a/b"}},
            Image(media_type="image/*", url="https://a/b"),
        ),
        (
            Api.MESSAGES,
            {
                "type": "document",
                "title": "a.pdf",
                "source": SOURCE | {"media_type": "application/pdf"},
            },
            PDF,
        ),
        (
            Api.MESSAGES,
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
            },
            Document(media_type="text/plain", base64="aGk="),
        ),
        (
            Api.CHAT,
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            PNG,
        ),
        (
            Api.CHAT,
            {"type": "image_url", "image_url": {"url": "https://a/b", "detail": "auto"}},
            Image(media_type="image/*", url="https://a/b"),
        ),
        (
            Api.CHAT,
            {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
            },
            PDF,
        ),
        (
            Api.RESPONSES,
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="},
            PNG,
        ),
        (
            Api.RESPONSES,
            {"type": "input_image", "image_url": "https://a/b"},
            Image(media_type="image/*", url="https://a/b"),
        ),
        (
            Api.RESPONSES,
            {
                "type": "input_file",
                "filename": "a.pdf",
                "file_data": "data:application/pdf;base64,aGk=",
            },
            PDF,
        ),
        (
            Api.RESPONSES,
            {"type": "input_file", "file_url": "https://a/b"},
            Document(media_type="application/pdf", url="https://a/b"),
        ),
        (Api.GENERATE, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}, PNG),
        (Api.GENERATE, {"inline_data": {"mime_type": "image/png", "data": b"hi"}}, PNG),
        (
            Api.GENERATE,
            {"inlineData": {"mimeType": "application/pdf", "data": "aGk="}},
            Document(media_type="application/pdf", base64="aGk="),
        ),
        (Api.CONVERSE, {"image": {"format": "png", "source": {"bytes": b"hi"}}}, PNG),
        (
            Api.CONVERSE,
            {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"hi"}}},
            Document(media_type="application/pdf", name="a", base64="aGk="),
        ),
    ],
)
def test_pictures_and_files_are_kept_by_their_bytes_or_addresses(
    api: Api, block: dict[str, Any], part: Part
) -> None:
    """Whichever API wraps them."""
    assert user(api, block) == (part,)


@pytest.mark.parametrize(
    ("api", "block"),
    [
        (Api.MESSAGES, {"type": "image", "source": {"type": "file", "file_id": "f"}}),
        (Api.MESSAGES, {"type": "image", "source": SOURCE, "title": "x"}),
        (Api.MESSAGES, {"type": "document", "source": SOURCE, "context": "x"}),
        (Api.MESSAGES, {"type": "document", "source": None}),
        (Api.CHAT, {"type": "image_url", "image_url": {"url": "https://a", "detail": "high"}}),
        (Api.CHAT, {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}}),
        (Api.CHAT, {"type": "file", "file": {"file_id": "f"}}),
        (Api.RESPONSES, {"type": "input_image", "image_url": "https://a", "detail": "low"}),
        (Api.RESPONSES, {"type": "input_image", "file_id": "f"}),
        (Api.RESPONSES, {"type": "input_file", "file_id": "f"}),
        (Api.GENERATE, {"fileData": {"fileUri": "gs://a", "mimeType": "video/mp4"}}),
        (Api.GENERATE, {"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}),
        (Api.CONVERSE, {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://a"}}}}),
        (Api.CONVERSE, {"guardContent": {"text": {"text": "x"}}}),
    ],
)
def test_content_that_no_part_has_fields_for_is_kept_whole(api: Api, block: dict[str, Any]) -> None:
    """Nothing is dropped on the way."""
    (part,) = user(api, block)
    assert isinstance(part, Native)
    assert part.api is api
    assert json.loads(part.json) == block


@pytest.mark.parametrize(
    ("api", "block", "part"),
    [
        (
            Api.MESSAGES,
            {"type": "tool_result", "tool_use_id": "t", "content": "a"},
            ToolResult(call_id="t", parts=(Text("a"),)),
        ),
        (
            Api.MESSAGES,
            {"type": "tool_result", "tool_use_id": "t", "is_error": True},
            ToolResult(call_id="t", parts=(), failed=True),
        ),
        (
            Api.MESSAGES,
            {
                "type": "tool_result",
                "tool_use_id": "t",
                "content": [{"type": "image", "source": SOURCE}, {"type": "text", "text": "a"}],
            },
            ToolResult(call_id="t", parts=(PNG, Text("a"))),
        ),
        (
            Api.GENERATE,
            {"functionResponse": {"name": "f", "response": {"result": "a"}}},
            ToolResult(call_id="", name="f", parts=(Text("a"),)),
        ),
        (
            Api.GENERATE,
            {
                "function_response": {
                    "id": "i",
                    "name": "f",
                    "response": {"error": ["a", "b"]},
                    "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
                }
            },
            ToolResult(call_id="i", name="f", parts=(Text("a"), Text("b"), PNG), failed=True),
        ),
        (
            Api.CONVERSE,
            {"toolResult": {"toolUseId": "t", "status": "error", "content": [{"text": "a"}]}},
            ToolResult(call_id="t", parts=(Text("a"),), failed=True),
        ),
        (
            Api.CONVERSE,
            {"toolResult": {"toolUseId": "t", "content": [{"text": ""}]}},
            ToolResult(call_id="t", parts=()),
        ),
    ],
)
def test_results_are_kept_by_the_ids_of_their_calls(
    api: Api, block: dict[str, Any], part: Part
) -> None:
    """With the texts, pictures and files in them."""
    assert user(api, block) == (part,)


@pytest.mark.parametrize(
    ("api", "block"),
    [
        (
            Api.MESSAGES,
            {
                "type": "tool_result",
                "tool_use_id": "t",
                "content": [{"type": "search_result", "title": "x"}],
            },
        ),
        (Api.MESSAGES, {"type": "tool_result", "tool_use_id": "t", "toolset_name": "x"}),
        (Api.GENERATE, {"functionResponse": {"name": "f", "response": {"temperature": 3}}}),
        (Api.GENERATE, {"functionResponse": {"name": "f", "response": {"result": {"a": 1}}}}),
        (Api.GENERATE, {"functionResponse": {"name": "f", "response": {"result": [1]}}}),
        (
            Api.GENERATE,
            {
                "functionResponse": {
                    "name": "f",
                    "response": {"result": "a"},
                    "parts": [{"fileData": {"fileUri": "gs://a"}}],
                }
            },
        ),
        (
            Api.GENERATE,
            {"functionResponse": {"name": "f", "response": {"result": "a"}, "willContinue": True}},
        ),
        (Api.CONVERSE, {"toolResult": {"toolUseId": "t", "content": [{"json": {"a": 1}}]}}),
    ],
)
def test_results_that_say_more_are_kept_whole(api: Api, block: dict[str, Any]) -> None:
    """Objects stay objects."""
    (part,) = user(api, block)
    assert isinstance(part, Native)
    value = json.loads(part.json)
    assert value.items() >= block.items()


def test_results_of_responses_are_items_of_their_own() -> None:
    """Their ids are their own, not a call's."""
    item = {"type": "function_call_output", "id": "fco", "call_id": "c", "output": "a"}
    texts = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    odd = item | {"output": [{"type": "input_image", "file_id": "f"}]}
    found = turns_of([item, item | {"output": texts}, item | {"output": ""}, odd], Api.RESPONSES)
    assert [turn.parts[0] for turn in found[:3]] == [
        ToolResult(call_id="c", parts=(Text("a"),)),
        ToolResult(call_id="c", parts=(Text("a"), Text("b"))),
        ToolResult(call_id="c", parts=()),
    ]
    assert isinstance(found[3].parts[0], Native)


def test_items_of_other_tools_are_the_model_s_and_their_outputs_a_user_s() -> None:
    """By their names."""
    items = [
        {"type": kind} for kind in ("shell_call", "shell_call_output", "mcp_approval_response")
    ]
    assert [turn.speaker for turn in turns_of(items, Api.RESPONSES)] == [
        "assistant",
        "user",
        "user",
    ]


def test_the_name_of_who_speaks_in_a_chat_stays_beside_the_first_text() -> None:
    """It is read by the model."""
    (turn,) = turns_of([{"role": "user", "name": "Ada", "content": "hi"}], Api.CHAT)
    assert turn.parts == (Text("hi", Native(api=Api.CHAT, json='{"name":"Ada"}')),)


def test_instructions_that_lead_are_passed_over_and_those_in_between_refused() -> None:
    """A conversation has no place for them; the layout has."""
    system = {"role": "system", "content": "x"}
    question = {"role": "user", "content": "q"}
    for api in (Api.CHAT, Api.RESPONSES):
        assert len(turns_of([system, {"role": "developer", "content": "x"}, question], api)) == 1
        with pytest.raises(UsageError, match="put instructions into a segment"):
            turns_of([question, system], api)
    for api in (Api.MESSAGES, Api.CONVERSE, Api.GENERATE):
        with pytest.raises(UsageError, match="put instructions into a segment"):
            turns_of([{**system, "content": [], "parts": []}], api)


@pytest.mark.parametrize("api", APIS)
def test_answers_are_read_the_same_in_any_order_of_their_members(api: Api) -> None:
    """But for the order of a call's arguments, which is the model's."""
    for number in range(100):
        plain = parts_of(answer(Random(number), api), api)
        assert parts_of(answer(Random(number), api, Order(number + 1)), api) == plain


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        (Api.MESSAGES, anthropic.types.Message),
        (Api.CHAT, openai.types.chat.ChatCompletion),
        (Api.RESPONSES, openai.types.responses.Response),
    ],
)
def test_objects_of_the_official_clients_are_read_as_what_they_were_made_of(
    api: Api, kind: Any
) -> None:
    """To the byte, though the objects have the order of their declarations."""
    for number in range(100):
        given = answer(Random(number), api)
        made = kind.construct(**json.loads(json.dumps(given)))
        plain = parts_of(given, api)
        assert parts_of(made, api) == plain
        assert parts_of(made.model_dump(mode="json"), api) == plain
        assert message_bytes(Message("assistant", plain)) == message_bytes(
            Message("assistant", parts_of(made, api))
        )


def test_objects_inside_of_dictionaries_are_read_too() -> None:
    """As loops write them: `{"role": "assistant", "content": message.content}`."""
    for number in range(50):
        given = answer(Random(number), Api.MESSAGES)
        made = anthropic.types.Message.construct(**given)
        (turn,) = turns_of([{"role": "assistant", "content": made.content}], Api.MESSAGES)
        assert turn.parts == parts_of(given, Api.MESSAGES)
    answered = answer(Random(1), Api.CHAT)
    completion = openai.types.chat.ChatCompletion.construct(**answered)
    (turn,) = turns_of([completion.choices[0].message], Api.CHAT)
    assert turn.parts == parts_of(answered, Api.CHAT)


class _Blob(BaseModel):
    mime_type: str
    data: bytes


class _Reason(Enum):
    STOP = "STOP"


class _GeminiPart(BaseModel):
    text: str | None = None
    thought_signature: bytes | None = None
    inline_data: _Blob | None = None


class _Content(BaseModel):
    parts: tuple[_GeminiPart, ...]


class _Candidate(BaseModel):
    content: _Content
    finish_reason: _Reason


class _Answer(BaseModel):
    candidates: list[_Candidate]


def test_bytes_of_clients_become_the_base64_that_servers_write() -> None:
    """With `+` and `/`, as the API does."""
    parts = (
        _GeminiPart(text="a", thought_signature=b"\xfb\xff"),
        _GeminiPart(inline_data=_Blob(mime_type="image/png", data=b"\xfb\xff")),
    )
    made = _Answer(
        candidates=[_Candidate(content=_Content(parts=parts), finish_reason=_Reason.STOP)]
    )
    assert parts_of(made, Api.GENERATE) == (
        Text("a", Native(api=Api.GENERATE, json='{"thoughtSignature":"+/8="}')),
        Image(media_type="image/png", base64="+/8="),
    )


def test_objects_may_have_to_dict_alone_or_a_model_dump_of_their_own() -> None:
    """Not all clients are of pydantic."""

    @dataclass
    class Old:
        def to_dict(self) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": "a"}]}

    @dataclass
    class Plain:
        def model_dump(self) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": "a"}]}

    assert parts_of(Old(), Api.MESSAGES) == parts_of(Plain(), Api.MESSAGES) == (Text("a"),)


@pytest.mark.parametrize("given", [None, 5, "text", object(), b"bytes", dict, BaseModel])
@pytest.mark.parametrize("api", APIS)
def test_what_is_no_answer_is_told(api: Api, given: object) -> None:
    """By its type, and what to give instead."""
    with pytest.raises(UsageError) as error:
        parts_of(given, api)
    assert str(error.value) == (
        f"the answer is a {type(given).__name__}, no object with members; "
        "give what the API or its client gave"
    )


@pytest.mark.parametrize(
    ("api", "given", "problem"),
    [
        (Api.MESSAGES, {}, "answer.content is missing, not a list"),
        (Api.MESSAGES, {"content": "x"}, "answer.content is of type str, not a list"),
        (Api.MESSAGES, {"content": [5]}, "answer.content[0] is of type int, not an object"),
        (Api.MESSAGES, {"content": [{}]}, "answer.content[0].type is missing, not a string"),
        (
            Api.MESSAGES,
            {"content": [{"type": "text", "text": 5}]},
            "answer.content[0].text is of type int, not a string",
        ),
        (
            Api.MESSAGES,
            {"content": [{"type": "tool_use", "id": "t", "name": "f", "input": "x"}]},
            "answer.content[0].input is of type str, not an object",
        ),
        (
            Api.MESSAGES,
            {"content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1e999}}]},
            "answer.content[0] holds a number or value that JSON has not",
        ),
        (Api.CHAT, {}, "answer has neither choices nor the role assistant"),
        (
            Api.CHAT,
            {"choices": []},
            "answer.choices has 0 choices; give the message of one of them",
        ),
        (Api.CHAT, {"choices": [{}]}, "answer.choices[0].message is missing, not an object"),
        (
            Api.CHAT,
            {"role": "assistant", "audio": {"id": "a"}},
            "answer holds audio, which no conversation keeps; ask for text",
        ),
        (
            Api.CHAT,
            {"role": "assistant", "function_call": {}},
            "answer holds function_call, which no conversation keeps; use tools, not functions",
        ),
        (
            Api.CHAT,
            {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]},
            "answer.tool_calls[0].id is missing, not a string",
        ),
        (Api.RESPONSES, {"output": [{}]}, "answer.output[0].type is missing"),
        (
            Api.RESPONSES,
            {"output": [{"type": "item_reference", "id": "x"}]},
            "answer.output[0] names an item that the server keeps; send the item itself",
        ),
        (Api.GENERATE, {"candidates": [{}, {}]}, "has 2 candidates; ask for one, and give that"),
        (
            Api.GENERATE,
            {"candidates": [{"content": {"parts": [{"functionCall": {"willContinue": True}}]}}]},
            "answer.candidates[0].content.parts[0].functionCall is a piece of a call; give",
        ),
        (Api.CONVERSE, {"output": {}}, "answer.output.message is missing, not an object"),
        (
            Api.CONVERSE,
            {"output": {"message": {"content": [{"toolUse": {"name": "f"}}]}}},
            "answer.output.message.content[0].toolUse.toolUseId is missing, not a string",
        ),
    ],
)
def test_what_an_answer_lacks_is_told_with_its_place(
    api: Api, given: dict[str, Any], problem: str
) -> None:
    """Names of members and types, nothing of what was said."""
    with pytest.raises(UsageError) as error:
        parts_of(given, api)
    assert problem in str(error.value)


def test_answers_that_nest_without_end_are_refused() -> None:
    """Rather than followed until the stack ends."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(UsageError, match="nests deeper than 200 levels; send flatter JSON"):
        messages({"type": "x", "deep": deep})
    with pytest.raises(UsageError, match="has a member named by a int"):
        messages({"type": "x", 5: 1})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="is a set, no object with members"):
        messages({"type": "x", "values": {1}})


def test_a_message_of_a_chat_s_tool_keeps_texts_alone() -> None:
    """There is no other in this API."""
    given = {"role": "tool", "tool_call_id": "c", "content": [{"type": "input_audio"}]}
    with pytest.raises(UsageError, match="holds a part that no result keeps; send text"):
        turns_of([given], Api.CHAT)


def test_random_wrong_values_end_in_an_error_or_in_parts() -> None:
    """Never in another exception: a value somewhere in an answer is replaced by any other."""
    rng = Random(17)
    odd: list[Any] = [None, 5, "x", [], {}, [5], {"a": 5}, True, 1.5, b"x", [[]], {"type": 5}]
    for number in range(3000):
        api = APIS[number % len(APIS)]
        given: Any = answer(Random(number), api)
        place = rng.choice(_places(given))
        at = given
        for name in place[:-1]:
            at = at[name]
        at[place[-1]] = rng.choice(odd)
        with suppress(UsageError):
            message_bytes(Message("assistant", parts_of(given, api)))


def test_random_wrong_values_in_a_list_of_messages_end_in_an_error_or_in_a_body() -> None:
    """The same for what a framework hands back, up to the body that is made of it."""
    rng = Random(29)
    odd: list[Any] = [None, 5, "x", [], {}, [5], {"a": 5}, True, b"x", [[]], {"type": 5}]
    for number in range(2000):
        api = APIS[number % len(APIS)]
        random, kept = Random(number), Conversation()
        while len(kept) < 4 or kept.messages[-1].speaker != "user":
            step(random, kept, api)
        given: Any = body(kept, api)[LISTS[api]]
        place = rng.choice(_places(given))
        at = given
        for name in place[:-1]:
            at = at[name]
        at[place[-1]] = rng.choice(odd)
        read = Conversation()
        with suppress(UsageError):
            read.extend_from(api, given)
            body(read, api)


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    here = [place] if place else []
    if isinstance(value, dict):
        return here + [one for name, x in value.items() for one in _places(x, (*place, name))]
    if isinstance(value, list):
        return here + [one for i, x in enumerate(value) for one in _places(x, (*place, i))]
    return here


@pytest.mark.parametrize(
    "given",
    [
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": None, "prompt_feedback": {"block_reason": "SAFETY"}},
        {"candidates": [], "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []}},
    ],
)
def test_a_blocked_prompt_is_told_with_its_reason(given: dict[str, Any]) -> None:
    """Of Gemini, which then answers 200 and no candidate."""
    with pytest.raises(UsageError, match="was blocked, and its blockReason is 'SAFETY'; change"):
        parts_of(given, Api.GENERATE)
    with pytest.raises(UsageError, match="has 0 candidates; give the answer as it came"):
        parts_of({"candidates": []}, Api.GENERATE)


def test_a_text_behind_calls_is_kept_where_the_api_takes_it_back() -> None:
    """Before the first call; else nothing could ever be sent behind the answer."""
    thought_first = {"type": "thinking", "thinking": "t", "signature": "s"}
    calls = [{"type": "tool_use", "id": f"c{i}", "name": "f", "input": {}} for i in range(2)]
    said = [{"type": "text", "text": f"said {i}"} for i in range(2)]
    blocks = [thought_first, said[0], calls[0], said[1], calls[1]]
    conversation = Conversation()
    conversation.user("q")
    kept = conversation.answer({"content": blocks}, Api.MESSAGES)
    assert [type(part) for part in kept] == [Thinking, Text, Text, ToolCall, ToolCall]
    results = [ToolResult(call_id=f"c{i}", parts=(Text("1"),)) for i in range(2)]
    conversation.results(*results)
    sent = Layout([]).request("anthropic", "m", conversation, options={"max_tokens": 5})
    assert [one["type"] for one in sent["messages"][1]["content"]] == (
        ["thinking", "text", "text", "tool_use", "tool_use"]
    )
    again = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": blocks},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": f"c{i}", "content": "1"} for i in range(2)
            ],
        },
    ]
    assert conversation.extend_from(Api.MESSAGES, again).replay


@pytest.mark.parametrize(
    ("api", "given"),
    [
        (
            Api.CHAT,
            {"role": "assistant", "tool_calls": [{"id": "", "function": {"name": "find"}}]},
        ),
        (
            Api.MESSAGES,
            {"content": [{"type": "tool_use", "id": "a.b", "name": "find", "input": {}}]},
        ),
    ],
)
def test_calls_that_could_not_go_back_are_refused_with_the_answer(
    api: Api, given: dict[str, Any]
) -> None:
    """Before a conversation holds them that only grows."""
    conversation = Conversation()
    conversation.user("q")
    with pytest.raises(UsageError, match=r"the answer's call of 'find' has the id .*does not take"):
        conversation.answer(given, api)
    assert len(conversation) == 1
