from collections.abc import Callable, Sequence
from itertools import pairwise, permutations
from random import Random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.count import part_tokens
from stemcache.prompt.layout import Layout, VolatileError
from stemcache.prompt.message import Message
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from stemcache.prompt.piece import Piece
from stemcache.prompt.segment import Segment, reference, session, static, turn
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api
from stemcache.wire.section import Section

ORDER = (Section.TOOLS, Section.SYSTEM, Section.MESSAGES)
IMAGE = Image(media_type="image/png", base64="AAAA")


def _user(*parts: Part | str) -> Message:
    return Message("user", tuple(Text(one) if isinstance(one, str) else one for one in parts))


def _assistant(*parts: Part | str) -> Message:
    return Message("assistant", tuple(Text(one) if isinstance(one, str) else one for one in parts))


def _tool(name: str, stability: Stability = Stability.STATIC, **schema: Any) -> Tool:
    return Tool(name=name, description="Does it.", schema=schema, stability=stability)


def _names(pieces: Sequence[Piece]) -> list[str]:
    """Segments and tools by name, messages by what they say."""
    return [_name(piece) for piece in pieces]


def _name(piece: Piece) -> str:
    if not isinstance(piece.source, Message):
        return piece.source.name
    return piece.part.text if isinstance(piece.part, Text) else type(piece.part).__name__


def test_what_stays_longest_stands_first_in_each_section() -> None:
    """Tools by stability and name, segments by stability and as given, turn at the end."""
    layout = Layout(
        [turn("now", "t"), session("who", "s"), reference("b", "r"), static("z", "x"),
         static("a", "x"), reference("a2", "r")],
        [_tool("y", Stability.SESSION), _tool("n"), _tool("c", Stability.REFERENCE), _tool("m")],
    )  # fmt: skip
    laid = layout.lay(ORDER, [_user("q"), _assistant("a!"), _user("q2")], [turn("found", "f")])
    assert _names(laid.pieces) == (
        ["m", "n", "c", "y", "z", "a", "b", "a2", "who", "q", "a!", "q2", "now", "found"]
    )
    assert [piece.section for piece in laid.pieces] == (
        [Section.TOOLS] * 4 + [Section.SYSTEM] * 5 + [Section.MESSAGES] * 5
    )
    assert [piece.message for piece in laid.pieces] == [-1] * 9 + [0, 1, 2, 2, 2]
    assert [piece.ends_message for piece in laid.pieces] == (
        [False] * 3 + [True] + [False] * 4 + [True] + [True, True, False, False, True]
    )
    assert [piece.stability for piece in laid.pieces][-5:] == (
        [Stability.SESSION] * 3 + [Stability.TURN] * 2
    )


def test_sections_stand_in_the_providers_order() -> None:
    """Some read the system prompt before the tools."""
    layout = Layout([static("rules", "x")], [_tool("f")])
    order = (Section.SYSTEM, Section.TOOLS, Section.MESSAGES)
    assert _names(layout.lay(order, [_user("q")]).pieces) == ["rules", "f", "q"]


@pytest.mark.parametrize("order", [(), ORDER[:2], (*ORDER, Section.TOOLS), (Section.TOOLS,) * 3])
def test_an_order_has_each_section_once(order: tuple[Section, ...]) -> None:
    """What is missing would be lost without a word."""
    with pytest.raises(UsageError, match="it needs each of tools, system, messages once"):
        Layout([static("rules", "x")]).lay(order)


def test_tools_and_keys_of_schemas_may_come_in_any_order() -> None:
    """Equal values, equal pieces; sets in schemas are sorted."""
    tools = [
        _tool("a", type="object", required=["x", "y"]),
        _tool("b", required=["x"], type="object"),
        _tool("c"),
    ]
    swapped = _tool("a", required=["y", "x"], type="object")
    first = Layout([], tools).lay(ORDER)
    for order in permutations([swapped, *tools[1:]]):
        laid = Layout([], order).lay(ORDER)
        assert laid == first
        assert repr(laid) == repr(first)


