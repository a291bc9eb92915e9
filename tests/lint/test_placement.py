"""Faults of markers, over shapes made by hand: a hundred tokens a block, a block a message."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.ladder import Ladder
from stemcache.lint.placement import Misplaced, marked, misplaced
from stemcache.provider.cache.cuts import Cuts, held, reach
from stemcache.provider.rule import Kind, Range, Rule
from stemcache.provider.shape import Mark, Position, Run, Shape
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.lint.logs import anthropic, call, kinds, lint, prose

EACH = 100
EVERYWHERE = Cuts(everywhere=True, positions=())


def _rule(
    kind: Kind = "markers",
    *,
    minimum: int = 0,
    look_back: int | None = 20,
    most_markers: int | None = 4,
    runs_collapse: bool = False,
) -> Rule:
    return Rule(
        name="test",
        provider="test",
        kind=kind,
        order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
        minimum_tokens=Range(minimum, minimum, minimum, ()),
        most_markers=most_markers,
        look_back=look_back,
        runs_collapse=runs_collapse,
        write_factor={},
        read_factor=0.1,
    )


def _shape(
    blocks: int, marks: Sequence[int] = (), *, automatic: bool = False, runs: str = ""
) -> Shape:
    """`runs` says of each block whether it is of a call (c), of a result (r) or of neither."""
    kinds_of: dict[str, Run] = {"c": "tool_use", "r": "tool_result"}
    positions = tuple(
        Position(
            i,
            (i + 1) * EACH,
            Section.MESSAGES,
            "user",
            ends_message=True,
            mark=Mark() if i in marks else None,
            run=kinds_of.get(runs[i : i + 1]),
            message=i,
        )
        for i in range(blocks)
    )
    return Shape(
        positions=positions,
        fine_chain=np.arange(blocks, dtype=np.uint64),
        fine_tokens=np.arange(1, blocks + 1, dtype=np.int64) * EACH,
        api=Api.MESSAGES,
        automatic=Mark() if automatic else None,
    )


def _ladder(rule: Rule, child: Shape, left: Cuts, shared: int) -> Ladder:
    """Of a child whose first blocks are all of its parent's, and the rest none."""
    found = set(reach(rule, child).positions) & set(left.positions)
    minimum = rule.minimum_tokens.likely
    read = max(((at + 1) * EACH for at in found if at < shared), default=0)
    top = shared * EACH
    blocks = len(child.positions)
    return Ladder(
        levels=(read if read >= minimum else 0,),
        top=top if top >= minimum else 0,
        shared_tokens=top,
        within=tuple(min(i + 1, shared) * EACH for i in range(blocks)),
        aligned=tuple(i if i < shared else -1 for i in range(blocks)),
    )


def _fault(
    rule: Rule, parent: Shape, child: Shape, *, shared: int | None = None, read_tokens: int = 0
) -> Misplaced | None:
    left = held(rule, parent)
    count = len(parent.positions) if shared is None else shared
    return misplaced(
        rule,
        child,
        parent_marks=marked(parent),
        held=left,
        ladder=_ladder(rule, child, left, count),
        read_tokens=read_tokens,
    )


def _said(found: Misplaced | None) -> tuple[str, int, int] | None:
    return None if found is None else (found.fault, found.span, found.lost_tokens)


# --- no fault -------------------------------------------------------------------------------------


def test_marker_that_moves_with_the_history() -> None:
    """The last one is found by looking back from the next one."""
    assert _fault(_rule(), _shape(5, [0, 4]), _shape(7, [0, 6])) is None


def test_nothing_in_common_is_no_fault_of_markers() -> None:
    """Where nothing is shared nothing could have been read."""
    assert _fault(_rule(), _shape(5, [4]), _shape(5, [4]), shared=0) is None


