"""Half of a surrogate pair, refused with its place wherever text enters."""

from collections.abc import Callable
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.message import Message
from stemcache.prompt.part import Document, Image, Native, Part, Text, ToolCall, ToolResult
from stemcache.prompt.request import Layout
from stemcache.prompt.segment import reference, session, static, turn
from stemcache.prompt.sendable import check_sendable, check_text, check_values
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api

HALF = "cut \ud83d"


def _asked() -> Conversation:
    made = Conversation()
    made.user("Where is order 7?")
    return made


def _called() -> Conversation:
    made = _asked()
    made.append(Message("assistant", (ToolCall(id="a", name="f", arguments="{}"),)))
    return made


def _request(**options: Any) -> Any:
    return Layout([]).request("openai", "gpt-5.6", _asked(), options=options)


ENTRIES: dict[str, tuple[Callable[[], object], str]] = {
    "static": (lambda: static("rules", "a", HALF), "the text of part 1 of segment 'rules'"),
    "reference": (lambda: reference("law", HALF), "the text of part 0 of segment 'law'"),
    "session": (lambda: session("who", HALF), "the text of part 0 of segment 'who'"),
    "turn": (lambda: turn("now", HALF), "the text of part 0 of segment 'now'"),
    "tool's description": (
        lambda: Tool(name="f", description=HALF, schema={}),
        "the description of tool 'f'",
    ),
    "tool's name": (lambda: Tool(name=HALF, description="", schema={}), "the name of a tool"),
    "tool's schema": (
        lambda: Layout([], [Tool(name="f", description="", schema={"title": HALF})]),
        "the schema of tool 'f': the string at /title",
    ),
    "user": (lambda: _asked().user(HALF), "the text of part 0 of message 1"),
    "document": (
        lambda: _asked().user(Document(media_type="text/plain", name=HALF, base64="YQ==")),
        "the name of part 0 of message 1",
    ),
    "image": (
        lambda: _asked().user(Image(media_type="image/png", url=f"https://x/{HALF}")),
        "the url of part 0 of message 1",
    ),
    "native": (
        lambda: _asked().user(Native(api=Api.CHAT, json=f'{{"x":"{HALF}"}}')),
        "the json of part 0 of message 1",
    ),
    "answer": (
        lambda: _asked().answer({"role": "assistant", "content": HALF}, Api.CHAT),
        "the text of part 0 of message 1",
    ),
    "arguments": (
        lambda: _asked().answer(
            {"content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": HALF}}]},
            Api.MESSAGES,
        ),
        "the arguments of part 0 of message 1",
    ),
    "result": (
        lambda: _called().results(ToolResult(call_id="a", parts=(Text("x"), Text(HALF)))),
        r"the text of parts\[1\] of part 0 of message 2",
    ),
    "append": (
        lambda: _asked().append(Message("user", (Text(HALF),))),
        "the text of part 0 of message 1",
    ),
    "extend_from": (
        lambda: _asked().extend_from(
            Api.CHAT,
            [
                {"role": "user", "content": "Where is order 7?"},
                {"role": "assistant", "content": "Here."},
                {"role": "user", "content": HALF},
            ],
        ),
        "the text of part 0 of message 2",
    ),
    "history": (
        lambda: Layout([]).request("openai", "gpt-5.6", [Message("user", (Text(HALF),))]),
        "the text of part 0 of message 0",
    ),
    "model": (lambda: Layout([]).request("openai", HALF, _asked()), "model"),
    "option": (lambda: _request(metadata={"a": ["b", HALF]}), "options/metadata/a/1"),
    "option's name": (lambda: _request(metadata={HALF: 1}), "a name in options/metadata"),
}


@pytest.mark.parametrize(("enters", "place"), ENTRIES.values(), ids=ENTRIES.keys())
def test_it_is_refused_with_its_place(enters: Callable[[], object], place: str) -> None:
    """In the client it would be a UnicodeEncodeError, and then with every request."""
    with pytest.raises(UsageError, match=f"{place} has half of a surrogate pair at character"):
        enters()


def test_nothing_is_taken_of_what_is_refused() -> None:
    """The conversation goes on without it."""
    talk = _asked()
    before = talk.digest
    for enters in (
        lambda: talk.user(HALF),
        lambda: talk.answer({"role": "assistant", "content": HALF}, Api.CHAT),
    ):
        with pytest.raises(UsageError, match=r"replace it: text\.encode"):
            enters()
    assert talk.digest == before
    talk.user(HALF.encode("utf-8", "replace").decode())
    assert talk.messages[-1].parts == (Text("cut ?"),)


@pytest.mark.parametrize("text", ["", "plain", "é木", "\U0001f600", "\0"])
def test_everything_else_is_text(text: str) -> None:
    """Whatever plane it is of."""
    check_text(text, "it")
    parts: tuple[Part, ...] = (Text(text, Native(api=Api.CHAT, json='{"a":"é"}')),)
    check_sendable(parts, "it")
    check_values({text: [text, {"a": (text, 1, None)}]}, "it")


def test_what_stands_beside_a_text_is_looked_at() -> None:
    """It goes back to its API with the text."""
    part = Text("fine", Native(api=Api.MESSAGES, json=f'{{"citations":"{HALF}"}}'))
    with pytest.raises(UsageError, match="what stands beside the text or call of part 0 of it"):
        check_sendable((part,), "it")


def test_options_that_hold_themselves_come_to_an_end() -> None:
    """Whoever writes them as JSON says what is wrong."""
    options: dict[str, Any] = {}
    options["again"] = options
    check_values(options, "options")
