import json

import pytest
from hypothesis import given

from stemcache.errors import UsageError
from stemcache.prompt.part import Document, Image, Text
from stemcache.prompt.render.chat import render as render_chat
from stemcache.prompt.render.template import render, tools
from stemcache.prompt.segment import static
from stemcache.wire.api import Api
from stemcache.wire.chat import decode_chat
from tests.prompt.rendering import (
    PNG,
    SEARCH,
    UNMARKED,
    Case,
    assistant,
    call,
    cases,
    laid,
    result,
    thought,
    user,
)


def test_messages_are_what_templates_read() -> None:
    """Texts of one message as one, arguments as an object, thoughts as the members they came in."""
    prompt = laid(
        user("q"),
        assistant(thought(Api.CHAT), thought(Api.MESSAGES), "a", call()),
        user(result("a", Text("r"))),
        tools=[SEARCH],
        system=[static("s", "Be brief.\n\n", "Be kind.")],
    )
    assert render(prompt) == [
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": "a",
            "reasoning_content": "hm",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "search", "arguments": {"q": "x"}},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ]
    assert tools(prompt)[0]["function"]["name"] == "search"


def test_a_conversation_may_end_behind_a_call() -> None:
    """For its tokens can be counted there."""
    assert render(laid(user("q"), assistant(call())))[-1]["role"] == "assistant"


@given(case=cases(Api.CHAT))
def test_the_server_renders_the_same(case: Case) -> None:
    """What `stemcache serve` makes of a chat body is what the template gets here."""
    if any(isinstance(piece.part, Image | Document) for piece in case.laid.pieces):
        with pytest.raises(UsageError, match="a template has no place for the prompt: messages"):
            render(case.laid)
        return
    body = render_chat(case.laid, UNMARKED, model="m", options={})
    request = decode_chat(json.dumps(body).encode())
    assert request.messages == render(case.laid)
    assert request.tools == tools(case.laid)


def test_pictures_have_no_place() -> None:
    """The error is the server's, with the place."""
    with pytest.raises(UsageError, match=r"messages\[0\]\.content\[0\] is a part of type"):
        render(laid(user(Image(media_type="image/png", base64=PNG))))
