from typing import Any

import pytest

from stemcache.trace.bodies.prompt import Conversation, TextPrompt, TokenPrompt, prompts_of
from stemcache.trace.problem import BadLineError

TOOL = {"type": "function", "function": {"name": "f"}}


def test_chats_are_tools_system_and_messages() -> None:
    """OpenAI's system prompt is a message, Anthropic's stands apart."""
    messages = [{"role": "user", "content": "hi"}]
    assert list(prompts_of({"messages": messages, "tools": [TOOL]})) == [
        Conversation([TOOL], None, messages)
    ]
    assert list(prompts_of({"messages": messages, "system": "s", "tools": None})) == [
        Conversation([], "s", messages)
    ]
    assert list(prompts_of({"messages": messages, "functions": [TOOL]})) == [
        Conversation([TOOL], None, messages)
    ]


def test_responses_are_conversations() -> None:
    """Instructions are the system prompt, a text is a user's message."""
    assert list(prompts_of({"model": "m", "input": "hi", "instructions": "be brief"})) == [
        Conversation([], "be brief", [{"role": "user", "content": "hi"}])
    ]
    items = [{"type": "function_call", "name": "f"}]
    assert list(prompts_of({"model": "m", "input": items})) == [Conversation([], None, items)]


def test_completions_may_ask_for_several_prompts() -> None:
    """Texts, or token ids, which are taken as they are."""
    assert list(prompts_of({"prompt": "a"})) == [TextPrompt("a")]
    assert list(prompts_of({"prompt": ["a", "b"]})) == [TextPrompt("a"), TextPrompt("b")]
    (one,) = prompts_of({"prompt": [5, 2**32 - 1]})
    assert isinstance(one, TokenPrompt)
    assert one.tokens.tolist() == [5, 2**32 - 1]
    found = list(prompts_of({"prompt": [[1], [], [2, 3]]}))
    assert [p.tokens.tolist() for p in found if isinstance(p, TokenPrompt)] == [[1], [], [2, 3]]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"messages": [], "tools": "t"}, "tools is no list"),
        ({"prompt": []}, "prompt is an empty list"),
        ({"prompt": [1, -1]}, "prompt has token ids outside 0 to 4294967295"),
        ({"prompt": [1, 2**32]}, "prompt has token ids outside 0 to 4294967295"),
        ({"prompt": [1, True]}, "prompt has token ids outside 0 to 4294967295"),
        ({"prompt": [[1], ["a"]]}, "prompt has token ids outside 0 to 4294967295"),
        ({"prompt": ["a", {}]}, "prompt is a list of neither texts nor token ids"),
        ({"input": ["a", "b"]}, "input is a list, but not of messages"),
        (
            {"input": "hi", "previous_response_id": "r"},
            "previous_response_id names a history that the line does not hold",
        ),
        (
            {"input": "hi", "conversation": "c"},
            "conversation names a history that the line does not hold",
        ),
    ],
)
def test_a_prompt_that_cannot_be_known_is_told(body: dict[str, Any], reason: str) -> None:
    """Rather than taken for a shorter one."""
    with pytest.raises(BadLineError) as caught:
        list(prompts_of(body))
    assert caught.value.reason == reason
