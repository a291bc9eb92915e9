from typing import Any

import pytest

from stemcache.gateway.prompt_chat import Conversation, UnreadableError, conversation_of
from stemcache.text.memo import TemplateStyle

PLAIN = TemplateStyle()
PARTS = TemplateStyle(parts=True)
HI = {"role": "user", "content": "hi"}
TEXT = {"type": "text", "text": "a"}


def shaped(*messages: object, style: TemplateStyle = PLAIN, **fields: Any) -> Conversation:
    """What a chat body becomes."""
    return conversation_of({"messages": list(messages) or [HI], **fields}, style)


def test_a_plain_conversation_stays_as_it_is() -> None:
    """With the beginning of an answer behind it."""
    assert shaped() == Conversation([HI], [])


@pytest.mark.parametrize(
    ("content", "text", "parts"),
    [
        ("a", "a", ["a"]),
        ("", "", [""]),
        (None, "", []),
        ([], "", []),
        ([TEXT, TEXT], "a\na", ["a", "a"]),
        (["a", TEXT], "a\na", ["a", "a"]),
        ([TEXT, {"type": "text", "text": ""}, TEXT], "a\na", ["a", "", "a"]),
        ([{"type": "input_text", "text": "a"}], "a", ["a"]),
        ([{"type": "refusal", "refusal": "a"}], "a", ["a"]),
        ([{"type": "thinking", "thinking": "a"}], "a", ["a"]),
    ],
)
def test_content_is_what_the_template_takes(content: object, text: str, parts: list[str]) -> None:
    """One text joined by newlines, without empty parts; or a list of parts, whatever was sent."""
    message = {"role": "user", "content": content}
    assert shaped(message).messages == [{"role": "user", "content": text}]
    expected = [{"type": "text", "text": part} for part in parts]
    assert shaped(message, style=PARTS).messages == [{"role": "user", "content": expected}]


def test_a_tools_answer_is_always_a_text() -> None:
    """Templates expect that, also those that loop over parts."""
    message = {"role": "tool", "tool_call_id": "t", "content": [TEXT, TEXT], "other": 1}
    expected = [{"role": "tool", "content": "a\na", "tool_call_id": "t"}]
    assert shaped(message).messages == expected
    assert shaped(message, style=PARTS).messages == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": [1, 2.5, "é"]}', {"a": [1, 2.5, "é"]}),
        ('{"a": Infinity}', {"a": float("inf")}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        ("[1]", {}),
        ("{", {}),
        ("7", {}),
        ("[" * 100_000, {}),
    ],
)
def test_arguments_of_calls_are_objects(arguments: object, expected: object) -> None:
    """The one that the string spells; none where it spells something else."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    (message,) = shaped({"role": "assistant", "content": None, "tool_calls": [call]}).messages
    assert message["content"] == ""
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": expected}
    assert call["function"] == {"name": "f", "arguments": arguments}


def test_calls_and_reasoning_are_an_assistants() -> None:
    """Others' are not shown to the template, nor are fields that it does not know."""
    fields: dict[str, Any] = {"content": "a", "name": "n", "tool_calls": [], "x": 1}
    fields["reasoning"] = "hm"
    (message,) = shaped({"role": "assistant", **fields}).messages
    assert message == {
        "role": "assistant",
        "content": "a",
        "reasoning": "hm",
        "reasoning_content": "hm",
        "name": "n",
    }
    assert shaped({"role": "user", **fields}).messages == [
        {"role": "user", "content": "a", "name": "n"}
    ]


def test_developers_are_the_system_to_a_template_that_does_not_know_them() -> None:
    """All of these in one at the beginning, unless there is one and it stands there."""
    developer = {"role": "developer", "content": "d"}
    system = {"role": "system", "content": "s"}
    assert shaped(developer, HI).messages == [{"role": "system", "content": "d"}, HI]
    assert shaped(system, HI, developer).messages == [{"role": "system", "content": "s\n\nd"}, HI]
    assert shaped(HI, developer).messages == [{"role": "system", "content": "d"}, HI]
    assert shaped(HI, system).messages == [HI, system]
    knows = TemplateStyle(developer=True)
    assert shaped(developer, HI, style=knows).messages == [{**developer, "tools": None}, HI]


