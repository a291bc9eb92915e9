"""What could have been read had causes been absent, over comparisons made by hand.

All texts are of a hundred bytes a span, a token a byte, so that figures can be read off.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.keys import KeyChange, KeyValue
from stemcache.lint.ladder import Alignment, Ladder, Step, alignment, climb, is_growth, steps_of
from stemcache.lint.scale import Scale
from stemcache.provider.cache.cuts import Cuts
from stemcache.provider.rule import Key, Kind, Range, Rule
from stemcache.provider.shape import Mark, Position, Shape
from stemcache.trace.divergence.change import Change, ChangeKind, Divergence
from stemcache.trace.spans.span import Span
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.lint.changes import span

EACH = 100
EVERYWHERE = Cuts(everywhere=True, positions=())


def _rule(kind: Kind = "markers", *, minimum: int = 0, unit: int = 1, look_back: int = 20) -> Rule:
    return Rule(
        name="test",
        provider="test",
        kind=kind,
        order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
        minimum_tokens=Range(minimum, minimum, minimum, ()),
        unit_tokens=unit,
        most_markers=4,
        look_back=look_back,
        write_factor={},
        read_factor=0.1,
    )


def _shape(spans: int, marks: Sequence[int] = ()) -> Shape:
    positions = tuple(
        Position(
            i,
            (i + 1) * EACH,
            Section.MESSAGES,
            "user",
            ends_message=True,
            mark=Mark() if i in marks else None,
            message=i,
        )
        for i in range(spans)
    )
    return Shape(
        positions=positions,
        fine_chain=np.arange(spans, dtype=np.uint64),
        fine_tokens=np.arange(1, spans + 1, dtype=np.int64) * EACH,
        api=Api.MESSAGES,
    )


def _held(*positions: int) -> Cuts:
    return Cuts(everywhere=False, positions=positions)


def _span(message: int, text: str = "x" * EACH) -> Span:
    return span(text, message)


def _change(
    kind: ChangeKind,
    at: int,
    *,
    before: Sequence[Span] | None = None,
    after: Sequence[Span] | None = None,
    before_at: int | None = None,
    new: str = "",
    shared_before: int | None = None,
    shared_behind: int = EACH,
) -> Change:
    """Spans of one in the same place, unless said otherwise."""
    return Change(
        kind=kind,
        section=Section.MESSAGES,
        before=(_span(at),) if before is None else tuple(before),
        after=(_span(at),) if after is None else tuple(after),
        before_index=at if before_at is None else before_at,
        after_index=at,
        pointer=f"/messages/{at}",
        char=0,
        old="",
        new=new,
        shared_before=at * EACH if shared_before is None else shared_before,
        shared_behind=shared_behind,
    )


def _divergence(
    aligned: Sequence[int], *changes: Change, shared: int | None = None, parent: int | None = None
) -> Divergence:
    equal = sum(EACH for one in aligned if one >= 0)
    return Divergence(
        changes=changes,
        prefix_bytes=changes[0].shared_before if changes else equal,
        shared_bytes=equal if shared is None else shared,
        child_bytes=len(aligned) * EACH,
        parent_bytes=(max(aligned, default=-1) + 1 if parent is None else parent) * EACH,
        aligned=tuple(aligned),
    )


def _key(at: int, section: Section = Section.MESSAGES, name: str = "tool_choice") -> KeyChange:
    key = Key((f"/{name}",), name, section)
    return KeyChange(KeyValue(key, f"/{name}", b""), KeyValue(key, f"/{name}", b'"any"'), at)


def _climbed(
    rule: Rule,
    child: Shape,
    held: Cuts,
    divergence: Divergence,
    keys: Sequence[KeyChange] = (),
    *,
    hidden_tokens: int = 0,
    parent_spans: int = 10,
) -> Ladder:
    spans = len(child.positions)
    size = spans * EACH
    ends = [(i + 1) * EACH for i in range(spans)]
    return climb(
        rule,
        child,
        parent_held=held,
        divergence=divergence,
        steps=steps_of(divergence, keys, ends=ends, everywhere=held.everywhere),
        span_bytes=[EACH] * spans,
        parent_span_bytes=[EACH] * parent_spans,
        scale=Scale(size, size + hidden_tokens, True, hidden_tokens),
    )


# --- causes ---------------------------------------------------------------------------------------


def _steps(divergence: Divergence, *keys: KeyChange, everywhere: bool = False) -> list[Any]:
    ends = [(i + 1) * EACH for i in range(len(divergence.aligned))]
    found = steps_of(divergence, keys, ends=ends, everywhere=everywhere)
    return [(one.span, one.shared_before, one.key is not None) for one in found]


def test_no_difference_has_no_causes() -> None:
    """Growth is none."""
    assert _steps(_divergence([0, 1, 2, -1])) == []


def test_causes_stand_in_prefix_order() -> None:
    """Changes and parameters by the span from which they count."""
    divergence = _divergence(
        [0, -1, 2, -1, 4], _change(ChangeKind.EDITED, 1), _change(ChangeKind.EDITED, 3)
    )
    assert _steps(divergence, _key(2)) == [(1, 100, False), (2, 200, True), (3, 300, False)]


def test_parameter_stands_before_content_at_the_same_place() -> None:
    """The messages' choice of tools counts before their first message does."""
    divergence = _divergence([0, -1, 2], _change(ChangeKind.EDITED, 1))
    assert _steps(divergence, _key(1)) == [(1, 100, True), (1, 100, False)]


