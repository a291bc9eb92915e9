"""The whole of what is said of messages and tools that cannot be read."""

from typing import Any

import pytest

from stemcache.errors import RequestError, UnsupportedError
from stemcache.wire.messages import (
    check_template_values,
    messages_for_template,
    tools_for_template,
)

TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("message", "text", "param"),
    [
        (
            {"role": "user"},
            "messages[0].content is missing; send a string or a list of text parts",
            "messages[0].content",
        ),
        (
            {"role": "assistant", "tool_calls": []},
            "messages[0].content is missing; send a string or a list of text parts",
            "messages[0].content",
        ),
        (
            {"role": "user", "content": {"text": "x"}},
            'messages[0].content is {"text":"x"}; send a string or a list of text parts',
            "messages[0].content",
        ),
        (
            {"role": "user", "content": ["x"]},
            'messages[0].content[0] is "x"; send {"type": "text", "text": "..."}',
            "messages[0].content[0]",
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]},
            (
                'messages[0].content[1] is a part of type "image_url", which this server does not '
                "support; send text parts only"
            ),
            "messages[0].content[1]",
        ),
        (
            {"role": "tool", "content": "x", "tool_call_id": 5},
            "messages[0].tool_call_id is 5; send a string",
            "messages[0].tool_call_id",
        ),
        (
            {"content": "x"},
            (
                "unknown role 'None' from messages[0].role; (assistant, developer, system, tool, "
                "user)"
            ),
            "messages[0].role",
        ),
        (
            {"role": "usr", "content": "x"},
            (
                "unknown role 'usr' from messages[0].role; did you mean 'user'? (assistant, "
                "developer, system, tool, user)"
            ),
            "messages[0].role",
        ),
        (
            {"role": "assistant", "content": "x", "audio": {"id": "a"}},
            (
                'messages[0]: audio is {"id":"a"} in the request body, which this server does not '
                "support; leave it out"
            ),
            "messages[0].audio",
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": 5}}]},
            (
                'messages[0].tool_calls[0] is {"function":{"name":5}}; send a call of type '
                "function with a name"
            ),
            "messages[0].tool_calls[0]",
        ),
    ],
)
def test_a_message_that_cannot_be_read_is_named(
    message: dict[str, Any], text: str, param: str
) -> None:
    """Which, which field of it, and what to send instead."""
    with pytest.raises(RequestError) as caught:
        messages_for_template([message])

    assert (text, param) == (str(caught.value), caught.value.param)


@pytest.mark.parametrize(
    ("tools", "choice", "text", "param"),
    [
        (
            [TOOL],
            "required",
            (
                "tool_choice is \"required\", which this server does not support; use 'auto' or "
                "'none'"
            ),
            "tool_choice",
        ),
        (
            [TOOL, {"type": "custom"}],
            None,
            (
                'tools[1] is of type "custom", which this server does not support; send tools of '
                "type function"
            ),
            "tools[1].type",
        ),
    ],
)
def test_tools_that_are_not_implemented_are_named(
    tools: object, choice: object, text: str, param: str
) -> None:
    """They are refused, not dropped."""
    with pytest.raises(UnsupportedError) as caught:
        tools_for_template(tools, choice)

    assert (text, param) == (str(caught.value), caught.value.param)


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        ("f", 'tools is "f"; send a list of tools'),
        (
            [TOOL, {"type": "function", "function": {"name": ""}}],
            (
                'tools[1] is {"type":"function","function":{"name":""}}; send a tool of type '
                "function with a name"
            ),
        ),
        ([{"function": {"name": "f"}}], "tools[0] is "),
    ],
)
def test_a_tool_that_cannot_be_read_is_named(tools: object, text: str) -> None:
    """With what was sent, cut where it is long."""
    with pytest.raises(RequestError) as caught:
        tools_for_template(tools, None)

    assert str(caught.value).startswith(text[:40])
    assert "send a" in str(caught.value)


def test_values_for_a_template_may_be_anything_but_what_the_server_sets() -> None:
    """Of several, the first in order is named."""
    check_template_values({"enable_thinking": False, "bos_token": "<s>"})
    with pytest.raises(RequestError) as caught:
        check_template_values({"tools": [], "documents": []})

    assert "chat_template_kwargs sets documents, which the server sets; leave it out" == str(
        caught.value
    )
