from typing import Any

import pytest
from anthropic.types import message_create_params
from openai.types.chat import completion_create_params

from tests.prompt.typed_dicts import misfits

MESSAGES: Any = message_create_params.MessageCreateParamsNonStreaming
CHAT: Any = completion_create_params.CompletionCreateParamsNonStreaming
ASKED = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}


def test_a_plain_request_fits() -> None:
    """What the client's own examples look like has no misfit."""
    assert misfits(ASKED, MESSAGES) == []
    assert misfits(ASKED, CHAT) == []


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"max_tokens": "1"}, "/max_tokens"),
        ({"mesages": []}, "/mesages"),
        ({"messages": [{"role": "robot", "content": "hi"}]}, "/messages/0/role"),
        ({"messages": [{"role": "user"}]}, "/messages/0/content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "/messages/0/content/0"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "text", "text": "a", "cache_control": {"ttl": "5m"}}],
                    }
                ]
            },
            "/messages/0/content/0/cache_control/type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "x": 1}]}]},
            "/messages/0/content/0/x",
        ),
    ],
)
def test_planted_faults_are_found(change: dict[str, Any], at: str) -> None:
    """A wrong type, a wrong name, a missing member and an unknown one are each reported."""
    found = misfits({**ASKED, **change}, MESSAGES)
    assert found
    assert any(one.startswith(at) for one in found), found