@pytest.mark.parametrize(("end", "said"), [(63, None), (64, ("marker-placement", 2, 64))])
def test_short_tail_is_not_worth_a_marker(end: int, said: object) -> None:
    """Less than 64 tokens behind the last marker are left alone."""
    rule, child = _rule(), _shape(4, [1])
    ladder = Ladder((200,), 200 + end, 200 + end, (100, 200, 200 + end, 200 + end), (0, 1, 2, -1))
    found = misplaced(
        rule,
        child,
        parent_marks=[1],
        held=Cuts(everywhere=False, positions=(1,)),
        ladder=ladder,
        read_tokens=0,
    )
    assert _said(found) == said


@pytest.mark.parametrize("kind", ["units", "persisted-units", "objects", "usage-only"])
def test_where_nobody_places_markers_none_stands_wrong(kind: Kind) -> None:
    """The provider decides what is kept."""
    found = misplaced(
        _rule(kind),
        _shape(5),
        parent_marks=[],
        held=Cuts(everywhere=False, positions=()),
        ladder=Ladder((0,), 400, 400, (100, 200, 300, 400, 400), (0, 1, 2, 3, -1)),
        read_tokens=0,
    )
    assert found is None


def test_parent_that_kept_everything_leaves_no_place_wrong() -> None:
    """It was of a cache of prefixes, which the child reads anywhere."""
    found = misplaced(
        _rule(),
        _shape(3),
        parent_marks=[],
        held=EVERYWHERE,
        ladder=Ladder((0,), 200, 200, (100, 200, 200), (0, 1, -1)),
        read_tokens=0,
    )
    assert found is None


def test_what_was_read_all_the_same_is_not_lost() -> None:
    """Another call had left it, so that the provider reports it as read."""
    assert _fault(_rule(), _shape(5, [4]), _shape(7), read_tokens=500) is None
    assert _said(_fault(_rule(), _shape(5, [4]), _shape(7), read_tokens=300)) == (
        "no-marker",
        4,
        200,
    )


# --- no marker ------------------------------------------------------------------------------------


def test_no_marker() -> None:
    """It is pointed to the last block that the parent had, with all that both share."""
    assert _said(_fault(_rule(), _shape(5), _shape(7))) == ("no-marker", 4, 500)


def test_breakpoints_need_no_marker() -> None:
    """OpenAI's cache places one by itself; where the caller turned that off, one is missing."""
    for shape, expected in (
        (_shape(5), None),
        (replace(_shape(5), implicit=False), ("marker-placement", 3, 400)),
    ):
        found = misplaced(
            _rule("breakpoints"),
            shape,
            parent_marks=[],
            held=Cuts(everywhere=False, positions=()),
            ladder=Ladder((0,), 400, 400, (100, 200, 300, 400, 400), (0, 1, 2, 3, -1)),
            read_tokens=0,
        )
        assert _said(found) == expected


# --- look-back ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("added", "fault"), [(19, None), (20, "look-back"), (40, "look-back")])
def test_look_back_at_its_limit(added: int, fault: str | None) -> None:
    """Twenty positions with the marker's own: nineteen blocks behind it are seen, no twentieth."""
    last = 4 + added
    found = _fault(_rule(), _shape(5, [4]), _shape(last + 1, [last]))
    assert (None if found is None else found.fault) == fault
    if found is not None:
        assert (found.span, found.lost_tokens) == (last, 500)
        assert found.detail == (
            f"{added} blocks were added since the last marker, and it looks back over 20"
        )


def test_look_back_is_of_the_first_marker_behind() -> None:
    """The one that comes nearest to what was left is named."""
    found = _fault(_rule(look_back=5), _shape(3, [2]), _shape(30, [12, 29]))
    assert _said(found) == ("look-back", 12, 300)


def test_marker_in_between_is_enough() -> None:
    """Any marker whose look-back meets what was left reads it."""
    assert _fault(_rule(look_back=5), _shape(3, [2]), _shape(30, [6, 29])) is None


def test_automatic_marker_looks_back_from_the_end() -> None:
    """It stands behind the last block."""
    parent, near, far = (
        _shape(5, automatic=True),
        _shape(24, automatic=True),
        _shape(25, automatic=True),
    )
    assert _fault(_rule(), parent, near) is None
    assert _said(_fault(_rule(), parent, far)) == ("look-back", 24, 500)


