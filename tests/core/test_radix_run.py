"""One run of the tree: what splits, what keeps its identity, what spans stand for."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from stemcache.core.hashing import BlockKey
from stemcache.core.radix_run import Run, Span

SIZE = 2


def run_of(blocks: int, *, state: int = 0, pins: int = 0, keyed: bool = False) -> Run[int, int]:
    """A run of `blocks` blocks with values 0, 1, 2, and tokens 0, 1 | 2, 3 | and so on."""
    tokens = np.arange(blocks * SIZE, dtype=np.uint32)
    return Run(
        parent=None,
        edge=tokens[:SIZE].astype("<u4").tobytes(),
        start=0,
        tokens=tokens,
        values=list(range(blocks)),
        keys=[BlockKey(bytes([at])) for at in range(blocks)] if keyed else None,
        spans=[Span(blocks, state, pins)],
    )


def edge_of(run: Run[int, int], block: int) -> bytes:
    """The edge that a block of a run would have at the head of a run."""
    return run.tokens.view(block * SIZE, (block + 1) * SIZE).astype("<u4").tobytes()


def spans(run: Run[int, int]) -> list[tuple[int, int, int]]:
    """Blocks, state and pins of each span."""
    return [(span.blocks, span.state, span.pins) for span in run.spans]


def test_a_split_keeps_the_identity_of_the_lower_part() -> None:
    """Whoever points at a run points at its end, before and after a split."""
    run = run_of(5, keyed=True)
    child = run_of(1)
    run.children[b"child"] = child
    edge = edge_of(run, 2)
    upper = run.split(2, edge, SIZE)

    assert (0, 2, [0, 1]) == (upper.start, upper.stop, upper.values)
    assert (2, 5, [2, 3, 4]) == (run.start, run.stop, run.values)
    assert [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]] == [
        each.tokens.view(0, len(each.tokens)).tolist() for each in (upper, run)
    ]
    assert ([b"\x00", b"\x01"], [b"\x02", b"\x03", b"\x04"]) == (upper.keys, run.keys)
    assert upper is run.parent
    assert {edge: run} == upper.children
    assert {b"child": child} == run.children
    upper.check(SIZE)
    run.check(SIZE)


def test_a_split_cuts_spans_and_carries_states_and_pins_to_both_sides() -> None:
    """No block changes its state or its pins because the tree changed its shape."""
    run = run_of(6, state=7, pins=1)
    run.spans = [Span(4, 7, 2), Span(2, 8, 0)]
    run.last = 9
    upper = run.split(3, edge_of(run, 3), SIZE)

    assert [(3, 7, 2)] == spans(upper)
    assert [(1, 7, 2), (2, 8, 0)] == spans(run)
    assert (7, 9) == (upper.last, run.last)


def test_an_extension_happens_in_place() -> None:
    """A chunk added behind a leaf makes a span, not a run."""
    run = run_of(2, state=1, keyed=True)
    more = np.array([90, 91], np.uint32)
    run.extend(more, [9], [BlockKey(b"9")], Span(1, 5, 1))

    assert [0, 1, 9] == run.values
    assert [0, 1, 2, 3, 90, 91] == run.tokens.view(0, 6).tolist()
    assert [(2, 1, 0), (1, 5, 1)] == spans(run)
    assert 5 == run.last


def test_an_extension_keeps_what_the_last_block_had_inherited() -> None:
    """The block that was last takes its own state with it, apart from its span's."""
    run = run_of(3, state=1)
    run.last = 4
    run.extend(np.array([90, 91], np.uint32), [9], None, Span(1, 5, 0))

    assert [(2, 1, 0), (1, 4, 0), (1, 5, 0)] == spans(run)


def test_a_keyed_run_is_not_extended_without_keys() -> None:
    """A tree keeps all keys or none."""
    run = run_of(1, keyed=True)

    with pytest.raises(AssertionError) as error:
        run.extend(np.array([90, 91], np.uint32), [9], None, Span(1, 5, 0))

    assert "a keyed run was extended without keys" == str(error.value)


