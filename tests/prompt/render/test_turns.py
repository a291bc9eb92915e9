from dataclasses import replace

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.part import Document, Native, Text, ToolCall
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.turns import (
    beside_of,
    merged,
    object_of,
    system_texts,
    tools_of,
    turns_of,
    where,
)
from stemcache.prompt.segment import static, turn
from stemcache.wire.api import Api
from tests.prompt.rendering import (
    RULES,
    SEARCH,
    THOUGHTS,
    assistant,
    laid,
    native,
    result,
    thought,
    user,
)


def said(prompt: Laid, api: Api = Api.CHAT) -> list[tuple[str, list[int]]]:
    """Speakers with the numbers of their pieces."""
    return [(one.speaker, [block.place for block in one.blocks]) for one in turns_of(prompt, api)]


def test_messages_are_told_by_their_numbers() -> None:
    """Segments among them are a user's; tools and system are none."""
    prompt = laid(
        user("a", "b"),
        user("c"),
        assistant("d"),
        tools=[SEARCH],
        system=[RULES],
        behind=[turn("now", "e")],
    )
    assert said(prompt) == [("user", [2, 3]), ("user", [4]), ("assistant", [5]), ("user", [6])]
    assert [(one.speaker, len(one.blocks)) for one in merged(turns_of(prompt, Api.CHAT))] == [
        ("user", 3),
        ("assistant", 1),
        ("user", 1),
    ]
    assert tools_of(prompt, Api.CHAT) == ((0, SEARCH),)
    assert system_texts(prompt, Api.CHAT) == ((1, "Be brief."),)


def test_a_segment_in_the_message_of_the_history_is_a_part_of_it() -> None:
    """As the layout puts turn segments for most APIs."""
    prompt = laid(user("a"), behind=[turn("now", "b")])
    joined = Laid(tuple(replace(piece, message=0) for piece in prompt.pieces))
    assert said(joined) == [("user", [0, 1])]


@pytest.mark.parametrize(
    ("api", "kept"),
    [
        (Api.MESSAGES, [0]),
        (Api.CONVERSE, [0]),
        (Api.CHAT, [0, 2]),
        (Api.RESPONSES, [0, 2]),
        (Api.GENERATE, [0, 2]),
    ],
)
def test_texts_are_dropped_where_the_api_refuses_them(api: Api, kept: list[int]) -> None:
    """Empty ones everywhere, white space where an error would come back."""
    assert said(laid(user("a", "", " \n")), api) == [("user", kept)]


def test_a_message_of_dropped_parts_is_no_message() -> None:
    """And a prompt of none is an error."""
    assert said(laid(user("a"), assistant("", thought(Api.MESSAGES)), user("b"))) == [
        ("user", [0]),
        ("user", [3]),
    ]
    with pytest.raises(UsageError, match="add one to the conversation, or a turn segment"):
        turns_of(laid(user("")), Api.CHAT)


def test_an_empty_text_with_a_seal_is_kept_for_its_api() -> None:
    """Gemini writes seals of thoughts beside texts that may be empty."""
    sealed = Text("", native(Api.GENERATE, thoughtSignature="s"))
    prompt = laid(user("q"), assistant(sealed))
    assert said(prompt, Api.GENERATE)[-1] == ("assistant", [1])
    assert said(prompt, Api.CHAT) == [("user", [0])]


@pytest.mark.parametrize("api", list(THOUGHTS))
def test_thoughts_go_to_the_api_that_they_came_from(api: Api) -> None:
    """All others do without."""
    prompt = laid(user("q"), assistant(*(thought(one) for one in THOUGHTS)))
    (only,) = turns_of(prompt, api)[1].blocks
    assert only.part == thought(api)


def test_pieces_are_named_without_their_text() -> None:
    """By tool, by segment, by number of the message."""
    prompt = laid(user("secret"), tools=[SEARCH], system=[static("s", "secret")])
    assert [where(piece) for piece in prompt.pieces] == [
        "tool 'search'",
        "the Text of segment 's'",
        "the Text in message 0",
    ]


@pytest.mark.parametrize(
    "json", ["", "1", "[]", '{"a":', '{"a":NaN}', '{"a":1e999}', '"\\ud800"', "[" * 10_000]
)
def test_blocks_that_are_no_object_are_refused(json: str) -> None:
    """Whatever they hold: a file that was made by hand may have them."""
    prompt = laid(user("q"), assistant(Native(api=Api.MESSAGES, json=json)))
    with pytest.raises(UsageError, match="the Native in message 1 holds no JSON object"):
        object_of(json, prompt.pieces[1])


def test_what_stood_beside_is_for_its_api_only() -> None:
    """In the order received."""
    part = ToolCall(id="a", name="n", arguments="", beside=native(Api.CHAT, b=1, a=2))
    piece = laid(user("q")).pieces[0]
    assert list(beside_of(part, piece, Api.CHAT)) == ["b", "a"]
    assert beside_of(part, piece, Api.RESPONSES) == {}
    assert beside_of(Text("a"), piece, Api.CHAT) == {}


def test_media_in_the_system_section_are_refused() -> None:
    """No API takes them there; the layout puts them in a message."""
    file = Document(media_type="application/pdf", base64="")
    with pytest.raises(UsageError, match="the Document of segment 's' stands in the system"):
        system_texts(laid(user("q"), system=[static("s", file)]), Api.MESSAGES)


def test_native_blocks_of_another_api_are_refused() -> None:
    """What they say cannot be said here."""
    with pytest.raises(UsageError, match="the Native in message 0 is a block of generate"):
        turns_of(laid(user(native(Api.GENERATE, x=1), result())), Api.CHAT)
