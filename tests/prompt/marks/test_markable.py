import pytest

from stemcache.prompt.marks.markable import is_markable
from stemcache.prompt.message import Speaker
from stemcache.prompt.part import Image, Native, Part, Text, Thinking, ToolCall, ToolResult
from stemcache.wire.api import Api
from stemcache.wire.section import Section

TEXT = Text("x")
IMAGE = Image(media_type="image/png", url="u")
CALL = ToolCall(id="c", name="n", arguments="{}")
RESULT = ToolResult(call_id="c", parts=(TEXT,))
NOTHING = ToolResult(call_id="c", parts=())
THOUGHT = Thinking(api=Api.MESSAGES, json="{}")
PLACES: list[tuple[str, Section, Part | None, Speaker]] = [
    ("tool", Section.TOOLS, None, "user"),
    ("system", Section.SYSTEM, TEXT, "user"),
    ("text", Section.MESSAGES, TEXT, "user"),
    ("image", Section.MESSAGES, IMAGE, "user"),
    ("result", Section.MESSAGES, RESULT, "user"),
    ("nothing", Section.MESSAGES, NOTHING, "user"),
    ("call", Section.MESSAGES, CALL, "assistant"),
    ("answer", Section.MESSAGES, TEXT, "assistant"),
    ("thought", Section.MESSAGES, THOUGHT, "assistant"),
    ("native", Section.MESSAGES, Native(api=Api.MESSAGES, json="{}"), "assistant"),
    ("empty", Section.MESSAGES, Text(""), "user"),
]


@pytest.mark.parametrize(
    ("api", "markable"),
    [
        (None, "tool system text image result nothing call answer"),
        (Api.MESSAGES, "tool system text image result nothing call answer"),
        (Api.CONVERSE, "tool system text image result nothing call answer"),
        (Api.CHAT, "system text image result answer"),
        (Api.RESPONSES, "system text image result"),
        (Api.GENERATE, ""),
        (Api.COMPLETIONS, ""),
    ],
)
def test_where_an_api_has_a_member_for_a_mark(api: Api | None, markable: str) -> None:
    """By the types of its client; never on a thought, a foreign block or an empty text."""
    found = [
        name
        for name, section, part, speaker in PLACES
        if is_markable(api, section, part, speaker, ends=False)
    ]
    assert found == markable.split()


@pytest.mark.parametrize(
    ("parts", "markable"),
    [
        ((), False),
        ((Text(""),), False),
        ((Text(" \n"),), False),
        ((TEXT, Text(" ")), False),
        ((TEXT, Text("")), True),
        ((Text(""), IMAGE), True),
    ],
)
@pytest.mark.parametrize("api", [Api.CHAT, Api.RESPONSES])
def test_openais_apis_mark_a_results_last_part_if_it_says_anything(
    api: Api, parts: tuple[Text | Image, ...], *, markable: bool
) -> None:
    """A mark on an empty text is refused, and an empty text would be there for the mark alone."""
    result = ToolResult(call_id="c", parts=parts)
    assert is_markable(api, Section.MESSAGES, result, "user", ends=True) is markable
    assert is_markable(Api.MESSAGES, Section.MESSAGES, result, "user", ends=True)


def test_an_object_ends_with_a_section_or_a_message() -> None:
    """Whatever it is that ends it, thoughts too; tools alone are never all of it."""
    found = [
        name
        for name, section, part, speaker in PLACES
        if is_markable(Api.GENERATE, section, part, speaker, ends=True)
    ]
    assert found == [name for name, *_ in PLACES[1:]]
