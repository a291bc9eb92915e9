from base64 import b64decode, b64encode
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.part import Document, Image, Part, Text
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.converse import render
from stemcache.prompt.segment import static, turn
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

POINT = {"cachePoint": {"type": "default"}}


def body(prompt: Laid, placement: Placement = UNMARKED, **options: Any) -> dict[str, Any]:
    """Arguments of the operation."""
    return render(prompt, placement, model="m", options=options)


def content(*said: Any) -> list[Any]:
    """The blocks of the last message."""
    last: list[Any] = body(laid(*said))["messages"][-1]["content"]
    return last


def test_a_whole_body_reads_as_the_api_documents_it() -> None:
    """A mark is a block behind the one that it marks."""
    prompt = laid(user("q"), tools=[SEARCH], system=[RULES], behind=[turn("now", "12:00")])
    placement = marks((1, "1h"), 2, (3, "5m"))
    assert body(prompt, placement, toolConfig={"toolChoice": {"auto": {}}}) == {
        "modelId": "m",
        "toolConfig": {
            "toolChoice": {"auto": {}},
            "tools": [
                {
                    "toolSpec": {
                        "name": "search",
                        "description": "Finds pages.",
                        "inputSchema": {
                            "json": {
                                "properties": {"q": {"type": "string"}},
                                "required": ["q"],
                                "type": "object",
                            }
                        },
                    }
                },
                {"cachePoint": {"type": "default", "ttl": "1h"}},
            ],
        },
        "system": [{"text": "Be brief."}, POINT],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "q"},
                    {"cachePoint": {"type": "default", "ttl": "5m"}},
                    {"text": "12:00"},
                ],
            }
        ],
    }


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (
            Image(media_type="image/png", base64=PNG),
            {"image": {"format": "png", "source": {"bytes": b64decode(PNG)}}},
        ),
        (
            Image(media_type="image/jpeg", url="s3://bucket/a"),
            {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/a"}}}},
        ),
        (
            Document(media_type="text/markdown", name="read.me.md", base64=PDF),
            {
                "document": {
                    "format": "md",
                    "name": "read me",
                    "source": {"bytes": b64decode(PDF)},
                }
            },
        ),
        (
            native(Api.CONVERSE, image={"format": "png", "source": {"bytes": PNG}}),
            {"image": {"format": "png", "source": {"bytes": b64decode(PNG)}}},
        ),
    ],
)
def test_pictures_and_files_are_bytes(part: Part, written: dict[str, Any]) -> None:
    """The client encodes them."""
    assert content(user("q", part))[1] == written


def test_names_of_documents_are_allowed_and_different() -> None:
    """Numbered in the order of the conversation, so that a later one renames none before it."""
    names = ["a.pdf", "a.pdf", "a_b\u3000c.pdf", "", ".", "x" * 300, "x" * 300, "(1) [2]-3"]
    files = [Document(media_type="application/pdf", name=name, base64=PDF) for name in names]
    made = [block["document"]["name"] for block in content(user("q", *files))[1:]]
    assert made == [
        "a",
        "a 2",
        "a b c",
        "document",
        "document 2",
        "x" * 200,
        "x" * 198 + " 2",
        "(1) [2]-3",
    ]


def test_results_keep_blanks_and_nothing_is_an_empty_text() -> None:
    """There the API takes them; it refuses blanks elsewhere, so they are dropped."""
    made = content(
        user("q"),
        assistant(" ", call("a"), call("b")),
        user(result("b", Text(" "), failed=True), result("a"), "\n"),
    )
    assert made == [
        {"toolResult": {"toolUseId": "b", "content": [{"text": " "}], "status": "error"}},
        {"toolResult": {"toolUseId": "a", "content": [{"text": ""}]}},
    ]


def test_what_a_model_wrote_goes_back() -> None:
    """Arguments in its order, what stood beside them inside of the call, thoughts as bytes."""
    redacted = {"redactedContent": b64encode(b"x").decode()}
    prompt = laid(
        user("q"),
        assistant(
            thought(Api.CONVERSE),
            native(Api.CONVERSE, reasoningContent=redacted),
            Text("a", native(Api.GENERATE, thoughtSignature="s")),
            call("a", '{"z":1,"bytes":"a"}', beside=native(Api.CONVERSE, type="server_tool_use")),
        ),
        user(result()),
    )
    made = body(prompt)["messages"][1]["content"]
    assert made == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": b"x"}},
        {"text": "a"},
        {
            "toolUse": {
                "toolUseId": "a",
                "name": "search",
                "input": {"z": 1, "bytes": "a"},
                "type": "server_tool_use",
            }
        },
    ]
    assert list(made[3]["toolUse"]["input"]) == ["z", "bytes"]


def test_a_mark_may_stand_behind_calls_and_results() -> None:
    """Unlike behind thoughts, and files that Bedrock takes the text of."""
    pdf = Document(media_type="application/pdf", base64=PDF)
    prompt = laid(user("q", pdf), assistant(call()), user(result()))
    made = body(prompt, marks(2, 3, 4))["messages"]
    assert [one["content"][-1] for one in made] == [POINT, POINT, POINT]


@pytest.mark.parametrize(
    ("prompt", "boundary"),
    [
        (laid(user("q"), assistant(thought(Api.CONVERSE), "a"), user("b")), 2),
        (laid(user("q", Document(media_type="text/csv", base64=PDF))), 2),
    ],
)
def test_a_mark_cannot_stand_behind_thoughts_and_files_of_text(prompt: Laid, boundary: int) -> None:
    """The API answers 400."""
    with pytest.raises(UsageError, match="where converse lets none stand"):
        body(prompt, marks(boundary))


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        (laid(user("q")), {"toolConfig": {"toolChoice": {"auto": {}}}}, "without tools"),
        (laid(user("q")), {"toolConfig": {"tools": []}}, "no object without tools"),
        (laid(user("q")), {"toolConfig": 1}, "no object without tools"),
        (laid(user("q")), {"modelId": "x"}, "'modelId' is written by the layout"),
        (laid(user("q", Image(media_type="image/png", url="https://x"))), {}, "outside of S3"),
        (laid(user("q", Image(media_type="image/tiff", base64=PNG))), {}, "convert it to one of"),
        (laid(user("q", Document(media_type="x/y", base64=PDF))), {}, "does not take"),
        (laid(user("q", Image(media_type="image/png", base64="!"))), {}, "is no base64"),
        (laid(user(Document(media_type="application/pdf", base64=PDF))), {}, "and no text"),
        (
            laid(
                user("q"),
                assistant(native(Api.CONVERSE, reasoningContent={"redactedContent": "!"})),
            ),
            {},
            "has a redactedContent that is no base64",
        ),
        (laid(assistant("a"), user("q")), {}, "begins the conversation"),
    ],
)
def test_what_the_api_would_refuse(prompt: Laid, options: dict[str, Any], message: str) -> None:
    """With its place."""
    with pytest.raises(UsageError, match=message):
        body(prompt, **options)


def test_empty_segments_have_no_block() -> None:
    """The API's system texts have at least a character."""
    assert body(laid(user("q"), system=[static("s", "", "a")]))["system"] == [{"text": "a"}]
    assert "system" not in body(laid(user("q"), system=[static("s", " ")]))
