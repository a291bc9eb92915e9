from math import inf
from random import Random

import pytest

from stemcache.lab.policy_cache import PolicyCache
from stemcache.lab.survey import AGE_EDGES_S, Cell, Survey
from stemcache.lab.visit import Visit
from stemcache.policy.evict import Lru
from tests.lab.histories import PlainLru, chained, keys, random_trace, visit


def survey_of(trace: list[Visit], *cells: Cell, alone: bool = False) -> Survey:
    """The pass over a trace."""
    survey = Survey(cells, alone=alone)
    for each in trace:
        survey.feed(each)
    survey.finish()
    return survey


@pytest.mark.parametrize("seed", range(40))
def test_every_capacity_of_lru_is_what_lru_does(seed: int) -> None:
    """The one pass, a plain LRU and the engine's own index agree at every capacity."""
    random = Random(seed)
    trace = random_trace(random, 80, deepest=7, fan=random.choice([2, 3]), scopes=2)
    cells = [Cell(capacity, None) for capacity in range(1, 40)]
    survey = survey_of(trace, *cells)
    for cell in cells:
        assert cell.capacity_blocks is not None
        plain = PlainLru(cell.capacity_blocks)
        engine = PolicyCache(Lru(), cell.capacity_blocks)
        hits = 0
        for each in trace:
            found = plain.feed(each)
            assert engine.feed(each) == found
            hits += found
        assert cell.tally.hit_blocks == hits
        (from_curve,) = survey.curve.block_hits([cell.capacity_blocks])
        assert from_curve == hits
        (tokens,) = survey.curve.token_hits([cell.capacity_blocks], trace[0].block_tokens)
        assert tokens == cell.tally.hit_tokens


