"""Whose page is whose: one page, one owner, on every path between them."""

from random import Random

import numpy as np
import pytest

from stemcache.core.tokens import Chain
from stemcache.engine.config import EngineConfig, IndexForm
from stemcache.engine.kv_cache import KVCache
from stemcache.engine.request import GenerationRequest
from stemcache.engine.sequence import Sequence

FORMS: list[IndexForm] = ["hash", "radix"]
BOTH = pytest.mark.parametrize("form", FORMS)
SIZE = 4


def cache_of(form: IndexForm, *, pages: int = 16, caching: bool = True) -> KVCache:
    """Pages of four tokens."""
    return KVCache(EngineConfig(pages=pages, index=form, block_size=SIZE, prefix_caching=caching))


def sequence_of(name: str, tokens: list[int]) -> Sequence:
    """A request that has not been admitted."""
    return Sequence(
        request=GenerationRequest(name, np.array(tokens, np.int32), 8),
        chain=Chain(tokens, block_size=SIZE, namespace=b"n"),
        arrived_s=0.0,
        epoch=0,
        seed=1,
    )


def admit(cache: KVCache, sequence: Sequence) -> Sequence:
    """Admit, as the scheduler does when there is room."""
    match = cache.match(sequence)
    assert cache.needed(sequence, match) <= cache.available
    cache.admit(sequence, now=0.0)
    return sequence


def compute(cache: KVCache, sequence: Sequence, tokens: int) -> None:
    """Pretend that so many positions were computed, and publish."""
    sequence.computed = tokens
    cache.publish(sequence, now=0.0)


@BOTH
def test_a_cold_request_owns_every_page_of_its_prompt(form: IndexForm) -> None:
    """Nine tokens are three pages; none is published before it is computed."""
    cache = cache_of(form)

    sequence = admit(cache, sequence_of("a", [1] * 9))

    assert (3, 0) == (sequence.owned_pages, sequence.leased_blocks)
    assert (13, 0) == (cache.pool.free, len(cache.index))
    cache.check([sequence])


@BOTH
def test_publishing_moves_full_blocks_to_the_index(form: IndexForm) -> None:
    """The partly filled page stays the request's own."""
    cache = cache_of(form)
    sequence = admit(cache, sequence_of("a", [1] * 9))

    compute(cache, sequence, 9)

    assert (1, 2) == (sequence.owned_pages, sequence.leased_blocks)
    assert (2, 2) == (len(cache.index), cache.index.pinned)
    cache.check([sequence])


@BOTH
def test_a_second_request_leases_the_same_pages(form: IndexForm) -> None:
    """Sharing is by reference: the tables begin with the same pages."""
    cache = cache_of(form)
    first = admit(cache, sequence_of("a", list(range(9))))
    compute(cache, first, 9)

    second = admit(cache, sequence_of("b", [*range(8), 99, 98]))

    assert first.pages.pages[:2].tolist() == second.pages.pages[:2].tolist()
    assert 8 == second.computed
    assert 1 == second.owned_pages
    cache.check([first, second])


@BOTH
def test_the_last_token_is_never_taken_from_the_cache(form: IndexForm) -> None:
    """Of a prompt that is cached whole, the last block is computed again."""
    cache = cache_of(form)
    first = admit(cache, sequence_of("a", list(range(8))))
    compute(cache, first, 8)
    cache.leave(first)

    second = admit(cache, sequence_of("b", list(range(8))))

    assert (4, 4) == (second.computed, second.missing)


@BOTH
def test_blocks_that_another_published_first_are_given_back_once(form: IndexForm) -> None:
    """Two cold requests computed the same prefix: one copy stays, both tables name it."""
    cache = cache_of(form)
    first = admit(cache, sequence_of("a", list(range(9))))
    second = admit(cache, sequence_of("b", list(range(9))))
    compute(cache, first, 9)
    free = cache.pool.free

    compute(cache, second, 9)

    assert free + 2 == cache.pool.free
    assert first.pages.pages[:2].tolist() == second.pages.pages[:2].tolist()
    cache.check([first, second])


@BOTH
def test_leaving_keeps_what_was_published_and_frees_the_rest(form: IndexForm) -> None:
    """Published pages become idle; owned pages are free at once."""
    cache = cache_of(form)
    sequence = admit(cache, sequence_of("a", [1] * 9))
    compute(cache, sequence, 9)

    cache.leave(sequence)

    assert (14, 2, 0) == (cache.pool.free, len(cache.index), cache.index.pinned)
    assert cache.available == 16
    cache.check([])


@BOTH
def test_growth_evicts_what_nobody_holds_and_nothing_else(form: IndexForm) -> None:
    """When free pages run out, idle ones are taken; a leased prefix never is."""
    cache = cache_of(form, pages=4)
    idle = admit(cache, sequence_of("idle", [9] * 8))
    compute(cache, idle, 8)
    cache.leave(idle)
    held = admit(cache, sequence_of("held", [1] * 7))
    compute(cache, held, 7)

    assert cache.grow(held, 1)
    assert cache.grow(held, 1)
    assert not cache.grow(held, 1)

    assert 2 == cache.evicted_blocks
    assert (0, 1) == (cache.available, cache.index.pinned)
    cache.check([held])


