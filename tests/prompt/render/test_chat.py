import json
from dataclasses import replace
from typing import Any, get_args

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.message import Message
from stemcache.prompt.part import Document, Image, Part, Text
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.chat import Marker, render
from stemcache.prompt.segment import Segment, static, turn
from stemcache.prompt.stability import Stability
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

EXPLICIT = {"mode": "explicit"}
PICTURE = Image(media_type="image/png", base64=PNG)
FILE = Document(media_type="application/pdf", base64=PDF)


def body(prompt: Laid, placement: Placement = UNMARKED, **options: Any) -> dict[str, Any]:
    """A body."""
    return render(prompt, placement, model="m", options=options)


def messages(*said: Any, **more: Any) -> Any:
    """Messages of a body without marks."""
    return body(laid(*said, **more))["messages"]


def test_without_marks_lone_texts_are_strings() -> None:
    """The form that every server of this API takes."""
    prompt = laid(
        user("q"),
        assistant(call("a", '{"q" : 1}'), call("b")),
        user(result("b", Text("2")), result("a"), "now?"),
        tools=[SEARCH],
        system=[RULES],
    )
    assert body(prompt, prompt_cache_key="k") == {
        "model": "m",
        "prompt_cache_key": "k",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "search",
                    "description": "Finds pages.",
                    "parameters": {
                        "properties": {"q": {"type": "string"}},
                        "required": ["q"],
                        "type": "object",
                    },
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "q"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "search", "arguments": '{"q" : 1}'},
                    },
                    {
                        "id": "b",
                        "type": "function",
                        "function": {"name": "search", "arguments": '{"q":"x"}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "tool", "tool_call_id": "a", "content": ""},
            {"role": "user", "content": "now?"},
        ],
    }


def test_with_marks_all_content_is_parts() -> None:
    """So that the mark of the next request changes nothing in the messages before it."""
    prompt = laid(
        user("q"),
        assistant("a", call()),
        user(result("a", Text("r"))),
        system=[RULES],
        behind=[turn("now", "12:00")],
    )
    made = body(prompt, marks((1, "12h"), 3, 5, implicit=False))
    assert made["prompt_cache_options"] == EXPLICIT
    assert [one["content"] for one in made["messages"]] == [
        [
            {
                "type": "text",
                "text": "Be brief.",
                "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"},
            }
        ],
        [{"type": "text", "text": "q"}],
        [{"type": "text", "text": "a", "prompt_cache_breakpoint": EXPLICIT}],
        [{"type": "text", "text": "r", "prompt_cache_breakpoint": EXPLICIT}],
        [{"type": "text", "text": "12:00"}],
    ]


def test_a_mark_on_a_result_of_several_texts_stands_on_the_last() -> None:
    """And one on a result of nothing on an empty text."""
    prompt = laid(
        user("q"),
        assistant(call("a"), call("b")),
        user(result("a", Text("1"), Text("2")), result("b")),
    )
    first, second = body(prompt, marks(4, 5))["messages"][2:]
    assert ["prompt_cache_breakpoint" in part for part in first["content"]] == [False, True]
    assert second["content"] == [{"type": "text", "text": "", "prompt_cache_breakpoint": EXPLICIT}]


def test_other_servers_take_marks_as_anthropic_writes_them() -> None:
    """Qwen, MiniMax and OpenRouter: without OpenAI's options."""
    made = render(
        laid(user("q")),
        marks((1, "5m"), implicit=False),
        model="m",
        options={},
        marker="cache_control",
    )
    assert made == {
        "model": "m",
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": "q",
                        "cache_control": {"type": "ephemeral", "ttl": "5m"},
                    }
                ],
            }
        ],
    }


@pytest.mark.parametrize("marker", get_args(Marker))
def test_where_content_is_listed_a_first_mark_changes_nothing_before_it(marker: Marker) -> None:
    """A prompt below the minimum has none; the next one, which is longer, may."""
    history = (user("q"), assistant("a", call()), user(result("a", Text("1"))))
    sent = [
        render(
            laid(*told, system=[RULES]), marked, model="m", options={}, marker=marker, listed=True
        )
        for told, marked in ((history, UNMARKED), ((*history, user("go on")), marks(6)))
    ]
    first, second = (one["messages"] for one in sent)
    assert second[: len(first)] == first
    assert marker in second[-1]["content"][0]


def with_turn(*history: Message, parts: tuple[Text | Image, ...] = (Text("12:00"),)) -> Laid:
    """A turn segment that joins the last message, as a layout lays it where there are no marks."""
    made = laid(*history, behind=[Segment(name="now", stability=Stability.TURN, parts=parts)])
    last = len(history) - 1
    return Laid(
        tuple(
            replace(one, message=min(one.message, last))
            if isinstance(one.source, Message)
            else replace(one, message=last, stability=Stability.TURN)
            for one in made.pieces
        )
    )


def test_a_turn_leaves_the_form_of_the_message_that_it_joins() -> None:
    """A string goes on behind a blank line, which servers of strings alone take; parts stay so."""
    lone = body(with_turn(user("q")))["messages"]
    assert lone == [{"role": "user", "content": "q\n\n12:00"}]
    two = body(with_turn(user("q", "r"), parts=(Text("12:00"), Text("Monday"))))["messages"]
    texts = [{"type": "text", "text": text} for text in ("q", "r", "12:00", "Monday")]
    assert two == [{"role": "user", "content": texts}]
    (picture,) = body(with_turn(user(PICTURE)))["messages"]
    assert [part["type"] for part in picture["content"]] == ["image_url", "text"]
    told = (user("q"), assistant(call()), user(result("a", Text("1"))))
    assert body(with_turn(*told, parts=(Text("12:00"), Text("Monday"))))["messages"][2:] == [
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "user", "content": "12:00\n\nMonday"},
    ]