@pytest.mark.parametrize(
    ("blocks", "behind", "expected"),
    [
        (0, 0, [(3, 1, 1), (2, 2, 0)]),
        (2, 1, [(2, 1, 1), (1, 1, 1), (2, 2, 0)]),
        (3, 1, [(3, 1, 1), (2, 2, 0)]),
        (4, 2, [(3, 1, 1), (1, 2, 0), (1, 2, 0)]),
        (5, 2, [(3, 1, 1), (2, 2, 0)]),
    ],
)
def test_a_span_is_cut_only_where_there_is_no_boundary_yet(
    blocks: int, behind: int, expected: list[tuple[int, int, int]]
) -> None:
    """Cutting tells the span that begins there; at a boundary or at an end nothing is cut."""
    run = run_of(5)
    run.spans = [Span(3, 1, 1), Span(2, 2, 0)]

    assert behind == run.cut_span(blocks)
    assert expected == spans(run)


def test_neighbours_that_no_longer_differ_are_joined() -> None:
    """Both state and pins must agree."""
    run = run_of(6)
    run.spans = [Span(1, 1, 1), Span(1, 1, 0), Span(2, 1, 0), Span(1, 2, 0), Span(1, 1, 0)]
    run.merge_spans()

    assert [(1, 1, 1), (3, 1, 0), (1, 2, 0), (1, 1, 0)] == spans(run)


def test_blocks_are_popped_from_the_end() -> None:
    """Values and keys come last block first; what remains is the head, and it may be nothing."""
    run = run_of(4, keyed=True)

    assert ([b"\x03", b"\x02"], [3, 2]) == run.pop(2, SIZE)
    assert [0, 1, 2, 3] == run.tokens.view(0, len(run.tokens)).tolist()
    assert [(2, 0, 0)] == spans(run)
    assert ([b"\x01", b"\x00"], [1, 0]) == run.pop(2, SIZE)
    assert (0, []) == (run.blocks, spans(run))


def test_a_run_without_keys_pops_none() -> None:
    """There is no key where none was kept."""
    assert (None, [1]) == run_of(2).pop(1, SIZE)


def test_the_pinned_blocks_are_counted_from_the_front() -> None:
    """Pins never rise along a run, so those held stand before all others."""
    run = run_of(6)
    run.spans = [Span(2, 0, 2), Span(1, 0, 1), Span(3, 0, 0)]

    assert 3 == run.pinned
    assert run.free_leaf
    run.spans[-1].pins = 1
    assert (6, False) == (run.pinned, run.free_leaf)


@pytest.mark.parametrize("seed", range(10))
def test_spans_stand_for_a_list_with_an_entry_a_block(seed: int) -> None:
    """Cuts, uses, pins and merges agree with one (state, pins) per block."""
    random = Random(seed)
    run = run_of(30)
    twin = [(0, 0)] * 30
    for step in range(1, 200):
        stop = random.randint(1, 30)
        if random.random() < 0.5:
            behind = run.cut_span(stop)
            for span in run.spans[:behind]:
                span.pins += 1
            twin = [(state, pins + (at < stop)) for at, (state, pins) in enumerate(twin)]
        else:
            at = run.cut_span(stop - 1)
            run.cut_span(stop)
            run.spans[at].state = step
            twin[stop - 1] = (step, twin[stop - 1][1])
        if random.random() < 0.3:
            run.merge_spans()

            assert all(
                (left.state, left.pins) != (right.state, right.pins)
                for left, right in pairwise(run.spans)
            )

        assert twin == [(span.state, span.pins) for span in run.spans for _ in range(span.blocks)]
        run.check(SIZE)


def test_check_names_what_is_broken() -> None:
    """Each invariant of a run has a message of its own."""

    def broken(**changes: object) -> str:
        run = run_of(3, keyed=True)
        for name, value in changes.items():
            setattr(run, name, value)
        with pytest.raises(AssertionError) as error:
            run.check(SIZE)
        return str(error.value).partition("\n")[0]

    assert "a run is empty" == broken(values=[])
    assert "tokens and values differ" == broken(values=[1, 2])
    assert "keys and values differ" == broken(keys=[])
    assert "a span is empty" == broken(spans=[Span(3, 0, 0), Span(0, 0, 0)])
    assert "spans cover 2 of 3 blocks" == broken(spans=[Span(2, 0, 0)])
    assert "pins rise along a run: [0, 1]" == broken(spans=[Span(2, 0, 0), Span(1, 0, 1)])
    assert "the edge does not begin the run" == broken(edge=b"other")
    assert "the edge does not begin the run" == broken(edge=(b"extra", b"other"))
