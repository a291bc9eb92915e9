from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.part import Document, Image, Part, Text
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.generate import create, render
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

CACHED = "cachedContents/x"
WHOLE = laid(
    user("q"),
    assistant("a"),
    user("b"),
    tools=[SEARCH],
    system=[RULES],
    behind=[turn("now", "12:00")],
)
SYSTEM = {"parts": [{"text": "Be brief."}]}
TOOLS = [
    {
        "functionDeclarations": [
            {
                "name": "search",
                "description": "Finds pages.",
                "parametersJsonSchema": {
                    "properties": {"q": {"type": "string"}},
                    "required": ["q"],
                    "type": "object",
                },
            }
        ]
    }
]


def body(prompt: Laid, placement: Placement = UNMARKED, **options: Any) -> dict[str, Any]:
    """A body."""
    return render(prompt, placement, model="gemini-4-argon", options=options)


def made(prompt: Laid, placement: Placement, **options: Any) -> dict[str, Any]:
    """A body that makes a cached content."""
    return create(prompt, placement, model="gemini-4-argon", options=options)


def parts(*said: Any) -> Any:
    """Parts of the contents, flat."""
    return [part for content in body(laid(*said))["contents"] for part in content["parts"]]


def test_without_a_mark_the_whole_prompt_is_sent() -> None:
    """Implicit caches need no word of it; neighbours of one speaker are one content."""
    assert body(WHOLE, generationConfig={"temperature": 0}) == {
        "model": "models/gemini-4-argon",
        "generationConfig": {"temperature": 0},
        "systemInstruction": SYSTEM,
        "tools": TOOLS,
        "contents": [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"text": "a"}]},
            {"role": "user", "parts": [{"text": "b"}, {"text": "12:00"}]},
        ],
    }


def test_an_object_holds_all_before_its_mark_and_the_request_what_is_behind_it() -> None:
    """It lives as long as the mark says; the request repeats neither instructions nor tools."""
    placement = marks((5, "1h"))
    assert made(WHOLE, placement, displayName="x") == {
        "model": "models/gemini-4-argon",
        "displayName": "x",
        "ttl": "3600s",
        "systemInstruction": SYSTEM,
        "tools": TOOLS,
        "contents": [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"text": "a"}]},
            {"role": "user", "parts": [{"text": "b"}]},
        ],
    }
    assert body(WHOLE, placement, cachedContent=CACHED) == {
        "model": "models/gemini-4-argon",
        "cachedContent": CACHED,
        "contents": [{"role": "user", "parts": [{"text": "12:00"}]}],
    }


def test_an_object_may_hold_instructions_alone() -> None:
    """Then it has no contents."""
    found = made(WHOLE, marks(2))
    assert "contents" not in found
    assert "ttl" not in found
    assert len(body(WHOLE, marks(2), cachedContent=CACHED)["contents"]) == 3


@pytest.mark.parametrize("boundary", [2, 3, 4, 5])
def test_object_and_request_together_are_the_whole_prompt(boundary: int) -> None:
    """Wherever the mark stands, nothing is lost, and nothing is sent twice."""
    placement = marks(boundary)
    first = made(WHOLE, placement).get("contents", [])
    second = body(WHOLE, placement, cachedContent=CACHED)["contents"]
    texts = [part["text"] for content in (*first, *second) for part in content["parts"]]
    assert texts == ["q", "a", "b", "12:00"]


@pytest.mark.parametrize(
    ("ttl", "written"),
    [("90s", "90s"), ("30m", "1800s"), ("12h", "43200s"), ("1d", "86400s")],
)
def test_lifetimes_are_seconds(ttl: str, written: str) -> None:
    """As the API writes durations; an option of the object's wins over the mark's."""
    assert made(WHOLE, marks((2, ttl)))["ttl"] == written
    assert made(WHOLE, marks((2, ttl)), ttl="5s")["ttl"] == "5s"
    assert "ttl" not in made(WHOLE, marks((2, ttl)), expireTime="2030-01-01T00:00:00Z")


