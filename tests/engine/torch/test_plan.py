"""Plans, without torch: every row attends to each position up to its own exactly once."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.engine.model import Step
from stemcache.engine.torch import plan as plan_module
from stemcache.engine.torch.plan import Extent, Gather, Plan, Square, last_of, plan_batch


def make_step(start: int, count: int, pages: list[int], *, sample: bool = True) -> Step:
    """`count` tokens from position `start` on."""
    return Step(np.arange(count, dtype=np.int32), start, np.array(pages, np.int32), sample)


def attended(plan: Plan) -> list[Counter[int]]:
    """The slots that each row attends to, by brute force."""
    seen: list[Counter[int]] = [Counter() for _ in plan.tokens]
    for wave in plan.waves:
        for piece in wave.pieces:
            for row in range(piece.first, piece.end):
                match piece.source:
                    case Extent(first, tokens):
                        seen[row].update(range(first, first + tokens))
                    case Gather(slots):
                        seen[row].update(slots.tolist())
                    case Square():
                        seen[row].update(plan.slots[piece.first : row + 1].tolist())
    return seen


def slots_up_to(step: Step, position: int, block_size: int) -> Counter[int]:
    """The slots of positions `0 .. position`."""
    at = np.arange(position + 1)
    return Counter((step.pages[at // block_size] * block_size + at % block_size).tolist())


def verify(plan: Plan, steps: list[Step], block_size: int) -> None:
    """Check the rows of sampled steps, and that waves have no gaps."""
    seen = attended(plan)
    last = iter(plan.last_rows.tolist())
    for step in steps:
        if step.sample:
            end = next(last)
            for back in range(len(step.tokens)):
                position = step.start + len(step.tokens) - 1 - back
                assert seen[end - back] == slots_up_to(step, position, block_size)
                assert plan.positions[end - back] == position
    assert (plan.waves[0].first, plan.waves[0].end) == (0, len(plan.tokens))
    for wave in plan.waves:
        ends = [wave.first, *(piece.end for piece in wave.pieces)]
        assert [piece.first for piece in wave.pieces] == ends[:-1]


def test_a_first_chunk_is_one_square() -> None:
    """A prompt without cached tokens needs no piece but its own square."""
    plan = plan_batch([make_step(0, 5, [3])], 16)
    assert [(w.first, w.end, [p.source for p in w.pieces]) for w in plan.waves] == [
        (0, 5, [Square()])
    ]
    assert plan.slots.tolist() == [48, 49, 50, 51, 52]


def test_consecutive_pages_are_attended_in_place() -> None:
    """A context whose pages lie side by side is one extent, cut at its last token."""
    plan = plan_batch([make_step(20, 3, [4, 5])], 16)
    assert [w.pieces[0].source for w in plan.waves] == [Extent(64, 20), Square()]


def test_a_decoded_token_is_context_of_its_own() -> None:
    """A single row attends to its own slot through the pool, without a square."""
    plan = plan_batch([make_step(20, 1, [4, 5])], 16)
    assert [w.pieces[0].source for w in plan.waves] == [Extent(64, 21)]


def test_scattered_pages_are_gathered_once() -> None:
    """Short runs are copied together into one piece; a long run stays where it is."""
    long = plan_module.VIEW_TOKENS // 16
    pages = [9, 3, *range(100, 100 + long), 5]
    plan = plan_batch([make_step(16 * len(pages) - 2, 1, pages)], 16)
    extent, gather = [w.pieces[0].source for w in plan.waves]
    assert extent == Extent(1600, long * 16)
    assert isinstance(gather, Gather)
    assert gather.slots.tolist() == [*range(144, 160), *range(48, 64), *range(80, 95)]


def test_a_shared_stem_is_read_once() -> None:
    """Sequences that begin alike share one piece over the rows of all of them."""
    stem = list(range(32))
    steps = [make_step(512 + 8, 1, [*stem, 40 + 2 * i]) for i in range(4)]
    plan = plan_batch(steps, 16)
    shared, tails = plan.waves
    assert [(p.first, p.end, p.source) for p in shared.pieces] == [(0, 4, Extent(0, 512))]
    assert sorted(p.source.first for p in tails.pieces if isinstance(p.source, Extent)) == [
        640,
        672,
        704,
        736,
    ]


def test_a_short_stem_is_not_worth_a_piece() -> None:
    """Reading a few tokens twice costs less than merging."""
    plan = plan_batch([make_step(20, 1, [0, 1]), make_step(20, 1, [0, 2])], 16)
    assert len(plan.waves) == 1


def test_last_of_keeps_what_is_sampled() -> None:
    """The last layer's batch is one token for each sampled step."""
    steps = [make_step(7, 4, [1], sample=False), make_step(3, 5, [2])]
    (last,) = last_of(steps)
    assert (last.tokens.tolist(), last.start, last.pages.tolist()) == ([4], 7, [2])


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[Step], int]:
    """Steps whose tables grow from one another's, like those of an index."""
    block_size = draw(st.sampled_from([1, 2, 16]))
    fresh = iter(draw(st.permutations(range(200))))
    tables: list[list[int]] = [[]]
    steps = []
    for _ in range(draw(st.integers(1, 7))):
        parent = draw(st.sampled_from(tables))
        kept = parent[: draw(st.integers(0, len(parent)))]
        start = len(kept) * block_size
        extra = draw(st.integers(0, 5))
        run = draw(st.booleans())
        first = next(fresh)
        new = list(range(first + 1000, first + 1000 + extra)) if run else []
        new += [next(fresh) for _ in range(extra - len(new))]
        computed = draw(st.integers(0, extra)) * block_size
        count = draw(st.sampled_from([1, 1, 2, 5]))
        start += computed
        table = kept + new
        need = -(-(start + count) // block_size) - len(table)
        table += [next(fresh) for _ in range(max(need, 0))]
        steps.append(make_step(start, count, table))
        tables.append(table[: start // block_size])
    return steps, block_size


@pytest.mark.parametrize("threshold", [1, 16, 10_000])
@given(batch=batches())
@settings(max_examples=60)
def test_random_batches_attend_to_their_past_exactly_once(
    threshold: int, batch: tuple[list[Step], int]
) -> None:
    """Whatever is shared or gathered, each row sees every position up to its own once."""
    steps, block_size = batch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_module, "SHARED_TOKENS", threshold)
        patch.setattr(plan_module, "VIEW_TOKENS", threshold)
        verify(plan_batch(steps, block_size), steps, block_size)
