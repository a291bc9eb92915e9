from typing import Any

import pytest

from stemcache.errors import RequestError, UnsupportedError
from stemcache.wire.messages import messages_for_template, tools_for_template


def test_text_parts_become_one_string() -> None:
    """Parts of a text are that text, with nothing between them."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": " b"}]
    assert messages_for_template([{"role": "user", "content": parts}]) == [
        {"role": "user", "content": "a b"}
    ]


def test_developer_becomes_system() -> None:
    """Templates know `system` alone."""
    (message,) = messages_for_template([{"role": "developer", "content": "x"}])
    assert message["role"] == "system"


def test_a_call_and_its_result_pass_to_the_template() -> None:
    """The arguments become the object that they spell, in its own order; nulls go."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b":1,"a":2}'}}
    history = [
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "annotations": [],
            "tool_calls": [call],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]
    assistant, tool = messages_for_template(history)
    arguments = assistant["tool_calls"][0]["function"]["arguments"]
    assert list(arguments.items()) == [("b", 1), ("a", 2)]
    assert set(assistant) == {"role", "content", "tool_calls"}
    assert assistant["content"] == ""
    assert tool == {"role": "tool", "tool_call_id": "c1", "content": "42"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("", {}), (None, {}), ("{broken", "{broken"), ({"a": 1}, {"a": 1})],
)
def test_odd_arguments_do_not_end_a_conversation(arguments: object, expected: object) -> None:
    """What a model once wrote can be sent back, even if it is not JSON."""
    call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
    (message,) = messages_for_template([{"role": "assistant", "tool_calls": [call]}])
    assert message["tool_calls"][0]["function"]["arguments"] == expected


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "messages is []; send a list with at least one message"),
        ("hi", 'messages is "hi"; send a list with at least one message'),
        (["hi"], 'messages[0] is "hi"; send an object with role and content'),
        (
            [{"role": "robot", "content": "x"}],
            (
                "unknown role 'robot' from messages[0].role; "
                "(assistant, developer, system, tool, user)"
            ),
        ),
        ([{"role": "user"}], "messages[0].content is missing; send a string or a list"),
        ([{"role": "user", "content": 5}], "messages[0].content is 5; send a string or a list"),
        (
            [{"role": "user", "content": [{"type": "text"}]}],
            'messages[0].content[0] is {"type":"text"}; send {"type": "text", "text": "..."}',
        ),
        ([{"role": "user", "content": "x", "name": 1}], "messages[0].name is 1; send a string"),
        (
            [{"role": "user", "content": "x", "contents": 1}],
            "messages[0]: unknown field \"contents\" in the request body; did you mean 'content'?",
        ),
        (
            [{"role": "user", "content": "x", "tool_calls": []}],
            "messages[0].tool_calls stands in a message of role user; only an assistant calls",
        ),
        (
            [{"role": "assistant", "tool_calls": {}, "content": ""}],
            "messages[0].tool_calls is {}; send a list of calls",
        ),
        (
            [{"role": "assistant", "tool_calls": [{}]}],
            "messages[0].tool_calls[0] is {}; send a call of type function with a name",
        ),
    ],
)
def test_malformed_messages_are_refused_with_their_place(messages: object, message: str) -> None:
    """The message says which message, which field, and what to send."""
    with pytest.raises(RequestError) as caught:
        messages_for_template(messages)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "file", "refusal"])
def test_parts_that_are_not_text_are_unsupported(kind: str) -> None:
    """Images, audio and files are refused by their type."""
    with pytest.raises(UnsupportedError) as caught:
        messages_for_template([{"role": "user", "content": [{"type": kind, kind: {}}]}])
    assert f'messages[0].content[0] is a part of type "{kind}"' in str(caught.value)
    assert caught.value.param == "messages[0].content[0]"


TOOL: dict[str, Any] = {"type": "function", "function": {"name": "f", "parameters": {}}}


@pytest.mark.parametrize("choice", [None, "auto", "none"])
def test_tools_pass_as_they_are(choice: str | None) -> None:
    """Whether the model may call or not, the prompt begins alike."""
    assert tools_for_template([TOOL], choice) == [TOOL]


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ({}, "tools is {}; send a list of tools"),
        (["f"], 'tools[0] is "f"; send a tool of type function with a name'),
        ([{"type": "function"}], 'tools[0] is {"type":"function"}; send a tool'),
        ([{"type": "custom", "custom": {"name": "f"}}], 'tools[0] is of type "custom", which this'),
    ],
)
def test_malformed_tools_are_refused(tools: object, message: str) -> None:
    """The message says which tool."""
    with pytest.raises(RequestError) as caught:
        tools_for_template(tools, None)
    assert message in str(caught.value)


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "f"}}])
def test_a_forced_call_is_unsupported(choice: object) -> None:
    """Answers are not constrained, so a call cannot be promised."""
    with pytest.raises(UnsupportedError, match="which this server does not support; use 'auto'"):
        tools_for_template([TOOL], choice)