def test_a_line_that_changes_at_every_request_is_left_out() -> None:
    """Of a system's text; elsewhere it is text like any other."""
    line = "x-anthropic-billing-header: cch=1;"
    assert shaped({"role": "system", "content": f"{line}\nHelp."}).messages[0]["content"] == "Help."
    assert shaped({"role": "system", "content": [line, TEXT]}).messages[0]["content"] == "a"
    assert shaped({"role": "user", "content": line}).messages[0]["content"] == line
    assert shaped({"role": "system", "content": f"a {line}"}).messages[0]["content"] == f"a {line}"


def test_tools_are_written_in_one_order() -> None:
    """Names first, what was left out as null; what engines do not know is dropped."""
    function = {"x": 1, "strict": None, "parameters": {"b": 1, "a": 2}, "name": "f"}
    (tool,) = shaped(tools=[{"function": function, "type": "function", "y": 2}]).tools
    assert list(tool) == ["type", "function"]
    assert list(tool["function"].items()) == [
        ("name", "f"),
        ("description", None),
        ("parameters", {"b": 1, "a": 2}),
    ]
    (tool,) = shaped(
        tools=[{"function": {"name": "f", "strict": True}, "defer_loading": True}]
    ).tools
    assert list(tool["function"])[3:] == ["strict", "defer_loading"]
    assert tool["defer_loading"] is True


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        ({}, {}),
        ({"chat_template_kwargs": {"a": 1, "add_generation_prompt": False}}, {"a": 1}),
        ({"reasoning_effort": "low"}, {"reasoning_effort": "low", "enable_thinking": True}),
        ({"reasoning_effort": "none"}, {"reasoning_effort": "none", "enable_thinking": False}),
        (
            {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}},
            {"reasoning_effort": "low", "enable_thinking": False},
        ),
    ],
)
def test_values_for_the_template(fields: dict[str, Any], values: dict[str, Any]) -> None:
    """Those of the request, and what its effort stands for."""
    assert shaped(**fields).values == values


@pytest.mark.parametrize(
    ("fields", "prompted", "continued"),
    [
        ({}, True, False),
        ({"add_generation_prompt": False}, False, False),
        ({"continue_final_message": True, "add_generation_prompt": False}, False, True),
        ({"continue_final_message": "yes"}, True, False),
    ],
)
def test_how_the_prompt_ends(fields: dict[str, Any], prompted: bool, continued: bool) -> None:  # noqa: FBT001
    """With the beginning of an answer, with nothing, or in the last message."""
    done = shaped(**fields)
    assert (done.add_generation_prompt, done.continue_final_message) == (prompted, continued)


def test_special_tokens_are_added_if_asked_for() -> None:
    """Templates write them themselves otherwise."""
    assert shaped(add_special_tokens=True).add_special_tokens
    assert not shaped().add_special_tokens


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "no list with messages"),
        ({"messages": [{"content": "x"}]}, "has no role"),
        ({"messages": [{"role": "user", "content": 1.5}]}, "neither text nor parts"),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "not text"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]}, "no text"),
        ({"messages": [{"role": "assistant", "tool_calls": "x"}]}, "tool_calls is no list"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "no function"),
        ({"messages": [HI] * 9000}, "more messages"),
        ({"messages": [{"role": "user", "content": ["x"] * 9000}]}, "more parts"),
        ({"messages": [HI], "tools": "x"}, "tools is no list"),
        ({"messages": [HI], "tools": [{"type": "function"}]}, "no function"),
        ({"messages": [HI], "chat_template_kwargs": []}, "no object"),
    ],
)
def test_what_is_not_read_says_so(body: dict[str, Any], why: str) -> None:
    """Wrong types, other media, and more than anybody needs."""
    with pytest.raises(UnreadableError, match=why):
        conversation_of(body, PLAIN)