def test_two_changes_of_one_line_are_one_cause() -> None:
    """A time and an id with less than a line between them: mending either alone gains nothing."""
    near = [
        _change(ChangeKind.EDITED, 0, shared_before=0),
        _change(ChangeKind.EDITED, 0, shared_before=127),
        _change(ChangeKind.EDITED, 0, shared_before=255),
    ]
    assert _steps(_divergence([-1, 1], *near)) == [(0, 0, False), (0, 255, False)]


@pytest.mark.parametrize(("second", "at", "causes"), [(1, 100, 1), (1, 227, 2), (2, 100, 2)])
def test_changes_of_neighbouring_spans(second: int, at: int, causes: int) -> None:
    """One cause where less than a line is between them, and no equal span is."""
    two = [
        _change(ChangeKind.EDITED, 0, shared_before=99),
        _change(ChangeKind.EDITED, second, shared_before=at),
    ]
    assert len(_steps(_divergence([0, 1, 2], *two))) == causes


def test_summary_in_place_of_messages_is_one_cause() -> None:
    """Two spans that came and the ones that went stand in one place."""
    came = _change(ChangeKind.INSERTED, 1, before=(), after=[_span(1), _span(2)], shared_before=100)
    gone = _change(ChangeKind.REMOVED, 3, after=(), before_at=1, shared_before=100)
    assert _steps(_divergence([0, -1, -1, 5], came, gone)) == [(1, 100, False)]


def test_place_of_a_parameter_counts_bytes() -> None:
    """Of what was inserted before it, in whatever script."""
    snow = [span("雪" * 40, 1)]
    came = _change(ChangeKind.INSERTED, 1, before=(), after=snow, shared_before=100)
    divergence = _divergence([0, -1, 1], came, shared=200)
    found = steps_of(divergence, [_key(2)], ends=[100, 220, 320], everywhere=True)
    assert found[-1].shared_before == 100


def test_last_span_that_goes_on_is_a_cause_only_where_ends_count() -> None:
    """A prefix cache reads on; a marker at the end of a block does not."""
    growth = _change(ChangeKind.EXTENDED, 1, new="more", shared_behind=0)
    assert is_growth(growth)
    assert _steps(_divergence([0, 1], growth), everywhere=True) == []
    assert _steps(_divergence([0, 1], growth)) == [(1, 100, False)]


def test_span_that_goes_on_in_front_of_others_is_a_change() -> None:
    """What is behind it is lost everywhere."""
    extended = _change(ChangeKind.EXTENDED, 1, new="more", shared_behind=100)
    assert not is_growth(extended)
    assert _steps(_divergence([0, 1, 2], extended), everywhere=True) == [(1, 100, False)]