@BOTH
def test_room_counts_a_match_as_taken_from_what_can_be_evicted(form: IndexForm) -> None:
    """Idle pages that a request will hold are not there to be given up for it."""
    cache = cache_of(form, pages=4)
    first = admit(cache, sequence_of("a", list(range(8))))
    compute(cache, first, 8)
    cache.leave(first)
    longer = sequence_of("b", list(range(20)))

    match = cache.match(longer)

    assert (2, 0) == (match.blocks, match.pinned)
    assert (5, 4) == (cache.needed(longer, match), cache.available)


@BOTH
def test_pages_already_held_by_others_cost_nothing(form: IndexForm) -> None:
    """A prefix that running requests hold takes no room a second time."""
    cache = cache_of(form, pages=4)
    first = admit(cache, sequence_of("a", list(range(9))))
    compute(cache, first, 9)
    second = sequence_of("b", [*range(8), 50])

    assert (1, 1) == (cache.needed(second, cache.match(second)), cache.available)

    admit(cache, second)
    assert cache.available == 0
    cache.check([first, second])


@BOTH
def test_without_caching_nothing_is_matched_or_kept(form: IndexForm) -> None:
    """Publishing does nothing, and all pages return."""
    cache = cache_of(form, caching=False)
    first = admit(cache, sequence_of("a", list(range(9))))
    compute(cache, first, 9)
    again = sequence_of("b", list(range(9)))

    assert cache.match(again) == (0, 0, 0)

    cache.leave(first)
    assert (16, 0) == (cache.pool.free, len(cache.index))


@BOTH
def test_dropping_a_chain_frees_its_pages_but_not_held_ones(form: IndexForm) -> None:
    """What leases hold stays until they let go."""
    cache = cache_of(form)
    held = admit(cache, sequence_of("a", list(range(9))))
    compute(cache, held, 9)
    idle = admit(cache, sequence_of("b", [*range(4), 7, 7, 7, 7, 7]))
    compute(cache, idle, 9)
    cache.leave(idle)

    assert 1 == cache.drop(held.chain.head(1))

    cache.leave(held)
    assert 2 == cache.drop(held.chain.head(1))
    assert cache.pool.free == 16


@BOTH
def test_check_notices_a_page_with_two_owners(form: IndexForm) -> None:
    """The conservation law is verified, not assumed."""
    cache = cache_of(form)
    sequence = admit(cache, sequence_of("a", [1] * 9))
    sequence.pages.repoint(2, np.array([int(sequence.pages.pages[0])], np.int32))

    with pytest.raises(AssertionError, match="holds a page twice"):
        cache.check([sequence])


@BOTH
def test_check_notices_a_lost_page(form: IndexForm) -> None:
    """A request that forgot its pages leaves them without an owner."""
    cache = cache_of(form)
    admit(cache, sequence_of("a", [1] * 9))

    with pytest.raises(AssertionError, match=r"13 free \+ 0 owned \+ 0 indexed pages are not 16"):
        cache.check([])


@BOTH
def test_pages_of_a_request_lie_side_by_side(form: IndexForm) -> None:
    """An answer continues its prompt's extent, so that the model reads it in place."""
    cache = cache_of(form, pages=400)
    live = [admit(cache, sequence_of(f"r{n}", [n] * 10)) for n in range(3)]

    for _ in range(20):
        for sequence in live:
            assert cache.grow(sequence, 1)

    for sequence in live:
        assert (np.diff(sequence.pages.pages) == 1).all()


@BOTH
def test_random_lives_conserve_pages(form: IndexForm) -> None:
    """Admit, compute, grow, publish, leave and drop in any order: the law holds."""
    for seed in range(60):
        random = Random(f"{form} {seed}")
        cache = cache_of(form, pages=random.choice([8, 24, 60]))
        live: list[Sequence] = []
        for number in range(60):
            action = random.random()
            if action < 0.35:
                tokens = [random.randint(0, 1) for _ in range(random.randint(1, 40))]
                sequence = sequence_of(f"r{number}", tokens)
                if cache.needed(sequence, cache.match(sequence)) <= cache.available:
                    cache.admit(sequence, now=0.0)
                    live.append(sequence)
            elif action < 0.7 and live:
                sequence = random.choice(live)
                reach = random.randint(sequence.computed, len(sequence.chain))
                compute(cache, sequence, reach)
            elif action < 0.8 and live:
                cache.grow(random.choice(live), random.randint(1, 3))
            elif action < 0.95 and live:
                cache.leave(live.pop(random.randrange(len(live))))
            elif live:
                cache.drop(random.choice(live).chain.head(0))
            cache.check(live)