@pytest.mark.parametrize("apart", [False, True])
def test_turn_pieces_join_the_users_last_message_unless_apart(*, apart: bool) -> None:
    """Where messages are read at their ends, one that grew would end nowhere."""
    laid = Layout([]).lay(ORDER, [_user("q")], [turn("now", "t")], apart=apart)
    assert [(piece.message, piece.ends_message) for piece in laid.pieces] == (
        [(0, True), (1, True)] if apart else [(0, False), (0, True)]
    )


def test_behind_an_answer_turn_pieces_are_a_message() -> None:
    """They are a user's; an answer is never added to."""
    laid = Layout([]).lay(ORDER, [_user("q"), _assistant("a")], [turn("now", "t")])
    assert [piece.message for piece in laid.pieces] == [0, 1, 2]


def test_turn_pieces_alone_are_a_message() -> None:
    """A prompt without a history."""
    laid = Layout([turn("q", "x")]).lay(ORDER)
    assert [(piece.message, piece.ends_message) for piece in laid.pieces] == [(0, True)]


def test_no_mark_stands_behind_a_turn_piece() -> None:
    """Nobody will ask for it again; all before it may be kept."""
    laid = Layout([static("rules", "x")]).lay(ORDER, [_user("q")], [turn("now", "t")])
    assert [piece.markable for piece in laid.pieces] == [True, True, False]


@pytest.mark.parametrize("api", [*Api, None])
def test_marks_stand_where_the_api_has_a_place_for_them(api: Api | None) -> None:
    """Tools of Anthropic's and Bedrock's, whole messages but the last of Gemini's."""
    history = [
        _user("q"),
        _assistant("a", ToolCall(id="c", name="f", arguments="{}")),
        _user(ToolResult(call_id="c", parts=(Text("r"),))),
    ]
    laid = Layout([static("rules", "x")], [_tool("f")]).lay(ORDER, history, api=api)
    everywhere = "f rules q a ToolCall ToolResult"
    expected = {
        None: everywhere,
        Api.MESSAGES: everywhere,
        Api.CONVERSE: everywhere,
        Api.CHAT: "rules q a ToolResult",
        Api.RESPONSES: "rules q ToolResult",
        Api.GENERATE: "rules q ToolCall",
        Api.COMPLETIONS: "",
    }
    assert _names([one for one in laid.pieces if one.markable]) == expected[api].split()


def test_neither_thoughts_nor_foreign_blocks_nor_empty_texts_take_a_mark() -> None:
    """They are in the prompt all the same, as they were sent."""
    history = [
        _user("q"),
        _assistant(
            Thinking(api=Api.MESSAGES, json="{}"), Native(api=Api.MESSAGES, json="{}"), "", "a"
        ),
    ]
    laid = Layout([]).lay(ORDER, history)
    assert [piece.markable for piece in laid.pieces] == [True, False, False, False, True]


@pytest.mark.parametrize("api", [Api.CHAT, Api.RESPONSES, Api.MESSAGES])
def test_openai_has_a_message_for_each_result(api: Api) -> None:
    """Elsewhere results are blocks of one message; calls and results are runs."""
    calls = [ToolCall(id=one, name="f", arguments="{}") for one in "12"]
    results = [ToolResult(call_id=one, parts=()) for one in "12"]
    history = [_assistant(*calls), _user(*results, "and?")]
    laid = Layout([]).lay(ORDER, history, api=api)
    split = api is not Api.MESSAGES
    assert [piece.ends_message for piece in laid.pieces] == [False, True, split, split, True]
    assert [piece.run for piece in laid.pieces] == (["tool_use"] * 2 + ["tool_result"] * 2 + [None])


def test_from_the_first_picture_on_stable_segments_open_the_history() -> None:
    """No system section takes pictures; behind one nothing of its kind is shared any more."""
    layout = Layout(
        [static("plan", IMAGE), static("rules", "x"), reference("book", "r"), session("who", "s")]
    )
    laid = layout.lay(ORDER, [_user("q")])
    assert _names(laid.pieces) == ["rules", "plan", "book", "who", "q"]
    assert [piece.section for piece in laid.pieces] == [Section.SYSTEM] + [Section.MESSAGES] * 4
    assert [piece.message for piece in laid.pieces] == [-1, 0, 0, 0, 0]
    assert [piece.stability.rank for piece in laid.pieces] == [0, 0, 1, 2, 2]
    apart = layout.lay(ORDER, [_user("q")], apart=True)
    assert [piece.message for piece in apart.pieces] == [-1, 0, 0, 0, 1]
    assert [piece.ends_message for piece in apart.pieces][3] is True


