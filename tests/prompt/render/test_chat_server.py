"""What is written for one server of chats and not for another."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.prompt import Conversation, Layout, Segment, Tool, session, static, turn
from stemcache.prompt.part import Document, Image, Text
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.chat import render
from stemcache.prompt.render.chat_server import ANY_SERVER, ChatServer, chat_server
from stemcache.prompt.stability import Stability
from stemcache.wire.api import Api
from tests.prompt.rendering import (
    PDF,
    PNG,
    RULES,
    UNMARKED,
    Case,
    assistant,
    call,
    cases,
    laid,
    native,
    result,
    user,
)

PICTURE = Image(media_type="image/png", base64=PNG)
FILE = Document(media_type="application/pdf", base64=PDF)
LAYOUT = Layout([static("rules", "Be brief.", "Be kind."), session("who", "Ann.")])
STRINGS = ChatServer(strings=True)
NOW = turn("now", "12:00")
SEEN = turn("seen", "This:", PICTURE)


def talk(*questions: str | Image) -> Conversation:
    """Questions of as many messages, each but the last with an answer."""
    made = Conversation()
    for question in questions:
        if len(made):
            made.append(assistant("Yes."))
        made.user(question)
    return made


def messages(
    provider: str, conversation: Conversation, *behind: Segment, model: str = "m", **more: Any
) -> list[dict[str, Any]]:
    """Of a request."""
    body = LAYOUT.request(provider, model, conversation, behind, **more)
    return list(body["messages"])


def test_a_server_of_strings_gets_nothing_else() -> None:
    """Texts of one message are joined with a blank line; others get parts for several."""
    conversation = Conversation()
    conversation.user("Two", "texts")
    conversation.append(assistant("a", "b", call("c")))
    conversation.results(result("c", Text("1"), Text("2")))
    made = messages("deepseek", conversation, NOW, turn("day", "Monday"), model="deepseek-chat")
    assert [one["content"] for one in made] == [
        "Be brief.\n\nBe kind.\n\nAnn.",
        "Two\n\ntexts",
        "a\n\nb",
        "1\n\n2",
        "12:00\n\nMonday",
    ]
    for other in ("openai", "vllm", "mistral"):
        parts = messages(other, conversation)
        assert [type(one["content"]) for one in parts] == [list, list, list, list]


def test_the_names_that_frameworks_have_for_a_provider_do_too() -> None:
    """The rule says which provider it is."""
    (system, _) = messages("chatdeepseek", talk("q"), model="deepseek-reasoner")
    assert system["content"] == "Be brief.\n\nBe kind.\n\nAnn."


@pytest.mark.parametrize("behind", [(), (NOW,), (NOW, turn("day", "Monday", "noon"))])
def test_what_was_a_string_stays_one(behind: tuple[Segment, ...]) -> None:
    """And equal as far as it stays: the next request goes on behind it."""
    first = json.dumps(messages("deepseek", talk("q"), *behind, model="deepseek-chat"))
    kept = json.dumps(messages("deepseek", talk("q"), model="deepseek-chat")).rstrip('"}]')
    second = json.dumps(messages("deepseek", talk("q", "r"), *behind, model="deepseek-chat"))
    assert first.startswith(kept)
    assert second.startswith(kept)


def test_a_picture_still_needs_a_list() -> None:
    """There is no other word for it; the texts beside it are parts then, for good."""
    prompt = laid(user("a", PICTURE), user("a", "b"), system=[RULES])
    made = render(prompt, UNMARKED, model="m", options={}, server=STRINGS)["messages"]
    assert [part["type"] for part in made[1]["content"]] == ["text", "image_url"]
    assert made[2]["content"] == "a\n\nb"


def test_where_marks_come_there_are_parts() -> None:
    """A string can have none."""
    made = render(laid(user("a")), UNMARKED, model="m", options={}, server=STRINGS, listed=True)
    assert made["messages"] == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]


@pytest.mark.parametrize("provider", ["openai", "azure"])
@pytest.mark.parametrize("media", [PICTURE, FILE])
def test_a_turns_picture_is_a_message_of_its_own(provider: str, media: Image | Document) -> None:
    """Where two of a user's may stand in a row: what it stands behind is equal to its end."""
    seen = turn("seen", "This:", media)
    first = messages(provider, talk("q"), seen, model="gpt-4o")
    second = messages(provider, talk("q", "r"), seen, model="gpt-4o")
    kept = messages(provider, talk("q"), model="gpt-4o")
    assert first[: len(kept)] == second[: len(kept)] == kept
    assert [part["type"] for part in first[-1]["content"]][:1] == ["text"]
    assert len(first) == len(kept) + 1


def test_a_message_of_parts_takes_a_turns_picture() -> None:
    """Its form is that of the next request already."""
    first = messages("openai", talk(PICTURE), SEEN, model="gpt-4o")
    assert [part["type"] for part in first[1]["content"]] == ["image_url", "text", "image_url"]
    assert (
        first[1]["content"][:1]
        == messages("openai", talk(PICTURE, "r"), model="gpt-4o")[1]["content"]
    )


