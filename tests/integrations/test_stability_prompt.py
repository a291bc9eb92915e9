import base64
import dataclasses
from typing import Any

import openai
import pytest
from anthropic.types import TextBlock

from stemcache.errors import UsageError
from stemcache.integrations.stability_prompt import Reading, Seen, seen
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.layout import VolatileError
from stemcache.prompt.request import Layout
from stemcache.prompt.segment import session, static, turn
from stemcache.prompt.tool import Tool
from stemcache.trace.spans.prompt import ORDER
from stemcache.wire.api import Api

USER = {"role": "user", "content": "Hello"}
MARK = {"cache_control": {"type": "ephemeral"}}


def _texts(value: object, until: str | int = "marker", api: Api | None = None) -> list[str]:
    """Of what has to stay."""
    read = seen(value, Reading(until, api))
    return [one.text for one in read.passages[: read.cut]]


@pytest.mark.parametrize(
    ("value", "stays"),
    [
        ("Be kind.", ["Be kind."]),
        (b"Be kind.", ["Be kind."]),
        (b"\xff", ["\udcff"]),
        ([{"role": "system", "content": "a"}, USER], ["a"]),
        ([{"role": "system", "content": "a"}, USER, {"role": "assistant", "content": "b"}], ["a"]),
        ({"model": "claude", "system": "a", "messages": [USER]}, ["a"]),
        ('{"model": "claude", "system": "a", "messages": [{"role": "user"}]}', ["a"]),
        (
            {"system": [{"type": "text", "text": "a", **MARK}, {"type": "text", "text": "b"}],
             "messages": [USER]},
            ["a"],
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", **MARK},
                                                       {"type": "text", "text": "b"}]}]},
            ["a"],
        ),
        ({"instructions": "a", "input": "Hello"}, ["a"]),
        ({"instructions": "a", "input": [USER, {"role": "assistant", "content": "b"}, USER]},
         ["a", "Hello", "b"]),
        ({"system": [{"text": "a"}], "messages": [{"role": "user", "content": [{"text": "b"}]}]},
         ["a"]),
        ({"contents": "Hello", "config": {"system_instruction": "a"}, "model": "gemini"}, ["a"]),
        ([{"role": "user", "parts": [{"text": "a"}]}, {"role": "user", "parts": [{"text": "b"}]}],
         ["a"]),
        ({"prompt": "Once"}, ["Once"]),
        ({"rules": ["a", 1, None]}, ['{"rules": ["a", 1, null]}']),
    ],
)  # fmt: skip
def test_what_has_to_stay(value: object, stays: list[str]) -> None:
    """Up to the last marker; without one, what stands before the last message of a user."""
    assert stays == _texts(value)


@pytest.mark.parametrize(
    ("until", "stays"),
    [
        ("all", ["s", "1", "2", "3", "4"]),
        ("last-user", ["s", "1", "2"]),
        (1, ["s"]),
        (3, ["s", "1", "2"]),
        (-1, ["s", "1", "2", "3"]),
        (-9, None),
        ("/messages/2", ["s", "1"]),
        ("/messages/2/content", ["s", "1"]),
    ],
)
def test_how_much_has_to_stay_can_be_said(until: str | int, stays: list[str] | None) -> None:
    """By a word, a number of messages, or the place of the first piece that may change."""
    roles = ["system", "user", "assistant", "user", "assistant"]
    body = {
        "model": "gpt-5",
        "messages": [
            {"role": role, "content": text} for role, text in zip(roles, "s1234", strict=True)
        ],
    }
    if stays is None:
        with pytest.raises(UsageError, match="nothing of the prompt has to stay under until=-9"):
            _texts(body, until)
    else:
        assert stays == _texts(body, until)


def test_of_a_text_a_number_of_characters_can_stay() -> None:
    """As a slice has it."""
    assert _texts("Be kind.", 2) == ["Be"]
    assert _texts("Be kind.", -1) == ["Be kind"]


@pytest.mark.parametrize(
    ("value", "until", "said"),
    [
        (7, "marker", "the builder gave a value of type int; it has to return a request"),
        (None, "marker", "the builder gave a value of type NoneType"),
        ("text", "last-user", "until='last-user', and the builder gave a text"),
        ({"a": object()}, "marker", "a value of type object in its prompt, which no client sends"),
        ([USER], "marker", "nothing of the prompt has to stay under until='marker'"),
        ([USER, USER], "/messages/7", "until='/messages/7', and no piece of the prompt stands"),
        ([USER, USER], "most", "until='most'; use 'marker', 'last-user', 'all'"),
        ({"a": 1}, 2, "until=2, and nothing tells for which API the dictionary is"),
        (Layout([static("rules", "Be kind.")]), 2, "until=2, and the builder gave a layout"),
    ],
)
def test_what_is_no_prompt_is_said(value: object, until: str | int, said: str) -> None:
    """With the type or the option, and what to give instead."""
    with pytest.raises(UsageError) as caught:
        _texts(value, until)
    assert said in str(caught.value)


def test_a_body_of_another_api_is_refused() -> None:
    """Where one is named, and for values that nest without end."""
    with pytest.raises(UsageError, match="the builder gave no request for responses"):
        _texts({"messages": [USER]}, "marker", Api.RESPONSES)
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(UsageError, match="nests more than 128 deep"):
        _texts(endless)


def test_values_of_the_clients_are_read_as_they_are_sent() -> None:
    """Models, bytes, dataclasses, and what is not given."""

    @dataclasses.dataclass
    class Note:
        role: str
        content: str

    answer = {"role": "assistant", "content": [TextBlock(type="text", text="b", citations=None)]}
    body = {
        "model": "claude",
        "system": "a",
        "messages": [USER, answer, Note("user", "c"), USER],
        "thinking": openai.omit,
    }
    read = seen(body, Reading())

    assert _texts(body) == ["a", "Hello", "b", "c"]
    assert "/thinking" not in read.parameters
    picture = {"role": "user", "parts": [{"inline_data": {"mime_type": "a/b", "data": b"\xff"}}]}
    assert base64.b64encode(b"\xff").decode() in _texts([picture, {**USER, "parts": []}])[0]


def test_a_layout_says_itself_what_stays() -> None:
    """All but turns, tools first, whichever of its forms is given."""
    schema = {"type": "object", "properties": {}}
    layout = Layout(
        [static("rules", "Be kind."), session("who", "Ann")],
        [Tool(name="search", description="finds", schema=schema)],
    )
    conversation = Conversation()
    conversation.user("Hello")
    now = [turn("now", "It is noon.")]

    laid = layout.lay(ORDER, conversation.messages, now)
    plan = layout.plan("anthropic", "claude-sonnet-4-5", conversation, now)

    tool = '{"name": "search", "description": "finds", "schema": '
    assert _texts(layout)[0].startswith(tool)
    assert _texts(layout)[1:] == ["Be kind.", "Ann"]
    assert _texts(laid)[1:] == _texts(plan)[1:] == ["Be kind.", "Ann", "Hello"]
    assert _texts(laid, "all")[-1] == "It is noon."
    assert _texts(conversation) == _texts(list(conversation.messages)) == ["Hello"]
    with pytest.raises(VolatileError):
        Layout([static("rules", "Now it is 2026-11-30T05:14:01Z.")])


def test_what_is_seen_travels() -> None:
    """Through JSON and back, also what is no UTF-8."""
    read = seen([{"role": "system", "content": "\udcff é"}, USER], Reading())

    assert read == Seen.from_json(read.to_json())