def test_parameter_of_all_has_nothing_before_it() -> None:
    """The model stands before the first byte."""
    assert _steps(_divergence([0, 1]), _key(0, Section.TOOLS, "model")) == [(0, 0, True)]


@pytest.mark.parametrize(
    ("kind", "before", "after", "shared"),
    [
        (ChangeKind.EDITED, None, None, 180),
        (ChangeKind.INSERTED, (), None, 100),
        (ChangeKind.REORDERED, None, None, 100),
        (ChangeKind.REPLACED, None, None, 100),
        (ChangeKind.REMOVED, None, (), 200),
    ],
)
def test_what_differs_before_a_section_is_not_shared(
    kind: ChangeKind, before: Any, after: Any, shared: int
) -> None:
    """A parameter's place counts what the parent has too before it, and no more."""
    change = _change(kind, 1, before=before, after=after, new="y" * 20)
    divergence = _divergence([0, -1 if after is None else 1, 2, 3], change, shared=300)
    at = {one[0]: one[1] for one in _steps(divergence, _key(2)) if one[2]}
    assert at == {2: shared}


# --- alignment ------------------------------------------------------------------------------------


def test_equal_spans_are_the_parent_s() -> None:
    """With all of their bytes; what was added has none."""
    found = alignment(_divergence([0, 1, -1]), [100, 50, 10], [100, 50])
    assert found == (Alignment(0, 100), Alignment(1, 50), Alignment(-1, 0))


def test_edited_span_is_the_parent_s_but_for_the_edit() -> None:
    """A clock in a long text leaves the rest shared."""
    change = _change(ChangeKind.EDITED, 1, new="y" * 30)
    found = alignment(_divergence([0, -1, 2], change), [100, 100, 100], [100, 100, 100])
    assert found == (Alignment(0, 100), Alignment(1, 70), Alignment(2, 100))


def test_edits_of_one_span_add_up() -> None:
    """Two windows of one text are both missing."""
    changes = [
        _change(ChangeKind.EDITED, 0, new="y" * 30, shared_before=0),
        _change(ChangeKind.EDITED, 0, new="y" * 15, shared_before=50),
    ]
    assert alignment(_divergence([-1], *changes), [100], [100]) == (Alignment(0, 55),)


def test_span_of_mostly_other_text_is_another_span() -> None:
    """Half is still an edit; more is not."""
    half = _change(ChangeKind.EDITED, 0, new="y" * 50)
    assert alignment(_divergence([-1], half), [100], [100]) == (Alignment(0, 50),)
    more = _change(ChangeKind.EDITED, 0, new="y" * 51)
    assert alignment(_divergence([-1], more), [100], [100]) == (Alignment(-1, 0),)


def test_shared_bytes_are_no_more_than_the_parent_has() -> None:
    """A span that was continued shares what was there."""
    extended = _change(ChangeKind.EXTENDED, 0, new="y" * 40)
    assert alignment(_divergence([0], extended), [100], [60]) == (Alignment(0, 60),)
    assert alignment(_divergence([0], extended), [100], [20]) == (Alignment(0, 20),)


def test_reordered_spans_are_the_parent_s_in_the_parent_s_order() -> None:
    """One for one, with all of their bytes."""
    change = _change(
        ChangeKind.REORDERED,
        1,
        before=[_span(1), _span(2), _span(3)],
        after=[_span(1), _span(2), _span(3)],
    )
    found = alignment(_divergence([0, -1, -1, -1, 4], change), [100] * 5, [100] * 5)
    assert [one.parent_span for one in found] == [0, 1, 2, 3, 4]
    assert {one.shared_bytes for one in found} == {100}


def _long(kept: int, middle: str, *, at: int = 0) -> Span:
    return span("h" * kept + middle + "t" * kept, at)


@pytest.mark.parametrize(("kept", "parent_span", "shared"), [(20_000, 0, 40_000), (900, -1, 0)])
def test_edit_longer_than_its_window_counts_whole(kept: int, parent_span: int, shared: int) -> None:
    """A change shows 4,096 characters of another document; what it does not show is not shared."""
    old, new = _long(kept, "a" * 30_000), _long(kept, "b" * 30_000)
    change = _change(ChangeKind.EDITED, 0, before=[old], after=[new], new="b" * 4_096)
    size = len(new.text)
    found = alignment(_divergence([-1], change), [size], [size])
    assert found == (Alignment(parent_span, shared),)