def test_run_of_calls_is_one_position_where_runs_collapse() -> None:
    """Thirty calls and their results are two steps back; without that they are sixty."""
    runs = "....." + "c" * 30 + "r" * 30
    parent, child = _shape(5, [4]), _shape(65, [64], runs=runs)
    assert _fault(_rule(runs_collapse=True), parent, child) is None
    assert _said(_fault(_rule(), parent, child)) == ("look-back", 64, 500)


def test_runs_that_alternate_do_not_collapse() -> None:
    """Ten calls, each with its result behind it, are twenty positions."""
    child = _shape(25, [24], runs="....." + "cr" * 10)
    assert _said(_fault(_rule(runs_collapse=True), _shape(5, [4]), child)) == (
        "look-back",
        24,
        500,
    )
    child = _shape(24, [23], runs="....." + "cr" * 9 + "c")
    assert _fault(_rule(runs_collapse=True), _shape(5, [4]), child) is None


def test_rule_without_a_look_back_s_end_sees_all() -> None:
    """A marker anywhere behind it finds it."""
    assert _fault(_rule(look_back=None), _shape(5, [4]), _shape(500, [499])) is None


# --- placement ------------------------------------------------------------------------------------


def test_entry_that_only_the_parent_marked() -> None:
    """A child whose marker stands before it cannot find it."""
    found = _fault(_rule(), _shape(5, [0, 4]), _shape(7, [0]))
    assert _said(found) == ("marker-placement", 4, 400)
    assert found is not None
    assert found.detail == "the parent left a marker here that this request lacks"


def test_marker_behind_what_varies() -> None:
    """Each call writes up to its own question, and nobody sends that again."""
    found = _fault(_rule(), _shape(3, [2]), _shape(3, [2]), shared=2)
    assert _said(found) == ("marker-placement", 2, 200)
    assert found is not None
    assert found.detail == "the marker stands behind text that differs from request to request"


def test_tail_without_a_marker() -> None:
    """The head is marked, and what grows behind it is not."""
    found = _fault(_rule(), _shape(5, [0]), _shape(7, [0]))
    assert _said(found) == ("marker-placement", 4, 400)
    assert found is not None
    assert found.detail == "what is sent again up to here has no marker at its end"


def test_all_markers_are_frozen() -> None:
    """Four markers that never move leave none for what grows."""
    found = _fault(_rule(), _shape(8, [0, 1, 2, 3]), _shape(10, [0, 1, 2, 3]))
    assert _said(found) == ("frozen-markers", 3, 400)
    fewer = _fault(_rule(), _shape(8, [0, 1, 2]), _shape(10, [0, 1, 2]))
    assert _said(fewer) == ("marker-placement", 7, 500)


def test_no_marker_is_frozen_where_any_number_is_allowed() -> None:
    """There is always one more."""
    rule = _rule(most_markers=None)
    found = _fault(rule, _shape(8, [0, 1, 2, 3]), _shape(10, [0, 1, 2, 3]))
    assert _said(found) == ("marker-placement", 7, 400)


# --- the minimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("minimum", "fault"), [(500, None), (501, "below-minimum")])
def test_minimum_at_its_limit(minimum: int, fault: str | None) -> None:
    """A prefix of just so many tokens is kept."""
    found = _fault(_rule(minimum=minimum), _shape(5, [4]), _shape(7, [6]))
    assert (None if found is None else found.fault) == fault
    if found is not None:
        assert (found.span, found.lost_tokens) == (6, 500)
        assert found.detail == "about 500 tokens, fewer than the 501 that are kept"


def test_minimum_is_no_matter_to_those_who_mark_nothing() -> None:
    """Who asks for nothing to be kept loses nothing by its being short."""
    assert _fault(_rule(minimum=1_024), _shape(5), _shape(7)) is None