def test_an_opening_stands_by_itself_where_the_history_begins_with_an_answer() -> None:
    """And where there is no history; then a turn joins it."""
    layout = Layout([reference("plan", "see:", IMAGE)])
    laid = layout.lay(ORDER, [_assistant("a")])
    assert [piece.message for piece in laid.pieces] == [0, 0, 1]
    alone = layout.lay(ORDER, (), [turn("now", "t")])
    assert [piece.message for piece in alone.pieces] == [0, 0, 0]


def test_empty_texts_of_segments_and_empty_messages_are_left_out() -> None:
    """A profile that is empty today; APIs refuse empty texts."""
    layout = Layout([static("rules", "", "x"), session("who", ""), turn("now", "")])
    laid = layout.lay(ORDER, [_user("q"), Message("assistant", ())], [turn("more", "")])
    assert [(_name(one), one.message) for one in laid.pieces] == [("rules", -1), ("q", 0)]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Layout([static("a", "x"), session("a", "y")]), "two segments are called 'a'; g"),
        (lambda: Layout([static("a")]), "segment 'a' has no content; give it a text"),
        (lambda: Layout([], [_tool("f"), _tool("f")]), "two tools are called 'f'; give each"),
        (lambda: Layout([], [_tool("f", Stability.TURN)]), "tool 'f' is declared turn; tools"),
        (lambda: Layout([], [_tool("f", x={1})]), "the schema of tool 'f': the value at /x is"),
        (lambda: Layout([]).lay(ORDER, (), [static("a", "x")]), "'a' in turn is declared static"),
        (
            lambda: Layout([static("a", "x")]).lay(ORDER, (), [turn("a", "x")]),
            "two segments are called 'a'",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_laid_is_an_error(made: Callable[[], object], message: str) -> None:
    """Which it is, and what to do."""
    with pytest.raises(UsageError, match=message):
        made()


def test_volatile_text_where_text_is_to_stay_is_an_error() -> None:
    """When the layout is made, whatever it is laid for; in a turn anything may stand."""
    with pytest.raises(VolatileError, match="segment 'rules', declared static, has a clock time"):
        Layout([static("rules", "Current time: 05:14:01")])
    with pytest.raises(VolatileError, match="tool 'f', declared static, has a clock time"):
        Layout([], [_tool("f", description="Now: 05:14:01")])
    Layout([turn("now", "Current time: 05:14:01")]).lay(ORDER)


def test_tokens_are_counted_as_asked() -> None:
    """By a count of the user's, once for what stays; estimated without one."""
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    layout = Layout([static("rules", "xyz")], [_tool("f")], count=count)
    made = len(asked)
    laid = layout.lay(ORDER, [_user("hello", IMAGE)])
    assert [piece.tokens for piece in laid.pieces] == [len("f\nDoes it.\n{}"), 3, 5, 1_500]
    assert (made, asked[made:]) == (2, ["hello"])
    assert laid.tokens() == (0, 13, 16, 21, 1_521)


def _random_message(random: Random) -> Message:
    speaker = random.choice(["user", "assistant"])
    some: list[Part] = [IMAGE, Thinking(api=Api.CHAT, json="{}"), Text("x"), Text("")]
    parts = random.choices(some, k=random.randrange(4))
    return Message("user" if speaker == "user" else "assistant", tuple(parts))


def _random_segment(random: Random, name: str) -> Segment:
    some: list[Text | Image | Document] = [Text("x"), Text(""), IMAGE]
    parts = random.choices(some, weights=[6, 2, 1], k=random.randrange(1, 3))
    return Segment(name=name, stability=random.choice(list(Stability)), parts=tuple(parts))


def test_random_layouts_keep_every_invariant() -> None:
    """Order, numbers of messages, ends, tokens; nothing is lost, and a longer history only adds."""
    random = Random(6)
    for _ in range(500):
        segments = [_random_segment(random, f"s{n}") for n in range(random.randrange(6))]
        history = [_random_message(random) for _ in range(random.randrange(6))]
        api, apart = random.choice([*Api, None]), random.random() < 0.5
        layout = Layout(segments, [_tool(f"t{n}") for n in range(random.randrange(3))])
        laid = layout.lay(ORDER, history, api=api, apart=apart)
        stable = [one for one in laid.pieces if not isinstance(one.source, Message)]
        assert all(one.stability.rank <= other.stability.rank for one, other in pairwise(
            [one for one in stable if one.section is not Section.TOOLS]
        ))  # fmt: skip
        behind = [one.stability is Stability.TURN for one in laid.pieces]
        assert behind == sorted(behind)
        sent = [part for message in history for part in message.parts]
        assert [one.part for one in laid.pieces if isinstance(one.source, Message)] == sent
        _check_messages(laid.pieces, apart=apart)
        for piece in laid.pieces:
            assert piece.part is None or piece.tokens == part_tokens(piece.part)
        longer = layout.lay(ORDER, [*history, _assistant("more")], api=api, apart=apart)
        stays = [one for one in laid.pieces if one.stability is not Stability.TURN]
        assert _bytes(longer.pieces)[: len(stays)] == _bytes(stays)


def _bytes(pieces: Sequence[Piece]) -> list[tuple[Section, Part | None, int]]:
    return [(piece.section, piece.part, piece.message) for piece in pieces]


def _check_messages(pieces: Sequence[Piece], *, apart: bool) -> None:
    inside = [one for one in pieces if one.section is Section.MESSAGES]
    numbers = [one.message for one in inside]
    assert sorted(set(numbers)) == list(range(len(set(numbers))))
    assert numbers == sorted(numbers)
    for one, other in pairwise(inside):
        if one.message == other.message:
            speakers = {
                source.speaker if isinstance(source := each.source, Message) else "user"
                for each in (one, other)
            }
            assert len(speakers) == 1
            mixed = isinstance(one.source, Message) is not isinstance(other.source, Message)
            assert not (apart and mixed)
        else:
            assert one.ends_message
    assert not inside or inside[-1].ends_message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "what count gave is None; give a whole number from 0 on"),
        (-5, "what count gave is -5; give a whole number from 0 on"),
        (1.5, "what count gave is of type float; give a whole number"),
        (True, "what count gave is of type bool; give a whole number"),
    ],
)
@pytest.mark.parametrize(
    ("at", "whose"),
    [
        ("rules", "segment 'rules'"),
        ("Does", "tool 'f'"),
        ("hello", "message 0"),
        ("now", "segment 'now'"),
    ],
)
def test_a_count_that_is_no_number_is_told_with_its_place(
    given: Any, said: str, at: str, whose: str
) -> None:
    """Whichever text it is asked about."""

    def count(text: str) -> Any:
        return given if at in text else 3

    with pytest.raises(UsageError, match=f"^for {whose}, {said}"):
        _counted(count)


