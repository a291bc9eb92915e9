from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.part import Document, Image, Native, Part, Text, ToolCall
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.messages import render
from stemcache.prompt.segment import static, turn
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api
from tests.prompt.rendering import (
    PDF,
    PNG,
    RULES,
    SEARCH,
    UNMARKED,
    assistant,
    call,
    laid,
    marks,
    native,
    result,
    thought,
    user,
)


def body(prompt: Laid, placement: Placement = UNMARKED, **options: Any) -> dict[str, Any]:
    """A body with the least options."""
    return render(prompt, placement, model="m", options={"max_tokens": 5, **options})


def block(part: Part) -> Any:
    """How a user's or a model's part is written, behind a text."""
    users = isinstance(part, Image | Document)
    said = (user("q", part),) if users else (user("q"), assistant("a", part), *_answered(part))
    return body(laid(*said))["messages"][0 if users else 1]["content"][1]


def _answered(part: Part) -> tuple[Any, ...]:
    return (user(result(part.id)),) if isinstance(part, ToolCall) else ()


def test_a_whole_body_reads_as_the_api_documents_it() -> None:
    """Tools, system and messages, with marks behind a tool, a segment and a message."""
    prompt = laid(user("hi"), tools=[SEARCH], system=[RULES], behind=[turn("now", "12:00")])
    assert body(prompt, marks((1, "1h"), (2, None), (3, "5m")), temperature=0) == {
        "model": "m",
        "max_tokens": 5,
        "temperature": 0,
        "tools": [
            {
                "name": "search",
                "description": "Finds pages.",
                "input_schema": {
                    "properties": {"q": {"type": "string"}},
                    "required": ["q"],
                    "type": "object",
                },
                "cache_control": {"type": "ephemeral", "ttl": "1h"},
            }
        ],
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": "hi",
                        "cache_control": {"type": "ephemeral", "ttl": "5m"},
                    },
                    {"type": "text", "text": "12:00"},
                ],
            }
        ],
    }


def test_neighbours_of_one_speaker_are_one_message() -> None:
    """Roles alternate whatever the conversation was made of."""
    made = body(laid(user("a"), user("b"), assistant("c"), assistant("d"), user("e")))
    assert [
        (one["role"], [part["text"] for part in one["content"]]) for one in made["messages"]
    ] == [("user", ["a", "b"]), ("assistant", ["c", "d"]), ("user", ["e"])]


def test_parallel_results_stand_in_one_message_before_its_text() -> None:
    """In the order in which they came, whichever order the calls had."""
    prompt = laid(
        user("q"),
        assistant(call("a"), call("b")),
        user(result("b", Text("2"), failed=True), result("a", Text("1")), "and?"),
    )
    assert body(prompt)["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "b", "content": "2", "is_error": True},
        {"type": "tool_result", "tool_use_id": "a", "content": "1"},
        {"type": "text", "text": "and?"},
    ]


def test_results_of_several_parts_are_a_list_without_blanks() -> None:
    """A lone text stays a string, blanks too; a result of nothing has no content."""
    image = Image(media_type="image/png", base64=PNG)
    said = [result("a", Text("x"), Text(" "), image), result("b", Text(" "), Text("")), result("c")]
    prompt = laid(user("q"), assistant(call("a"), call("b"), call("c")), user(*said))
    first, second, third = body(prompt)["messages"][2]["content"]
    assert [one["type"] for one in first["content"]] == ["text", "image"]
    assert second["content"] == " "
    assert "content" not in third


def test_one_text_that_blanks_leave_is_a_string_as_one_alone_is() -> None:
    """Read back, it is one text, and has to make the same bytes."""
    for parts in ((Text("found"),), (Text("found"), Text("\r")), (Text(" "), Text("found"))):
        prompt = laid(user("q"), assistant(call("a")), user(result("a", *parts)))
        assert body(prompt)["messages"][2]["content"][0]["content"] == "found"


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\u3000"])
def test_blank_texts_are_dropped(blank: str) -> None:
    """The API answers 400 to them; models write them before calls all the same."""
    prompt = laid(
        user("q"),
        assistant(blank, call("a")),
        user(result("a"), blank),
        assistant(blank),
        user("b"),
        system=[static("s", blank, "x")],
    )
    made = body(prompt)
    assert [one["role"] for one in made["messages"]] == ["user", "assistant", "user"]
    assert made["system"] == [{"type": "text", "text": "x"}]
    texts = [part for one in made["messages"] for part in one["content"] if part["type"] == "text"]
    assert [one["text"] for one in texts] == ["q", "b"]