@pytest.mark.parametrize("refresh", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_times_to_live_are_kept(seed: int, refresh: bool) -> None:  # noqa: FBT001  a parameter
    """A block is found for so long after its last use, or after it was last computed."""
    trace = random_trace(Random(seed), 80)
    cells = [Cell(None, ttl, refresh=refresh) for ttl in (0.5, 1.0, 3.0, 10.0, None)]
    survey_of(trace, *cells)
    for cell in cells:
        since: dict[tuple[str, int], float] = {}
        hits = 0
        for each in trace:
            live = inf if cell.ttl_s is None else cell.ttl_s
            blocks = keys(each)
            found = 0
            while (
                found < len(blocks)
                and blocks[found] in since
                and each.now_s - since[blocks[found]] <= live
            ):
                found += 1
            hits += found
            for block in blocks if refresh else blocks[found:]:
                since[block] = each.now_s
        assert cell.tally.hit_blocks == hits


@pytest.mark.parametrize("seed", range(20))
def test_capacity_and_time_to_live_together(seed: int) -> None:
    """What is expired is not found; what is live is found if LRU still has it."""
    trace = random_trace(Random(seed), 80)
    cells = [Cell(capacity, ttl) for capacity in (3, 8) for ttl in (1.0, 4.0)]
    survey_of(trace, *cells)
    for cell in cells:
        assert cell.capacity_blocks is not None
        assert cell.ttl_s is not None
        plain, last, hits = PlainLru(cell.capacity_blocks), dict[tuple[str, int], float](), 0
        for each in trace:
            blocks = keys(each)
            for block in [b for b in plain.used if each.now_s - last[b] > cell.ttl_s]:
                del plain.used[block]
            hits += plain.feed(each)
            last.update(dict.fromkeys(blocks, each.now_s))
        assert cell.tally.hit_blocks == hits


def test_ideal_counts_blocks_and_tokens() -> None:
    """A partial last block counts as a block, and for the tokens that it has."""
    trace = [visit([1, 2, 3], short=1), visit([1, 2, 3], short=1), visit([1, 9])]
    survey = survey_of(trace)
    assert (survey.ideal.blocks, survey.ideal.hit_blocks) == (8, 4)
    assert (survey.ideal.tokens, survey.ideal.hit_tokens) == (30, 11 + 4)
    assert survey.ideal.block_hit_rate == 0.5
    assert survey.distinct_blocks == 4


def test_rates_of_nothing_are_unknown() -> None:
    """No requests, no rate; not zero."""
    assert survey_of([]).ideal.block_hit_rate is None
    assert survey_of([]).ideal.token_hit_rate is None


def test_usable_blocks_bound_what_is_found() -> None:
    """An engine computes the last token of a prompt that it knows whole."""
    cell = Cell(10, None)
    trace = [visit([1, 2, 3]), visit([1, 2, 3], usable=2), visit([1, 2, 3])]
    survey = survey_of(trace, cell, from_write := Cell(None, 5.0, refresh=False))
    assert survey.ideal.hit_blocks == cell.tally.hit_blocks == from_write.tally.hit_blocks == 5
    assert survey.curve.block_hits([10]).tolist() == [5]


def test_tenants_are_told_apart() -> None:
    """They share a cache, and each has sums of its own."""
    cell = Cell(10, None)
    survey = survey_of([visit([1, 2], tenant="a"), visit([1, 3], tenant="b")], cell)
    assert survey.tenants["a"].hit_blocks == cell.tenants["a"].hit_blocks == 0
    assert survey.tenants["b"].hit_blocks == cell.tenants["b"].hit_blocks == 1


def test_sessions_alone_share_nothing_but_the_sums() -> None:
    """Each has a cache of the whole capacity."""
    trace = [visit([1, 2], session="a"), visit([1, 2], session="b"), visit([1, 2], session="a")]
    cell = Cell(2, None)
    survey = survey_of(trace, cell, alone=True)
    assert survey.ideal.hit_blocks == cell.tally.hit_blocks == 2
    assert survey.curve.block_hits([1, 2]).tolist() == [1, 2]
    assert len(survey.trees) == 2


def test_times_between_uses_are_counted_in_blocks() -> None:
    """Two blocks come back after 7 s, one of them again after an hour and a bit."""
    survey = survey_of([visit([1, 2]), visit([1, 2], 7.0), visit([1], 7.0 + 3601)])
    assert survey.age_blocks[AGE_EDGES_S.index(10)] == 2
    assert survey.age_blocks[AGE_EDGES_S.index(7200)] == 1
    assert sum(survey.age_blocks) == 3


def test_keep_alive_bridges_gaps_and_is_counted() -> None:
    """Two renewals of 10 s carry a prompt over 25 s; one is sent before the next use at 15 s."""
    path = chained([0, 0, 0])
    cell = Cell(None, 10.0, keep_alive=2)
    trace = [visit(path), visit(path, 25.0), visit(path, 40.0), visit([77], 100.0)]
    survey_of(trace, cell)
    assert cell.tally.hit_blocks == 6
    # 2 before the first return, 1 before the second, 2 after the last; none has time after 77.
    assert cell.pings == 5
    assert cell.pinged_tokens == 5 * 12


def test_a_prompt_that_parts_in_its_last_full_block_is_not_taken_over() -> None:
    """Its own last block has to be kept alive for itself."""
    cell = Cell(None, 31.0, keep_alive=1)
    survey_of([visit([1, 2]), visit([1, 3], 20.0), visit([1, 2], 50.0)], cell)
    assert cell.tally.hit_blocks == 3
    assert cell.pings == 1


def test_whole_sessions_get_all_their_keep_alives_and_no_fewer_than_none() -> None:
    """What ended early in its own time is not measured by the clock of another."""
    cell = Cell(None, 60.0, keep_alive=2)
    trace = [visit([1], 1000.0, session="a"), visit([2], 0.0, session="b")]
    survey_of(trace, cell, alone=True)
    assert (cell.pings, cell.pinged_tokens) == (4, 16)


def test_a_warm_up_has_no_keep_alives_to_count() -> None:
    """Only prompts that count cost anything."""
    cell = Cell(None, 10.0, keep_alive=1)
    survey_of([visit([1])._replace(scored=False), visit([2], 50.0), visit([3], 90.0)], cell)
    assert cell.pings == 1


def test_keep_alive_stops_when_the_conversation_goes_on() -> None:
    """A longer prompt takes over, even though the partial last block changed."""
    cell = Cell(None, 10.0, keep_alive=3)
    survey_of([visit([1, 2, 3], short=2), visit([1, 2, 4, 5], 15.0), visit([9], 16.0)], cell)
    assert cell.pings == 1
    assert cell.tally.hit_blocks == 2