def test_what_a_turn_joined_is_equal_in_the_next_request_up_to_the_turn() -> None:
    """Of whatever texts, as JSON: only the end of the message and what follows is another."""
    for told in ((user("q"),), (user("q", "r"),), (user("a"), assistant("b"), user("q"))):
        first = json.dumps(body(with_turn(*told))["messages"])
        second = json.dumps(body(with_turn(*told, assistant("x"), user("go on")))["messages"])
        kept = json.dumps(messages(*told)).rstrip('"}]')
        assert first.startswith(kept)
        assert second.startswith(kept)


def test_with_marks_to_come_a_turn_is_parts_too() -> None:
    """One form for all content."""
    made = render(with_turn(user("q")), UNMARKED, model="m", options={}, listed=True)
    assert [part["text"] for part in made["messages"][0]["content"]] == ["q", "12:00"]


def test_the_apis_own_breakpoint_is_left_on_where_the_placement_leaves_it() -> None:
    """Then no option says anything of it."""
    assert "prompt_cache_options" not in body(laid(user("q")), marks(1))


def test_options_of_the_cache_are_kept_beside_the_placements() -> None:
    """What the caller says of the mode is what holds."""
    off = marks(1, implicit=False)
    made = body(laid(user("q")), off, prompt_cache_options={"ttl": "30m"})
    assert made["prompt_cache_options"] == {"mode": "explicit", "ttl": "30m"}
    made = body(laid(user("q")), off, prompt_cache_options={"mode": "implicit"})
    assert made["prompt_cache_options"] == {"mode": "implicit"}
    with pytest.raises(UsageError, match="'prompt_cache_options' is no object"):
        body(laid(user("q")), off, prompt_cache_options="30m")


def test_messages_of_one_speaker_stay_apart() -> None:
    """A message that was longer when it was sent ends nowhere that was written."""
    assert messages(user("a"), user("b")) == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (PICTURE, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}),
        (
            Image(media_type="image/*", url="https://x/a"),
            {"type": "image_url", "image_url": {"url": "https://x/a"}},
        ),
        (
            FILE,
            {
                "type": "file",
                "file": {
                    "filename": "document.pdf",
                    "file_data": f"data:application/pdf;base64,{PDF}",
                },
            },
        ),
        (
            native(Api.CHAT, type="input_audio", input_audio={}),
            {"type": "input_audio", "input_audio": {}},
        ),
    ],
)
def test_pictures_and_files_are_parts(part: Part, written: dict[str, Any]) -> None:
    """Also alone, and with a mark where the type allows it."""
    assert messages(user(part)) == [{"role": "user", "content": [written]}]


def test_pictures_and_files_carry_marks() -> None:
    """A breakpoint may stand on any part of a user's."""
    made = body(laid(user(PICTURE, FILE)), marks(1, 2))["messages"][0]["content"]
    assert ["prompt_cache_breakpoint" in part for part in made] == [True, True]


def test_what_vendors_models_thought_goes_back_as_members() -> None:
    """So does what came beside calls and texts."""
    (_, answer, _) = messages(
        user("q"),
        assistant(
            thought(Api.CHAT),
            Text("a", native(Api.CHAT, name="Al")),
            native(Api.CHAT, refusal="no"),
            native(Api.CHAT, id="c", type="custom", custom={"name": "x", "input": ""}),
            native(Api.CHAT, type="refusal", refusal="no"),
            call(beside=native(Api.CHAT, extra_content={"x": 1})),
        ),
        user(result()),
    )[:3]
    assert answer == {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}],
        "reasoning_content": "hm",
        "name": "Al",
        "refusal": "no",
        "tool_calls": [
            {"id": "c", "type": "custom", "custom": {"name": "x", "input": ""}},
            {
                "id": "a",
                "type": "function",
                "function": {"name": "search", "arguments": '{"q":"x"}'},
                "extra_content": {"x": 1},
            },
        ],
    }


def test_a_users_name_stands_on_the_message() -> None:
    """Where the client sent it."""
    assert messages(user(Text("a", native(Api.CHAT, name="Al")))) == [
        {"role": "user", "content": "a", "name": "Al"}
    ]


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (
            laid(user("q"), assistant(call()), user(result("a", PICTURE))),
            "holds a picture or a file, which results in a chat cannot",
        ),
        (laid(user(Document(media_type="application/pdf", url="https://x"))), "given by address"),
        (laid(user("q"), assistant(call(), "b"), user(result())), "behind a call"),
        (
            laid(user("q"), assistant(thought(Api.CHAT), native(Api.CHAT, reasoning_content="x"))),
            "brings the member 'reasoning_content'",
        ),
        (
            laid(user("q"), assistant(native(Api.CHAT, role="system"))),
            "brings the member 'role'",
        ),
    ],
)
def test_what_a_chat_cannot_say_is_refused(prompt: Laid, message: str) -> None:
    """With its place and what to do."""
    with pytest.raises(UsageError, match=message):
        body(prompt)


@pytest.mark.parametrize("boundary", [1, 4])
def test_tools_and_calls_can_have_no_mark(boundary: int) -> None:
    """Their types have no member for it."""
    prompt = laid(user("q"), assistant("a", call()), user(result()), tools=[SEARCH])
    with pytest.raises(UsageError, match="where chat lets none stand"):
        body(prompt, marks(boundary))


def test_segments_of_several_texts_stay_several_parts() -> None:
    """A mark may stand between them."""
    made = messages(user("q"), system=[static("s", "a", "b")])
    assert made[0]["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def test_an_answer_of_a_thought_alone_has_an_empty_text() -> None:
    """Content may be missing beside calls only."""
    assert messages(user("q"), assistant(thought(Api.CHAT)))[1] == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm",
    }