def test_minimum_matters_to_all_where_caches_are_automatic() -> None:
    """It is pointed to the last block that the parent has too."""
    rule = _rule("units", minimum=1_024)
    found = misplaced(
        rule,
        _shape(7),
        parent_marks=[],
        held=Cuts(everywhere=False, positions=()),
        ladder=Ladder((0,), 0, 500, (100, 200, 300, 400, 500, 500, 500), (0, 1, 2, 3, 4, -1, -1)),
        read_tokens=0,
    )
    assert _said(found) == ("below-minimum", 4, 500)


def test_what_was_read_below_the_minimum_is_not_lost() -> None:
    """The sources' minimum is too high then, and nothing is charged."""
    found = _fault(_rule(minimum=1_024), _shape(5, [4]), _shape(7, [6]), read_tokens=700)
    assert _said(found) == ("below-minimum", 6, 0)
    assert _said(_fault(_rule(minimum=1_024), _shape(5, [4]), _shape(7, [6]), read_tokens=200)) == (
        "below-minimum",
        6,
        300,
    )


# --- marks ----------------------------------------------------------------------------------------


def test_marks_of_a_shape() -> None:
    """Those on blocks, and the one on the whole at its end, once."""
    assert marked(_shape(4)) == []
    assert marked(_shape(4, [1, 3])) == [1, 3]
    assert marked(_shape(4, [1], automatic=True)) == [1, 3]
    assert marked(_shape(4, [3], automatic=True)) == [3]
    assert marked(_shape(0, automatic=True)) == []


# --- end to end -----------------------------------------------------------------------------------


def test_tail_of_a_block_below_the_threshold_end_to_end() -> None:
    """A few words behind the marker, sent again each time, are not worth a word."""
    bodies = []
    for turn in range(4):
        body = anthropic(1)
        body["messages"][0]["content"] = [
            {"type": "text", "text": "Answer in one line."},
            {"type": "text", "text": prose(20, turn + 300)},
        ]
        bodies.append(body)
    calls = [call(body, line, time_s=1.8e9 + line) for line, body in enumerate(bodies)]
    assert kinds(lint(calls)) == []


# --- whatever is marked ---------------------------------------------------------------------------


@given(
    rule=st.builds(
        _rule,
        st.sampled_from(["markers", "breakpoints"]),
        minimum=st.integers(0, 1_500),
        look_back=st.none() | st.integers(1, 12),
        most_markers=st.none() | st.just(4),
        runs_collapse=st.booleans(),
    ),
    blocks=st.tuples(st.integers(1, 12), st.integers(1, 20)),
    marks=st.tuples(
        st.sets(st.integers(0, 11), max_size=4), st.sets(st.integers(0, 19), max_size=4)
    ),
    shared=st.integers(0, 12),
    read_tokens=st.integers(0, 2_500),
    runs=st.text("cr.", min_size=20, max_size=20),
    automatic=st.booleans(),
)
def test_loss_is_what_is_left_below_the_top(
    rule: Rule,
    blocks: tuple[int, int],
    marks: tuple[set[int], set[int]],
    shared: int,
    read_tokens: int,
    runs: str,
    *,
    automatic: bool,
) -> None:
    """Never below zero, never more than both share, never charged twice, always at a block."""
    parent = _shape(blocks[0], sorted(marks[0]), runs=runs)
    child = _shape(blocks[1], sorted(marks[1]), automatic=automatic, runs=runs)
    left = held(rule, parent)
    ladder = _ladder(rule, child, left, min(shared, *blocks))
    given: dict[str, Any] = {"held": left, "ladder": ladder, "read_tokens": read_tokens}
    found = misplaced(rule, child, parent_marks=marked(parent), **given)
    if found is None:
        return
    assert 0 <= found.span < blocks[1]
    assert found.detail
    assert 0 <= found.lost_tokens <= ladder.shared_tokens
    if found.fault == "below-minimum":
        assert ladder.top == 0
    else:
        assert found.lost_tokens == ladder.top - max(ladder.levels[-1], read_tokens)