def test_long_edits_of_one_span_leave_what_is_between_them() -> None:
    """As the places of both tell it."""
    old = span("h" * 9_000 + "a" * 5_000 + "m" * 9_000 + "a" * 5_000 + "t" * 9_000, 0)
    new = span("h" * 9_000 + "b" * 5_000 + "m" * 9_000 + "b" * 5_000 + "t" * 9_000, 0)
    changes = [
        _change(
            ChangeKind.EDITED,
            0,
            before=[old],
            after=[new],
            new="b" * 4_096,
            shared_before=shared_before,
        )
        for shared_before in (9_000, 18_000)
    ]
    found = alignment(_divergence([-1], *changes), [37_000], [37_000])
    assert found == (Alignment(0, 27_000),)


def test_edit_that_repeats_what_is_around_it() -> None:
    """What both texts begin with and what they end with does not overlap."""
    old, new = span("a" * 20_000, 0), span("a" * 26_000, 0)
    change = _change(ChangeKind.EDITED, 0, before=[old], after=[new], new="a" * 4_096)
    assert alignment(_divergence([-1], change), [26_000], [20_000]) == (Alignment(0, 20_000),)


def test_edit_outside_of_ascii_counts_its_bytes() -> None:
    """Half a surrogate pair has three."""
    change = _change(ChangeKind.EDITED, 0, new="é\ud800")
    assert alignment(_divergence([-1], change), [100], [100]) == (Alignment(0, 95),)


# --- levels where a cache is read anywhere --------------------------------------------------------


def test_everything_was_there_without_a_cause() -> None:
    """One level: what both share."""
    found = _climbed(_rule("units"), _shape(5), EVERYWHERE, _divergence([0, 1, 2, -1, -1]))
    assert found.levels == (300,)
    assert (found.top, found.shared_tokens) == (300, 300)
    assert found.within == (100, 200, 300, 300, 300)
    assert found.aligned == (0, 1, 2, -1, -1)


def test_stacked_causes_rise_one_after_the_other() -> None:
    """Up to the first change, up to the second, and all that is shared."""
    divergence = _divergence(
        [0, -1, 2, -1, 4],
        _change(ChangeKind.EDITED, 1, new="y" * 20, shared_before=140),
        _change(ChangeKind.EDITED, 3, new="y" * 10, shared_before=360),
        shared=470,
    )
    found = _climbed(_rule("units"), _shape(5), EVERYWHERE, divergence)
    assert found.levels == (140, 360, 470)
    assert found.top == 470


def test_levels_are_whole_units_above_the_minimum() -> None:
    """What is below the minimum is not kept; shared tokens know of neither."""
    divergence = _divergence([0, -1, 2], _change(ChangeKind.EDITED, 1, new="y" * 20), shared=280)
    rule = _rule("units", minimum=128, unit=64)
    found = _climbed(rule, _shape(3), EVERYWHERE, divergence)
    assert found.levels == (0, 256)
    assert found.shared_tokens == 280


def test_parameter_of_all_keys_what_is_hidden_too() -> None:
    """A transcript hides tools and system prompt; another model loses them as well."""
    model = _key(0, Section.TOOLS, "model")
    found = _climbed(
        _rule("units"), _shape(3), EVERYWHERE, _divergence([0, 1, -1]), [model], hidden_tokens=5_000
    )
    assert found.levels == (0, 5_200)


def test_change_of_content_leaves_what_is_hidden() -> None:
    """What stands before the first byte that the log shows was read all the same."""
    divergence = _divergence([-1, 1], _change(ChangeKind.REMOVED, 0, after=()), shared=100)
    found = _climbed(_rule("units"), _shape(2), EVERYWHERE, divergence, hidden_tokens=5_000)
    assert found.levels == (5_000, 5_100)


# --- levels where ends count ----------------------------------------------------------------------


