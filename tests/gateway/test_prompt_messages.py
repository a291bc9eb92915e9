from typing import Any

import pytest

from stemcache.gateway.prompt_chat import UnreadableError, conversation_of
from stemcache.gateway.prompt_messages import chat_of_messages
from stemcache.text.memo import TemplateStyle

PLAIN = TemplateStyle()
HI = {"role": "user", "content": "hi"}
TEXT = {"type": "text", "text": "a"}


def chat(*messages: dict[str, Any], style: TemplateStyle = PLAIN, **fields: Any) -> dict[str, Any]:
    """What a Messages body becomes."""
    return chat_of_messages({"messages": list(messages), **fields}, style)


def talk(*messages: dict[str, Any], style: TemplateStyle = PLAIN, **fields: Any) -> list[Any]:
    """Its messages."""
    found = chat(*messages, style=style, **fields)["messages"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("system", "content"),
    [
        ("Be kind.", "Be kind."),
        ([TEXT, {"type": "text", "text": "b", "cache_control": {}}], "ab"),
        ([{"type": "text", "text": "x-anthropic-billing-header: 1"}, TEXT], "a"),
        ([TEXT, {"type": "text", "text": ""}, {"type": "image"}], "a"),
    ],
)
def test_the_system_prompt_is_one_message(system: object, content: str) -> None:
    """Blocks are joined with nothing between; the one that always changes is left out."""
    assert talk(HI, system=system) == [{"role": "system", "content": content}, HI]


@pytest.mark.parametrize("system", [None, "", [], [{"type": "text", "text": ""}]])
def test_no_system_prompt_is_no_message(system: object) -> None:
    """Nor is an empty one."""
    assert talk(HI, system=system) == [HI]


def test_system_messages_on_the_way_stay_or_go_to_the_beginning() -> None:
    """As the template takes them."""
    late = {"role": "system", "content": [TEXT]}
    assert talk(HI, late, system="s") == [
        {"role": "system", "content": "s"},
        HI,
        {"role": "system", "content": "a"},
    ]
    assert talk(HI, late, system="s", style=TemplateStyle(late_system=False)) == [
        {"role": "system", "content": "sa"},
        HI,
    ]


def test_one_block_of_text_is_a_text_and_several_are_parts() -> None:
    """Empty ones do not count."""
    empty = {"type": "text", "text": ""}
    assert talk({"role": "user", "content": [empty, TEXT]}) == [{"role": "user", "content": "a"}]
    assert talk({"role": "user", "content": [TEXT, TEXT]}) == [
        {"role": "user", "content": [TEXT, TEXT]}
    ]


def test_an_assistants_blocks_are_reasoning_content_and_calls() -> None:
    """Whatever their order; what is redacted is nothing."""
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "thinking", "thinking": "m"},
        TEXT,
        {"type": "tool_use", "id": "t", "name": "f", "input": {"é": [1]}},
    ]
    function = {"name": "f", "arguments": '{"\\u00e9": [1]}'}
    assert talk({"role": "assistant", "content": blocks}) == [
        {
            "role": "assistant",
            "reasoning": "hmm",
            "tool_calls": [{"id": "t", "type": "function", "function": function}],
            "content": "a",
        }
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, ""), ("", ""), ("done", "done"), ([TEXT, TEXT], "a\na"), ([], "")],
)
def test_a_tools_result_is_a_message_before_the_users(content: object, text: str) -> None:
    """A user's message of results alone is no message."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": content}
    tool = {"role": "tool", "tool_call_id": "t", "content": text}
    assert talk({"role": "user", "content": [result]}) == [tool]
    assert talk({"role": "user", "content": [TEXT, result]}) == [
        tool,
        {"role": "user", "content": "a"},
    ]


def test_tools_have_their_schema_as_parameters() -> None:
    """Of the type object where they say none; settings that are not given go later."""
    tools = [{"name": "f", "description": "d", "input_schema": {"properties": {}}, "strict": True}]
    body = chat(HI, tools=tools)
    assert conversation_of(body, PLAIN).tools == [
        {
            "type": "function",
            "function": {
                "name": "f",
                "description": "d",
                "parameters": {"properties": {}, "type": "object"},
                "strict": True,
            },
        }
    ]


def test_effort_reaches_a_template_that_reads_it() -> None:
    """And none that does not; thinking that is off is written in more than one way."""
    reads = TemplateStyle(effort=True)
    assert chat(HI, output_config={"effort": "low"}, style=reads)["reasoning_effort"] == "low"
    assert "reasoning_effort" not in chat(HI, output_config={"effort": "low"})
    off = {"type": "disabled"}
    assert "reasoning_effort" not in chat(HI, thinking=off)
    with pytest.raises(UnreadableError, match="thinking is disabled"):
        chat(HI, thinking=off, style=reads)
    assert chat(HI, chat_template_kwargs={"a": 1})["chat_template_kwargs"] == {"a": 1}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "tool", "content": "x"}, "none of the roles"),
        ({"content": "x"}, "none of the roles"),
        ({"role": "user", "content": 5}, "neither text nor blocks"),
        ({"role": "user", "content": ["x"]}, "no type"),
        ({"role": "user", "content": [{"type": "text"}]}, "no text"),
        ({"role": "user", "content": [{"type": "image"}]}, "not text or tools"),
        ({"role": "user", "content": [{"type": "document"}]}, "not text or tools"),
        ({"role": "assistant", "content": [{"type": "tool_result"}]}, "not text or tools"),
        ({"role": "user", "content": [{"type": "tool_addition"}]}, "not text or tools"),
        (
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "image"}]}]},
            "result has parts that are not text",
        ),
    ],
)
def test_what_is_not_read_says_so(message: dict[str, Any], why: str) -> None:
    """Images, documents and broken messages."""
    with pytest.raises(UnreadableError, match=why):
        chat(message)


@pytest.mark.parametrize("tools", [5, [5], [{"name": "f"}], [{"type": "web_search"}]])
def test_tools_without_a_schema_are_not_read(tools: object) -> None:
    """Those that a server has of its own."""
    with pytest.raises(UnreadableError, match="tool"):
        chat(HI, tools=tools)


def test_messages_must_be_a_list() -> None:
    """There is no prompt otherwise."""
    with pytest.raises(UnreadableError, match="messages is no list"):
        chat_of_messages({"messages": "x"}, PLAIN)