def test_a_count_that_raises_is_told_with_its_place() -> None:
    """And what it raised is kept as the cause."""

    def count(text: str) -> int:
        return 1 // (len(text) - 5)

    said = (
        r"^for message 0, count raised ZeroDivisionError \(integer division .*\) at a text of 5 ch"
    )
    with pytest.raises(UsageError, match=said) as caught:
        _counted(count)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def _counted(count: Callable[[str], int]) -> None:
    layout = Layout([static("rules", "The rules.")], [_tool("f")], count=count)
    layout.lay(ORDER, [_user("hello"), _assistant("Yes?")], [turn("now", "It is now.")])


def test_numbers_of_another_library_are_counts() -> None:
    """A tokenizer's may be NumPy's."""
    numpy = pytest.importorskip("numpy")
    layout = Layout([static("rules", "x")], count=lambda text: numpy.int64(len(text)))
    assert [type(one.tokens) for one in layout.lay(ORDER).pieces] == [int]


@pytest.mark.parametrize("made", [static, reference, session])
def test_a_family_that_there_is_not_is_refused_at_once(made: Any) -> None:
    """With the nearest one."""
    with pytest.raises(
        UsageError, match="unknown family 'clok' from allow of segment 'a'; did you"
    ):
        made("a", "x", allow={"clok"})