def test_marker_that_stays_is_found() -> None:
    """What the parent left at its marker the child reads up to there."""
    found = _climbed(_rule(), _shape(5, marks=[2]), _held(2), _divergence([0, 1, 2, -1, -1]))
    assert found.levels == (300,)
    assert found.top == 300


def test_nothing_is_found_without_a_marker() -> None:
    """The top says what was there; no level reaches it."""
    found = _climbed(_rule(), _shape(3), _held(1), _divergence([0, 1, -1]))
    assert found.levels == (0,)
    assert found.top == 200


def test_look_back_ends() -> None:
    """A marker sees its own place and those behind, as many as the rule says."""
    reached = _climbed(
        _rule(look_back=4), _shape(5, marks=[4]), _held(1), _divergence([0, 1, -1, -1, -1])
    )
    assert reached.levels == (200,)
    missed = _climbed(
        _rule(look_back=3), _shape(5, marks=[4]), _held(1), _divergence([0, 1, -1, -1, -1])
    )
    assert missed.levels == (0,)
    assert missed.top == 200


def test_change_before_the_marker_loses_all_behind_it() -> None:
    """An edited first block hides the marked third one; the first marker's end is lost to it."""
    divergence = _divergence(
        [-1, 1, 2, -1], _change(ChangeKind.EDITED, 0, new="y" * 10), shared=290
    )
    found = _climbed(_rule(), _shape(4, marks=[2, 3]), _held(2), divergence)
    assert found.levels == (0, 290)


def test_marker_between_two_causes() -> None:
    """The system prompt's marker is found once the tool is mended, the rest with the message."""
    divergence = _divergence(
        [-1, 1, -1, 3, -1],
        _change(ChangeKind.EDITED, 0, new="y" * 10),
        _change(ChangeKind.EDITED, 2, new="y" * 10),
        shared=380,
    )
    found = _climbed(_rule(), _shape(5, marks=[1, 4]), _held(1, 3), divergence)
    assert found.levels == (0, 190, 380)


def test_parameter_cuts_at_its_section() -> None:
    """The system prompt is read; the messages are lost to the choice of tools."""
    found = _climbed(
        _rule(), _shape(4, marks=[0, 3]), _held(0, 2), _divergence([0, 1, 2, -1]), [_key(1)]
    )
    assert found.levels == (100, 300)


def test_entry_at_a_reordered_span_is_found_in_the_parent_s_order() -> None:
    """Tools in another order lose the marker on the last of them."""
    change = _change(
        ChangeKind.REORDERED, 0, before=[_span(0), _span(1)], after=[_span(0), _span(1)]
    )
    divergence = _divergence([-1, -1, 2], change, shared=300)
    found = _climbed(_rule(), _shape(3, marks=[1]), _held(1), divergence)
    assert found.levels == (0, 200)


def test_inserted_and_removed_spans() -> None:
    """What was inserted is never read; what follows is, had it not been there."""
    inserted = _divergence([0, -1, 1, 2], _change(ChangeKind.INSERTED, 1, before=()))
    found = _climbed(_rule(), _shape(4, marks=[3]), _held(2), inserted)
    assert (found.levels, found.within) == ((0, 300), (100, 100, 200, 300))
    removed = _divergence([0, 2, 3], _change(ChangeKind.REMOVED, 1, after=()))
    found = _climbed(_rule(), _shape(3, marks=[2]), _held(0, 3), removed)
    assert (found.levels, found.within) == ((100, 300), (100, 200, 300))


def test_entry_below_the_minimum_is_not_found() -> None:
    """The parent's call may have been of a model that keeps less."""
    found = _climbed(
        _rule(minimum=250), _shape(4, marks=[1, 2]), _held(1, 2), _divergence([0, 1, 2, -1])
    )
    assert found.levels == (300,)
    found = _climbed(_rule(minimum=350), _shape(4, marks=[2]), _held(2), _divergence([0, 1, 2, -1]))
    assert (found.levels, found.top, found.shared_tokens) == ((0,), 0, 300)


# --- whatever is compared -------------------------------------------------------------------------

