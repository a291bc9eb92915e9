"""What a model answered goes back to its API as it came: the same bytes, in the same places."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.prompt.answer.parts import parts_of, turns_of
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text, ToolCall, ToolResult
from stemcache.prompt.render import chat as render_chat
from stemcache.prompt.render import converse as render_converse
from stemcache.prompt.render import generate as render_generate
from stemcache.prompt.render import messages as render_messages
from stemcache.prompt.render import responses as render_responses
from stemcache.wire.api import Api
from tests.prompt.rendering import UNMARKED, cases, laid, user

RENDERERS = {
    Api.MESSAGES: render_messages.render,
    Api.CHAT: render_chat.render,
    Api.RESPONSES: render_responses.render,
    Api.CONVERSE: render_converse.render,
    Api.GENERATE: render_generate.render,
}
INPUT = {"z": 1, "a": {"y": [1.5, None], "b": "é"}}
MESSAGES = [
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "eA=="},
    {"type": "text", "text": "I look.", "citations": [{"type": "char_location"}]},
    {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}},
    {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "t",
        "input": INPUT,
        "caller": {"type": "direct"},
    },
    {"type": "tool_use", "id": "toolu_2", "name": "t", "input": {}},
]
CHAT = {
    "role": "assistant",
    "content": "I look.",
    "reasoning_content": "hm",
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "t", "arguments": '{"z" : 1}'}},
        {"id": "b", "type": "function", "function": {"name": "t", "arguments": "{"}, "x": 1},
    ],
}
RESPONSES = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        "id": "msg_1",
        "phase": "commentary",
        "status": "completed",
    },
    {
        "type": "function_call",
        "call_id": "a",
        "name": "t",
        "arguments": '{"z" : 1}',
        "id": "fc_1",
        "status": "completed",
    },
    {"type": "custom_tool_call", "id": "ct_1", "call_id": "c", "name": "u", "input": "x"},
]
GENERATE = [
    {"text": "hm", "thought": True},
    {"text": "I look.", "thoughtSignature": "c2ln"},
    {"functionCall": {"id": "a", "name": "t", "args": INPUT}, "thoughtSignature": "c2ln"},
    {"functionCall": {"name": "t", "args": {}}},
]
CONVERSE = [
    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
    {"reasoningContent": {"redactedContent": b"x"}},
    {"text": "I look."},
    {"toolUse": {"toolUseId": "a", "name": "t", "input": INPUT}},
]


def sent_back(api: Api, answer: dict[str, Any]) -> Any:
    """The body of the request that goes on from the answer."""
    parts = parts_of(answer, api)
    results = [ToolResult(call_id=one.id, parts=()) for one in parts if isinstance(one, ToolCall)]
    prompt = laid(user("q"), Message("assistant", parts), user(*results, Text("go on")))
    options = {"max_tokens": 5} if api is Api.MESSAGES else {}
    return RENDERERS[api](prompt, UNMARKED, model="m", options=options)


@pytest.mark.parametrize(
    ("api", "answer", "place"),
    [
        (Api.MESSAGES, {"content": MESSAGES}, lambda body: body["messages"][1]["content"]),
        (Api.CHAT, {"choices": [{"message": CHAT}]}, lambda body: body["messages"][1]),
        (Api.RESPONSES, {"output": RESPONSES}, lambda body: body["input"][1:5]),
        (
            Api.GENERATE,
            {"candidates": [{"content": {"role": "model", "parts": GENERATE}}]},
            lambda body: body["contents"][1]["parts"],
        ),
        (
            Api.CONVERSE,
            {"output": {"message": {"role": "assistant", "content": CONVERSE}}},
            lambda body: body["messages"][1]["content"],
        ),
    ],
)
def test_an_answer_goes_back_as_it_came(api: Api, answer: dict[str, Any], place: Any) -> None:
    """Thoughts, seals, ids and arguments, members in their order where an API has objects."""
    made = place(sent_back(api, answer))
    given: Any = {
        Api.MESSAGES: MESSAGES,
        Api.CHAT: CHAT,
        Api.RESPONSES: RESPONSES,
        Api.GENERATE: GENERATE,
        Api.CONVERSE: CONVERSE,
    }[api]
    assert made == given
    assert json.dumps(_objects(made)) == json.dumps(_objects(given))


def _objects(node: Any) -> Any:
    """What a model wrote as objects, in the order of the answer."""
    if isinstance(node, dict):
        inner = [_objects(value) for value in node.values()]
        own = [node[name] for name in ("input", "args", "arguments") if name in node]
        return own + [one for found in inner for one in found]
    return [one for item in node for one in _objects(item)] if isinstance(node, list) else []


@pytest.mark.parametrize("api", list(RENDERERS))
@given(data=st.data())
def test_what_is_rendered_reads_back_and_renders_the_same(api: Api, data: st.DataObject) -> None:
    """The messages of a body, read as a conversation, make the same body once more."""
    case = data.draw(cases(api))
    options = {"max_tokens": 5} if api is Api.MESSAGES else {}
    first = RENDERERS[api](case.laid, UNMARKED, model="m", options=options)
    member = {Api.RESPONSES: "input", Api.GENERATE: "contents"}.get(api, "messages")
    read = [Message(turn.speaker, turn.parts) for turn in turns_of(first[member], api)]
    second = RENDERERS[api](laid(*read), UNMARKED, model="m", options=options)
    system = [one for one in first[member] if one["role" if "role" in one else "type"] in _LEAD]
    assert second[member] == first[member][len(system) :]


_LEAD = ("system", "developer")