def test_models_with_a_path_keep_it() -> None:
    """Tuned models, and Vertex's."""
    name = "projects/p/locations/l/publishers/google/models/g"
    assert render(laid(user("q")), UNMARKED, model=name, options={})["model"] == name


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (
            Image(media_type="image/png", base64=PNG),
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
        ),
        (
            Image(media_type="image/*", url="https://x/a"),
            {"fileData": {"fileUri": "https://x/a"}},
        ),
        (
            Document(media_type="application/pdf", name="a", url="gs://x/a"),
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://x/a"}},
        ),
        (
            Document(media_type="text/csv", base64=PDF),
            {"inlineData": {"mimeType": "text/csv", "data": PDF}},
        ),
        (
            native(Api.GENERATE, executableCode={"code": "1"}),
            {"executableCode": {"code": "1"}},
        ),
    ],
)
def test_pictures_and_files_are_parts(part: Part, written: dict[str, Any]) -> None:
    """Whatever their type is; the provider says what it takes."""
    assert parts(user("q", part))[1] == written


def test_calls_keep_their_seals_and_results_the_name_of_the_tool() -> None:
    """Ids only where the model gave them; a failure is told; pictures stand beside the text."""
    seal = native(Api.GENERATE, thoughtSignature="c2ln")
    picture = Image(media_type="image/png", base64=PNG)
    said = parts(
        user("q"),
        assistant(
            thought(Api.GENERATE),
            Text("", seal),
            call("", '{"z":1,"a":2}', beside=seal),
            call("b", ""),
        ),
        user(result("", Text("1"), Text("2")), result("b", Text("x"), picture, failed=True)),
    )
    assert said[1:] == [
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "", "thoughtSignature": "c2ln"},
        {
            "functionCall": {"name": "search", "args": {"z": 1, "a": 2}},
            "thoughtSignature": "c2ln",
        },
        {"functionCall": {"id": "b", "name": "search", "args": {}}},
        {"functionResponse": {"name": "search", "response": {"result": ["1", "2"]}}},
        {
            "functionResponse": {
                "id": "b",
                "name": "search",
                "response": {"error": "x"},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
            }
        },
    ]


def test_a_result_behind_the_mark_finds_the_name_in_front_of_it() -> None:
    """The call may be in the cached content."""
    prompt = laid(user("q"), assistant(call()), user(result("a", Text("r"))))
    found = body(prompt, marks(2), cachedContent=CACHED)["contents"]
    assert found[0]["parts"][0]["functionResponse"]["name"] == "search"


@pytest.mark.parametrize(
    ("placement", "options", "message"),
    [
        (marks(2), {}, "go together"),
        (UNMARKED, {"cachedContent": CACHED}, "go together"),
        (marks(2, 3), {"cachedContent": CACHED}, "2 marks are placed"),
        (marks(1), {"cachedContent": CACHED}, "leaves the Text of segment 'rules' behind it"),
        (marks(9), {"cachedContent": CACHED}, "stands outside of 6 pieces"),
        (marks(6), {"cachedContent": CACHED}, "leaves no message to send"),
        (marks(2), {"cachedContent": CACHED, "toolConfig": {}}, "give it to create"),
        (UNMARKED, {"contents": []}, "is written by the layout"),
    ],
)
def test_requests_that_the_api_would_refuse(
    placement: Placement, options: dict[str, Any], message: str
) -> None:
    """With what to do instead."""
    with pytest.raises(UsageError, match=message):
        body(WHOLE, placement, **options)


@pytest.mark.parametrize(
    ("placement", "options", "message"),
    [
        (UNMARKED, {}, "none is placed"),
        (marks(2), {"generationConfig": {}}, "is none of a cached content"),
        (marks((2, "soon")), {}, "lifetime 'soon'; give a number"),
    ],
)
def test_objects_that_the_api_would_refuse(
    placement: Placement, options: dict[str, Any], message: str
) -> None:
    """With what to do instead."""
    with pytest.raises(UsageError, match=message):
        made(WHOLE, placement, **options)


def test_an_object_ends_with_a_whole_message() -> None:
    """Half of one cannot be sent."""
    with pytest.raises(UsageError, match="within a message"):
        body(laid(user("a", "b"), assistant("c")), marks(1), cachedContent=CACHED)


def test_a_result_without_a_name_needs_its_call() -> None:
    """The API matches results by the name of the tool."""
    answer = native(Api.GENERATE, functionCall={"name": "x"})
    with pytest.raises(UsageError, match="not among the calls"):
        body(laid(user("q"), assistant(answer), user(result("a"))))