KINDS = st.sampled_from(["markers", "units", "breakpoints", "persisted-units"])


@st.composite
def _comparisons(draw: st.DrawFn) -> tuple[Divergence, list[KeyChange], int]:
    """Spans that are equal, added, edited, moved or missing, in a row."""
    spans = draw(st.integers(1, 9))
    aligned: list[int] = []
    changes: list[Change] = []
    shared = 0
    parent = 0
    for i in range(spans):
        what = draw(st.sampled_from(["equal", "edited", "inserted", "removed", "extended"]))
        at: dict[str, Any] = {"before_at": parent, "shared_before": shared}
        if what == "removed":
            changes.append(_change(ChangeKind.REMOVED, i, after=(), **at))
            parent += draw(st.integers(1, 2))
            what = "equal"
        if what == "inserted":
            changes.append(_change(ChangeKind.INSERTED, i, before=(), **at))
            aligned.append(-1)
            continue
        new = 0
        if what in {"edited", "extended"}:
            new = draw(st.integers(0, EACH))
            kind = ChangeKind.EDITED if what == "edited" else ChangeKind.EXTENDED
            behind = draw(st.sampled_from([0, EACH]))
            changes.append(_change(kind, i, new="y" * new, shared_behind=behind, **at))
        aligned.append(-1 if what == "edited" else parent)
        shared += EACH - new
        parent += 1
    keys = [_key(at) for at in draw(st.lists(st.integers(0, spans), max_size=2))]
    return _divergence(aligned, *changes, shared=shared, parent=parent), keys, parent


@given(
    compared=_comparisons(),
    kind=KINDS,
    minimum=st.integers(0, 400),
    unit=st.sampled_from([1, 64, 128]),
    marks=st.sets(st.integers(0, 8), max_size=4),
    held=st.sets(st.integers(0, 8), max_size=4),
    everywhere=st.booleans(),
    hidden=st.sampled_from([0, 1_000]),
)
def test_levels_rise_to_the_top(
    compared: tuple[Divergence, list[KeyChange], int],
    kind: Kind,
    minimum: int,
    unit: int,
    marks: set[int],
    held: set[int],
    hidden: int,
    *,
    everywhere: bool,
) -> None:
    """One level more than causes, none below the one before, none above the prompt."""
    divergence, keys, parent_spans = compared
    spans = len(divergence.aligned)
    shape = _shape(spans, sorted(mark for mark in marks if mark < spans))
    left = EVERYWHERE if everywhere else _held(*sorted(at for at in held if at < parent_spans))
    found = _climbed(
        _rule(kind, minimum=minimum, unit=unit),
        shape,
        left,
        divergence,
        keys,
        hidden_tokens=hidden,
        parent_spans=max(parent_spans, 10),
    )
    ends = [(i + 1) * EACH for i in range(spans)]
    steps = steps_of(divergence, keys, ends=ends, everywhere=everywhere)
    assert len(found.levels) == len(steps) + 1
    assert list(found.levels) == sorted(found.levels)
    assert 0 <= found.levels[-1] <= found.top <= found.shared_tokens <= spans * EACH + hidden
    assert list(found.within) == sorted(found.within)
    assert len(found.within) == len(found.aligned) == spans
    assert all(level % unit == 0 for level in found.levels)
    assert all(level == 0 or level >= minimum for level in found.levels)


@given(compared=_comparisons(), everywhere=st.booleans())
def test_causes_are_in_order(
    compared: tuple[Divergence, list[KeyChange], int], *, everywhere: bool
) -> None:
    """By span, parameters before content; nothing counts as shared that is not."""
    divergence, keys, _ = compared
    ends = [(i + 1) * EACH for i in range(len(divergence.aligned))]
    steps: tuple[Step, ...] = steps_of(divergence, keys, ends=ends, everywhere=everywhere)
    assert [one.span for one in steps] == sorted(one.span for one in steps)
    assert sum(one.key is not None for one in steps) == len(keys)
    assert all((one.key is None) is (one.change is not None) for one in steps)
    assert all(0 <= one.shared_before <= divergence.shared_bytes for one in steps)
