"""A section of two prompts as pieces."""

from collections.abc import Sequence

from stemcache.trace.divergence.pieces import Piece, PieceKind, pieces_of
from stemcache.trace.spans.span import Prompt
from tests.trace.divergence.prompts import prompt, tool

SAME, PAIR, GAP, MOVED = PieceKind.SAME, PieceKind.PAIR, PieceKind.GAP, PieceKind.MOVED


def pieces(parent: Prompt, child: Prompt) -> list[Piece]:
    """Of prompts of one section."""
    whole = Piece(GAP, 0, len(parent.spans), 0, len(child.spans))
    found = pieces_of(parent.spans, child.spans, whole)
    low, child_low = 0, 0
    for piece in found:
        assert (piece.low, piece.child_low) == (low, child_low)
        low, child_low = piece.high, piece.child_high
    assert (low, child_low) == (len(parent.spans), len(child.spans))
    return found


def said(*texts: str) -> Prompt:
    """A history, all of it by one role."""
    return prompt(messages=[("user", text) for text in texts])


def kinds(found: Sequence[Piece]) -> list[PieceKind]:
    """In order."""
    return [piece.kind for piece in found]


LONG = [" ".join(f"{letter}{i}" for i in range(30)) for letter in "abcdefg"]


def test_equal_histories_are_one_piece() -> None:
    """And empty ones none."""
    assert pieces(said(*LONG), said(*LONG)) == [Piece(SAME, 0, 7, 0, 7)]
    assert pieces(said(), said()) == []


def test_growth_is_a_gap_at_the_end() -> None:
    """With nothing of the parent in it."""
    assert pieces(said(*LONG[:3]), said(*LONG)) == [Piece(SAME, 0, 3, 0, 3), Piece(GAP, 3, 3, 3, 7)]


def test_what_was_dropped_from_the_front_is_a_gap() -> None:
    """Before what is the same."""
    found = pieces(said(*LONG[:5]), said(*LONG[2:]))
    assert found == [Piece(GAP, 0, 2, 0, 0), Piece(SAME, 2, 5, 0, 3), Piece(GAP, 5, 5, 3, 5)]


def test_one_in_the_place_of_another_is_a_pair_however_unlike() -> None:
    """Nothing else can be meant."""
    found = pieces(said(*LONG[:3]), said(LONG[0], "?", LONG[2]))
    assert kinds(found) == [SAME, PAIR, SAME]


def test_of_several_those_that_are_alike_are_pairs() -> None:
    """The others stay together."""
    edited = LONG[2].replace("c7", "other words")
    found = pieces(said(*LONG[:4]), said(LONG[0], LONG[5], edited, LONG[3]))
    assert found == [
        Piece(SAME, 0, 1, 0, 1),
        Piece(GAP, 1, 2, 1, 2),
        Piece(PAIR, 2, 3, 2, 3),
        Piece(SAME, 3, 4, 3, 4),
    ]


def test_messages_of_other_roles_are_no_pair() -> None:
    """Though there is one on each side."""
    one, other = prompt(messages=[("user", "hello")]), prompt(messages=[("assistant", "hello")])
    assert pieces(one, other) == [Piece(GAP, 0, 1, 0, 1)]


def test_what_changed_places_is_moved() -> None:
    """With what stood between."""
    found = pieces(said(*LONG), said(*LONG[:2], LONG[4], LONG[3], LONG[2], *LONG[5:]))
    assert found == [Piece(SAME, 0, 2, 0, 2), Piece(MOVED, 2, 5, 2, 5), Piece(SAME, 5, 7, 5, 7)]


def test_tools_go_by_their_names() -> None:
    """An edited one is a pair; only names that moved make a stretch moved."""
    tools = [tool(name, f"Does {name}.") for name in "abcdef"]
    edited = [*tools[:2], tool("c", "Does not c."), *tools[3:]]
    assert kinds(pieces(prompt(tools=tools), prompt(tools=edited))) == [SAME, PAIR, SAME]
    turned = [edited[0], edited[2], edited[1], *edited[3:]]
    found = pieces(prompt(tools=tools), prompt(tools=turned))
    assert kinds(found) == [SAME, MOVED, SAME]
    moved_and_edited = [tool("a", "New."), tools[2], tools[1], *tools[3:5], tool("f", "New.")]
    found = pieces(prompt(tools=tools), prompt(tools=moved_and_edited))
    assert [kind for kind in kinds(found) if kind is not SAME] == [PAIR, MOVED, PAIR]


def test_a_short_word_between_strange_messages_is_no_common_ground() -> None:
    """In a history of which nothing else is the same."""
    mine = [*LONG[:2], "yes", LONG[2]]
    theirs = LONG[3:5]
    found = pieces(said(*mine), said(*theirs, "yes", LONG[5]))
    assert found == [Piece(GAP, 0, 4, 0, 4)]


def test_a_short_message_behind_an_edited_one_is_common_ground() -> None:
    """The edit is of one message in its place."""
    found = pieces(said(LONG[0], LONG[1], "ok"), said(LONG[0], LONG[2], "ok"))
    assert kinds(found) == [SAME, PAIR, SAME]
