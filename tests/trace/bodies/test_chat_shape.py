from typing import Any

import pytest

from stemcache.trace.bodies.chat_shape import openai_messages, openai_tools
from stemcache.trace.bodies.prompt import Conversation
from stemcache.trace.problem import BadLineError
from stemcache.wire.messages import messages_for_template


def shaped(*messages: Any, system: Any = None) -> list[dict[str, Any]]:
    """As OpenAI's messages, which the server's own reader must take."""
    made = openai_messages(Conversation((), system, messages))
    messages_for_template(made)
    return made


def test_openais_messages_stay() -> None:
    """Without the fields that no template reads."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "developer", "content": "be brief", "name": "d"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None, "x": 1},
        {"role": "tool", "tool_call_id": "1", "content": "r"},
    ]
    assert shaped(*messages) == [
        {"role": "developer", "content": "be brief", "name": "d"},
        {"role": "user", "content": "ab"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "r", "tool_call_id": "1"},
    ]


def test_anthropics_messages_become_openais() -> None:
    """Uses of tools become calls, results become messages of their own, thoughts stay."""
    messages = [
        {"role": "user", "content": "when?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "u1", "name": "clock", "input": {"zone": "UTC"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "u1",
                    "content": [{"type": "text", "text": "6"}],
                },
                {"type": "text", "text": "and now?"},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u2", "content": "7"}]},
    ]
    function = {"name": "clock", "arguments": {"zone": "UTC"}}
    assert shaped(*messages, system=[{"type": "text", "text": "be brief"}]) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "when?"},
        {
            "role": "assistant",
            "content": "let me see",
            "reasoning_content": "hm",
            "tool_calls": [{"id": "u1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "u1", "content": "6"},
        {"role": "user", "content": "and now?"},
        {"role": "tool", "tool_call_id": "u2", "content": "7"},
    ]


def test_items_of_responses_become_messages() -> None:
    """Calls, their outputs, and reasoning."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
    ]
    function = {"name": "f", "arguments": '{"a": 1}'}
    assert openai_messages(Conversation((), "be brief", items)) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "reasoning_content": "hm"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]


def test_media_and_unknown_parts_are_written_down() -> None:
    """A picture as a mark, other parts as JSON: nothing that tells prompts apart is dropped."""
    (message,) = shaped(
        {"role": "user", "content": [{"type": "image", "source": {}}, {"type": "odd", "a": 1}]}
    )
    assert message["content"].startswith("[image ")
    assert message["content"].endswith('{"type":"odd","a":1}')


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ({"type": "function", "function": {"name": "f"}}, {"name": "f"}),
        (
            {"type": "function", "name": "f", "parameters": {"a": 1}},
            {"name": "f", "parameters": {"a": 1}},
        ),
        (
            {"name": "f", "description": "d", "input_schema": {"a": 1}},
            {"name": "f", "description": "d", "parameters": {"a": 1}},
        ),
        ({"type": "web_search"}, {"name": "web_search"}),
    ],
)
def test_tools_of_all_kinds_become_functions(
    tool: dict[str, Any], expected: dict[str, Any]
) -> None:
    """A provider's own tool is named for its type."""
    assert openai_tools([tool]) == [{"type": "function", "function": expected}]


def test_what_cannot_be_is_told() -> None:
    """By its place."""
    for messages, reason in (
        (["secret"], "messages[0] is no object"),
        (
            [{"role": "user", "content": ""}, {"role": "bard"}],
            "messages[1].role is none that chat templates know",
        ),
        ([{}], "messages[0].role is none that chat templates know"),
    ):
        with pytest.raises(BadLineError) as caught:
            openai_messages(Conversation((), None, messages))
        assert caught.value.reason == reason
    with pytest.raises(BadLineError) as caught:
        openai_tools(["secret"])
    assert caught.value.reason == "tools holds what is no object"
