from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.part import Document, Image, Part, Text
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.responses import render
from stemcache.prompt.segment import turn
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


def body(prompt: Laid, placement: Placement = UNMARKED, **options: Any) -> dict[str, Any]:
    """A body."""
    return render(prompt, placement, model="m", options=options)


def items(*said: Any, placement: Placement = UNMARKED) -> Any:
    """The input of a body."""
    return body(laid(*said), placement)["input"]


def test_a_whole_body_reads_as_the_api_documents_it() -> None:
    """Instructions are a developer's message, for only its parts can have a mark."""
    prompt = laid(
        user("q"),
        assistant(thought(Api.RESPONSES), "a", call("a", '{"q" : 1}'), call("b")),
        user(result("b", Text("2")), result("a")),
        tools=[SEARCH],
        system=[RULES],
        behind=[turn("now", "12:00")],
    )
    made = body(prompt, marks((2, "12h"), 3, implicit=False), prompt_cache_key="k")
    assert made == {
        "model": "m",
        "prompt_cache_key": "k",
        "prompt_cache_options": EXPLICIT,
        "tools": [
            {
                "type": "function",
                "name": "search",
                "description": "Finds pages.",
                "parameters": {
                    "properties": {"q": {"type": "string"}},
                    "required": ["q"],
                    "type": "object",
                },
                "strict": False,
            }
        ],
        "input": [
            {
                "type": "message",
                "role": "developer",
                "content": [
                    {
                        "type": "input_text",
                        "text": "Be brief.",
                        "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"},
                    }
                ],
            },
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "q", "prompt_cache_breakpoint": EXPLICIT}
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant", "content": "a"},
            {
                "type": "function_call",
                "call_id": "a",
                "name": "search",
                "arguments": '{"q" : 1}',
            },
            {
                "type": "function_call",
                "call_id": "b",
                "name": "search",
                "arguments": '{"q":"x"}',
            },
            {
                "type": "function_call_output",
                "call_id": "b",
                "output": [{"type": "input_text", "text": "2"}],
            },
            {"type": "function_call_output", "call_id": "a", "output": ""},
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "12:00"}],
            },
        ],
    }


def test_a_mark_on_a_result_stands_on_its_last_part() -> None:
    """On an empty text where the tool answered nothing; without marks one text is a string."""
    said = (
        user("q"),
        assistant(call("a"), call("b")),
        user(result("a", Text("1"), PICTURE), result("b")),
    )
    first, second = items(*said, placement=marks(4, 5))[3:]
    assert ["prompt_cache_breakpoint" in part for part in first["output"]] == [False, True]
    assert second["output"] == [
        {"type": "input_text", "text": "", "prompt_cache_breakpoint": EXPLICIT}
    ]
    first, second = items(*said)[3:]
    assert [part["type"] for part in first["output"]] == ["input_text", "input_image"]
    assert second["output"] == ""


def test_where_outputs_are_listed_a_first_mark_changes_nothing_before_it() -> None:
    """A prompt below the minimum has none; the next one, which is longer, may."""
    results = user(result("a", Text("1")), result("b"))
    history = (user("q"), assistant("a", call("a"), call("b")), results)
    sent = [
        render(laid(*told), marked, model="m", options={}, listed=True)["input"]
        for told, marked in ((history, UNMARKED), ((*history, user("go on")), marks(7)))
    ]
    assert sent[1][: len(sent[0])] == sent[0]
    assert [item["output"] for item in sent[0][-2:]] == [[{"type": "input_text", "text": "1"}], ""]
    assert "prompt_cache_breakpoint" in sent[1][-1]["content"][0]


def test_an_answer_with_an_id_goes_back_as_the_item_that_it_was() -> None:
    """Texts of one item in one, for ids are unique; a phase alone stands on a plain message."""
    around = native(Api.RESPONSES, id="msg_1", status="completed", phase="final_answer")
    phase = native(Api.RESPONSES, phase="commentary")
    made = items(user("q"), assistant(Text("x", phase), Text("a", around), Text("b", around)))
    assert made[1:] == [
        {"type": "message", "role": "assistant", "content": "x", "phase": "commentary"},
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "a", "annotations": []},
                {"type": "output_text", "text": "b", "annotations": []},
            ],
            "id": "msg_1",
            "status": "completed",
            "phase": "final_answer",
        },
    ]


def test_texts_without_an_id_stay_items_of_their_own() -> None:
    """Nothing says that they were one."""
    assert [item["content"] for item in items(user("q"), assistant("a", "a"))[1:]] == ["a", "a"]


def test_the_id_of_a_call_item_goes_back() -> None:
    """Beside the call's own."""
    made = items(
        user("q"),
        assistant(call(beside=native(Api.RESPONSES, id="fc_1", status="completed"))),
        user(result()),
    )
    assert made[1]["id"] == "fc_1"
    assert made[1]["call_id"] == "a"


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (
            PICTURE,
            {
                "type": "input_image",
                "detail": "auto",
                "image_url": f"data:image/png;base64,{PNG}",
            },
        ),
        (
            Image(media_type="image/*", url="https://x/a"),
            {"type": "input_image", "detail": "auto", "image_url": "https://x/a"},
        ),
        (
            Document(media_type="application/pdf", name="a.pdf", base64=PDF),
            {
                "type": "input_file",
                "filename": "a.pdf",
                "file_data": f"data:application/pdf;base64,{PDF}",
            },
        ),
        (
            Document(media_type="application/pdf", url="https://x/a"),
            {"type": "input_file", "file_url": "https://x/a"},
        ),
        (
            native(Api.RESPONSES, type="input_image", file_id="f", detail="low"),
            {"type": "input_image", "file_id": "f", "detail": "low"},
        ),
    ],
)
def test_pictures_and_files_are_parts(part: Part, written: dict[str, Any]) -> None:
    """Of the user's message that they stand in."""
    (message,) = items(user("q", part))
    assert message["content"][1] == written


def test_items_of_tools_stand_between_messages_where_they_came() -> None:
    """A block that is no part is an item of its own."""
    output = native(Api.RESPONSES, type="custom_tool_call_output", call_id="c", output="x")
    made = items(
        user("q"),
        assistant(native(Api.RESPONSES, type="custom_tool_call", call_id="c", name="t", input="")),
        user(output, "and?"),
    )
    assert [item["type"] for item in made] == [
        "message",
        "custom_tool_call",
        "custom_tool_call_output",
        "message",
    ]


def test_an_answers_texts_can_have_no_mark() -> None:
    """Their type has no member for it."""
    with pytest.raises(UsageError, match="the Text in message 1, where responses lets none stand"):
        body(laid(user("q"), assistant("a"), user("b")), marks(2))


@pytest.mark.parametrize("name", ["input", "instructions", "tools", "model"])
def test_the_prompt_cannot_be_an_option(name: str) -> None:
    """It would be written twice."""
    with pytest.raises(UsageError, match=f"option '{name}' is written by the layout"):
        render(laid(user("q")), UNMARKED, model="m", options={name: "x"})
