from typing import Any

import pytest

from stemcache.gateway.prompt_chat import UnreadableError, conversation_of
from stemcache.gateway.prompt_responses import chat_of_responses
from stemcache.text.memo import TemplateStyle

HI = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": [{"type": "output_text", "text": "yes"}, {"text": "no"}]}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
CALLED = {"id": "c", "function": {"name": "f", "arguments": "{}"}, "type": "function"}
THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}


def talk(*items: object, **fields: Any) -> list[dict[str, Any]]:
    """The messages that a Responses body becomes."""
    found = chat_of_responses({"input": list(items), **fields})["messages"]
    assert isinstance(found, list)
    return found


def test_a_text_is_a_users_message_behind_the_instructions() -> None:
    """Instructions are the system's."""
    assert chat_of_responses({"input": "hi", "instructions": "s"}) == {
        "messages": [{"role": "system", "content": "s"}, HI]
    }
    assert chat_of_responses({"input": "hi", "instructions": None}) == {"messages": [HI]}


def test_messages_are_messages() -> None:
    """An assistant's has the first of its parts; others keep theirs."""
    parts = {"type": "message", "role": "developer", "content": [{"type": "input_text"}]}
    assert talk(HI, SAID, parts) == [
        HI,
        {"role": "assistant", "content": "yes"},
        {"role": "developer", "content": [{"type": "input_text"}]},
    ]


def test_calls_and_reasoning_join_the_assistants_message_before_them() -> None:
    """Until it has one already; without one they make their own."""
    assert talk(HI, THOUGHT, SAID, CALL, CALL, HI) == [
        HI,
        {"role": "assistant", "reasoning": "hm", "content": "yes", "tool_calls": [CALLED, CALLED]},
        HI,
    ]
    assert talk(CALL, THOUGHT, SAID, SAID) == [
        {"role": "assistant", "tool_calls": [CALLED], "reasoning": "hm", "content": "yes"},
        {"role": "assistant", "content": "yes"},
    ]


def test_a_tools_output_is_a_message() -> None:
    """Of the role tool."""
    output = {"type": "function_call_output", "call_id": "c", "output": "12"}
    assert talk(CALL, output)[1] == {"role": "tool", "content": "12", "tool_call_id": "c"}


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"type": "reasoning", "summary": [{"text": "short"}]}, "short"),
        ({"type": "reasoning", "summary": [{"text": "short"}], "content": [{"text": "l"}]}, "l"),
        ({"type": "reasoning", "summary": []}, ""),
    ],
)
def test_reasoning_is_its_content_else_its_summary(item: dict[str, Any], text: str) -> None:
    """The first part of it."""
    assert talk(item) == [{"role": "assistant", "reasoning": text}]


def test_tools_are_those_of_a_chat() -> None:
    """Flat here, below `function` there."""
    tools = [{"type": "function", "name": "f", "parameters": {"a": 1}, "strict": None}]
    chat = chat_of_responses({"input": "hi", "tools": tools, "reasoning": {"effort": "low"}})
    done = conversation_of(chat, TemplateStyle())
    function = {"name": "f", "description": None, "parameters": {"a": 1}}
    assert done.tools == [{"type": "function", "function": function}]
    assert done.values == {"reasoning_effort": "low", "enable_thinking": True}
    assert "tools" not in chat_of_responses({"input": "hi", "tools": []})


@pytest.mark.parametrize("name", ["previous_response_id", "conversation", "prompt"])
def test_what_the_replica_remembers_is_not_read(name: str) -> None:
    """A part of the prompt is not in the body."""
    with pytest.raises(UnreadableError, match="kept by the replica"):
        talk(HI, **{name: "x"})


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (5, "no object"),
        ({"type": "image_generation_call"}, "neither a message nor of a tool"),
        ({"type": []}, "neither a message nor of a tool"),
        ({"role": "assistant", "content": []}, "has no text"),
        ({"role": "assistant", "content": [{"type": "refusal"}]}, "has no text"),
        ({**CALL, "namespace": "n"}, "namespace"),
        ({"type": "reasoning", "encrypted_content": "x"}, "encrypted"),
        ({**SAID, "status": "in_progress"}, "goes on"),
    ],
)
def test_what_is_not_read_says_so(item: object, why: str) -> None:
    """Tools of the server's, secrets, and answers that are to go on."""
    with pytest.raises(UnreadableError, match=why):
        talk(HI, item)


@pytest.mark.parametrize("tools", [5, [5], [{"type": "web_search"}]])
def test_tools_of_the_servers_are_not_read(tools: object) -> None:
    """What they add to the prompt is not known here."""
    with pytest.raises(UnreadableError, match="tool"):
        talk(HI, tools=tools)


@pytest.mark.parametrize("given", [None, 5, {}])
def test_input_must_be_text_or_a_list(given: object) -> None:
    """There is no prompt otherwise."""
    with pytest.raises(UnreadableError, match="neither text nor a list"):
        chat_of_responses({"input": given})