def test_a_mark_behind_a_blank_stands_behind_what_is_before_it() -> None:
    """The prefix up to there is the same."""
    prompt = laid(user("q", " "), assistant("a"), user("b"))
    assert "cache_control" in body(prompt, marks(2))["messages"][0]["content"][0]


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (
            Image(media_type="image/png", base64=PNG),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        ),
        (
            Image(media_type="image/*", url="https://x/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://x/a.png"}},
        ),
        (
            Document(media_type="application/pdf", name="A", base64=PDF),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                "title": "A",
            },
        ),
        (
            Document(media_type="application/pdf", url="https://x/a.pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}},
        ),
        (
            Document(media_type="text/plain", base64="w6k="),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "é"},
            },
        ),
        (
            call("a", '{"b": 1, "a": [1.5, null]}'),
            {
                "type": "tool_use",
                "id": "a",
                "name": "search",
                "input": {"b": 1, "a": [1.5, None]},
            },
        ),
        (
            call("a", "", beside=native(Api.MESSAGES, caller={"type": "direct"})),
            {
                "type": "tool_use",
                "id": "a",
                "name": "search",
                "input": {},
                "caller": {"type": "direct"},
            },
        ),
        (
            Text("x", native(Api.MESSAGES, citations=[])),
            {"type": "text", "text": "x", "citations": []},
        ),
        (Text("x", native(Api.GENERATE, thoughtSignature="s")), {"type": "text", "text": "x"}),
        (
            native(Api.MESSAGES, type="server_tool_use", id="s"),
            {"type": "server_tool_use", "id": "s"},
        ),
        (
            thought(Api.MESSAGES),
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        ),
    ],
)
def test_parts_are_written_as_the_api_has_them(part: Part, written: dict[str, Any]) -> None:
    """Members of what a model wrote keep their order."""
    made = block(part)
    assert made == written
    assert list(made) == list(written)


def test_the_members_of_arguments_keep_their_order() -> None:
    """An object is sent as the model wrote it, not as we would sort it."""
    assert list(block(call("a", '{"z":1,"a":2}'))["input"]) == ["z", "a"]


def test_thoughts_of_other_apis_are_left_out() -> None:
    """Their seals mean nothing here."""
    prompt = laid(user("q"), assistant(thought(Api.GENERATE), "a"), user("b"))
    assert [one["type"] for one in body(prompt)["messages"][1]["content"]] == ["text"]


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (laid(), "no message to answer"),
        (laid(assistant("a")), "begins the conversation"),
        (laid(user("q"), assistant("a", call(), "b"), user(result())), "behind a call"),
        (laid(user(native(Api.CHAT, type="x"))), "a block of chat, which messages has no word"),
        (laid(user(Image(media_type="image/tiff", base64=PNG))), "convert it to one of image/gif"),
        (laid(user(Image(media_type="image/png"))), "both bytes and an address, or neither"),
        (laid(user(Document(media_type="text/csv", base64=PDF))), "does not take"),
        (laid(user(Document(media_type="text/plain", url="https://x"))), "given by address"),
        (laid(user(Document(media_type="text/plain", base64="!"))), "no base64"),
        (laid(user(Document(media_type="text/plain", base64="/w=="))), "no UTF-8"),
        (laid(user("q"), assistant(call("a", "[1]")), user(result())), "are no JSON object"),
        (laid(user("q"), assistant(call("a", "{")), user(result())), "take the call out"),
        (
            laid(user("q"), assistant(Native(api=Api.MESSAGES, json="1"))),
            "the Native in message 1 holds no JSON object",
        ),
        (
            laid(user("q"), system=[static("s", Image(media_type="image/png", base64=PNG))]),
            "the Image of segment 's' stands in the system section",
        ),
    ],
)
def test_what_the_api_would_refuse_is_refused_with_its_place(prompt: Laid, message: str) -> None:
    """Before it is sent."""
    with pytest.raises(UsageError, match=message):
        body(prompt)


def test_a_mark_cannot_stand_on_a_thought() -> None:
    """The error says which piece it is."""
    prompt = laid(user("q"), assistant(thought(Api.MESSAGES), "a"), user("b"))
    with pytest.raises(UsageError, match="behind the Thinking in message 1, where messages lets"):
        body(prompt, marks(2))


def test_tokens_for_the_answer_are_needed() -> None:
    """The API has no default."""
    with pytest.raises(UsageError, match="no max_tokens"):
        render(laid(user("q")), UNMARKED, model="m", options={})


def test_a_tool_without_a_description_has_no_such_member() -> None:
    """An empty one says nothing."""
    prompt = laid(user("q"), tools=[Tool(name="t", description="", schema={"type": "object"})])
    assert list(body(prompt)["tools"][0]) == ["name", "input_schema"]