def test_the_name_of_who_asks_stays_with_the_question() -> None:
    """The turn's message is nobody's."""
    named = user(Text("q", native(Api.CHAT, name="Al")))
    body = LAYOUT.request("openai", "gpt-4o", [named], [SEEN])
    assert [one.get("name") for one in body["messages"]] == [None, "Al", None]


@pytest.mark.parametrize("provider", ["vllm", "sglang", "groq", "deepseek"])
def test_elsewhere_a_turns_picture_joins_and_the_plan_says_so(provider: str) -> None:
    """Templates refuse two messages of one speaker in a row; what that costs is told."""
    plan = LAYOUT.plan(provider, "m", talk("q"), [SEEN])
    (_, last) = plan.body()["messages"]
    assert [part["type"] for part in last["content"]] == ["text", "text", "image_url"]
    assert plan.placement.why[0] == (
        "message 0 is a list, for the Image of segment 'seen', and a string in the next request, "
        "which may read no further than there; send the picture or file as a part of the user's "
        "message, where it stays"
    )


@pytest.mark.parametrize(
    ("provider", "model", "asked", "behind"),
    [
        ("openai", "gpt-4o", "q", SEEN),  # a message of its own
        ("vllm", "m", "q", NOW),  # a text
        ("vllm", "m", PICTURE, SEEN),  # a list with or without it
        ("openai", "gpt-5.6", "q", SEEN),  # marks may come: a list for ever
    ],
)
def test_nothing_is_told_where_nothing_is_altered(
    provider: str, model: str, asked: str | Image, behind: Segment
) -> None:
    """Nor where no turn stands behind the history."""
    for turns in ((behind,), ()):
        why = LAYOUT.plan(provider, model, talk(asked), turns).placement.why
        assert not any("is a list, for" in one for one in why)


def test_several_texts_are_altered_where_they_are_one_string_only() -> None:
    """Elsewhere they are parts already."""
    conversation = Conversation()
    conversation.user("a", "b")
    told = {
        provider: any(
            "is a list, for" in one
            for one in LAYOUT.plan(provider, model, conversation, [SEEN]).placement.why
        )
        for provider, model in (("deepseek", "deepseek-chat"), ("vllm", "m"))
    }
    assert told == {"deepseek": True, "vllm": False}


@pytest.mark.parametrize(
    ("provider", "model", "name", "taken"),
    [
        ("openai", "gpt-4o", "f" * 64, True),
        ("openai", "gpt-4o", "f" * 65, False),
        ("openai", "gpt-4o", "a.b", False),
        ("openai", "gpt-5.6", "f" * 65, False),
        ("deepseek", "deepseek-chat", "a.b", True),
        ("deepseek", "deepseek-chat", "f" * 65, False),
        ("qwen", "qwen-plus", "f" * 65, False),
        ("azure", "gpt-4o", "a.b", True),
        ("vllm", "m", "wo ist das? " * 20, True),
    ],
)
def test_names_of_tools_are_judged_where_the_servers_limit_is_known(
    provider: str, model: str, name: str, *, taken: bool
) -> None:
    """A server of one's own may take any."""
    layout = Layout([], [Tool(name=name, description="", schema={})])
    if taken:
        (tool,) = layout.request(provider, model, talk("q"))["tools"]
        assert tool["function"]["name"] == name
    else:
        with pytest.raises(UsageError, match="which chat does not take; use letters, digits"):
            layout.request(provider, model, talk("q"))


@pytest.mark.parametrize("server", [STRINGS, chat_server("openai")])
@settings(deadline=None)
@given(case=cases(Api.CHAT), media=st.booleans(), marked=st.booleans())
def test_what_stays_has_one_form_whatever_a_turn_adds(
    server: ChatServer, case: Case, *, media: bool, marked: bool
) -> None:
    """Each message is equal, the last one as far as it was there without the turn."""
    listed = marked or (media and not server.repeats)
    pieces = [one for one in case.laid.pieces if one.stability is not Stability.TURN]
    added: list[Text | Image] = [Text("12:00"), *([PICTURE] if media else [])]
    turns = [replace(pieces[-1], source=NOW, part=part, stability=Stability.TURN) for part in added]
    kept, sent = (
        render(Laid(tuple(one)), UNMARKED, model="m", options={}, server=server, listed=listed)[
            "messages"
        ]
        for one in (pieces, [*pieces, *turns])
    )
    *before, last = kept
    assert sent[: len(before)] == before
    there = sent[len(before)]["content"]
    assert type(there) is type(last["content"])
    assert there[: len(last["content"])] == last["content"]


def test_what_is_not_listed_takes_what_any_does() -> None:
    """Nothing is made up."""
    assert chat_server("vllm") is chat_server("somebody") is ANY_SERVER
    assert (ANY_SERVER.strings, ANY_SERVER.repeats, ANY_SERVER.names) == (False, False, None)
