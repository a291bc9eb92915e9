from random import Random
from typing import Any

import numpy as np
import pytest

from stemcache.errors import UsageError
from stemcache.lab.answer import as_json
from stemcache.lab.question import POLICIES, Capacity, Question
from stemcache.lab.simulate import Result, Simulation, simulate
from stemcache.trace.record import TraceRequest
from tests.lab.histories import BLOCK_TOKENS, random_trace


def requests(seed: int = 1, count: int = 120, **more: Any) -> list[TraceRequest]:
    """A random trace as records."""
    return [
        TraceRequest(
            each.ids,
            BLOCK_TOKENS,
            each.prompt_tokens,
            arrival_s=each.now_s,
            scope=each.scope,
            tenant=each.tenant,
            **more,
        )
        for each in random_trace(Random(seed), count, fan=3)
    ]


def rows(simulation: Simulation, policy: str) -> list[Result]:
    """The rows of one policy."""
    return [result for result in simulation.results if result.policy == policy]


def blocks(*sizes: int) -> tuple[Capacity, ...]:
    """Capacities in blocks."""
    return tuple(Capacity(blocks=size) for size in sizes)


def test_every_policy_answers_for_every_capacity() -> None:
    """In the order asked; none beats the optimum, none loses what an unbounded cache has."""
    question = Question(capacities=blocks(2, 10, 50), policies=POLICIES)
    simulation = simulate(requests(), question)
    assert [(r.policy, r.capacity_blocks) for r in simulation.results] == [
        (policy, size) for policy in POLICIES for size in (2, 10, 50)
    ]
    best = {r.capacity_blocks: r.total.hit_blocks for r in rows(simulation, "min-bypass")}
    for result in simulation.results:
        assert result.total.requests == 120
        assert result.total.hit_blocks <= best[result.capacity_blocks]


def test_without_a_bound_every_policy_is_ideal() -> None:
    """There is nothing to choose."""
    simulation = simulate(requests(), Question(policies=("lru", "min", "fifo")))
    ideal = simulation.survey.ideal
    assert all(result.total.hit_tokens == ideal.hit_tokens for result in simulation.results)


def test_capacities_can_be_given_in_tokens() -> None:
    """Whole blocks of them."""
    simulation = simulate(requests(), Question(capacities=(Capacity(tokens=41),)))
    assert simulation.results[0].capacity_blocks == 10
    with pytest.raises(UsageError, match="a capacity of 3 tokens holds no block of 4; give more"):
        simulate(requests(), Question(capacities=(Capacity(tokens=3),)))


def test_capacities_can_be_given_in_bytes() -> None:
    """With the memory of a token."""
    size = (Capacity(memory_bytes=1000),)
    simulation = simulate(requests(), Question(capacities=size, bytes_per_token=10))
    assert simulation.results[0].capacity_blocks == 25
    with pytest.raises(UsageError, match="a --capacity in bytes needs --kv-bytes-per-token"):
        simulate(requests(), Question(capacities=size))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.95, 1.0])
def test_what_lru_needs_is_the_smallest_capacity_that_is_enough(share: float) -> None:
    """One block fewer finds less."""
    simulation = simulate(requests(), Question())
    needed = simulation.lru_needs(share)
    assert needed is not None
    wanted = share * simulation.survey.ideal.hit_tokens
    at, below = simulation.survey.curve.token_hits([needed, needed - 1], BLOCK_TOKENS)
    assert below < wanted <= at


def test_nothing_found_needs_no_capacity() -> None:
    """There is no share of nothing."""
    trace = [TraceRequest(np.array([at]), 4, 4) for at in range(3)]
    assert simulate(trace, Question()).lru_needs(0.5) is None


def test_tenants_are_told_at_every_capacity_of_lru() -> None:
    """Those that the curve gives too, and in two tiers; they add up to the whole."""
    for question in (
        Question(capacities=None),
        Question(capacities=blocks(5), second_tier=Capacity(blocks=15)),
        Question(capacities=blocks(5), ttls_s=(3.0, None)),
    ):
        for result in simulate(requests(), question).results:
            assert set(result.tenants) == {"ann", "bob"}
            for sums in ("requests", "hit_blocks", "hit_tokens", "tokens"):
                parts = [getattr(tally, sums) for tally in result.tenants.values()]
                assert sum(parts) == getattr(result.total, sums)


def test_telling_capacities_follow_the_trace() -> None:
    """Each is twice the one before, and the last finds everything."""
    simulation = simulate(requests(), Question(capacities=None, policies=("lru", "min")))
    sizes = [result.capacity_blocks for result in rows(simulation, "lru")]
    assert sizes == [result.capacity_blocks for result in rows(simulation, "min")]
    assert sizes[-1] == simulation.survey.curve.largest
    assert rows(simulation, "lru")[-1].total.hit_blocks == simulation.survey.ideal.hit_blocks
    same = simulate(requests(), Question(capacities=blocks(*[size or 0 for size in sizes])))
    assert [r.total for r in same.results] == [r.total for r in rows(simulation, "lru")]


def test_a_second_tier_is_the_same_stack_cut_in_two() -> None:
    """Together the tiers find what one of their size does; the second what the first does not."""
    question = Question(capacities=blocks(5), second_tier=Capacity(blocks=15))
    (both,) = simulate(requests(), question).results
    five, twenty = simulate(requests(), Question(capacities=blocks(5, 20))).results
    assert both.total == twenty.total
    assert both.second_tier_hit_blocks == twenty.total.hit_blocks - five.total.hit_blocks
    assert both.second_tier_blocks == 15


def test_the_warm_up_fills_but_does_not_count() -> None:
    """Scores of the second half, from a cache that the first half filled."""
    trace = requests()
    question = Question(capacities=blocks(8), policies=("lru", "min", "fifo"), warmup_requests=60)
    simulation = simulate(trace, question)
    assert {result.total.requests for result in simulation.results} == {60}
    assert simulation.survey.ideal.requests == 60
    with pytest.raises(UsageError, match="--warmup 120 leaves nothing to count: the trace has 120"):
        simulate(trace, Question(warmup_requests=120))
    whole = simulate(trace, Question(capacities=blocks(8), policies=("fifo",))).results[0]
    first = simulate(trace[:60], Question(capacities=blocks(8), policies=("fifo",))).results[0]
    (fifo,) = rows(simulation, "fifo")
    assert fifo.total.hit_blocks == whole.total.hit_blocks - first.total.hit_blocks


def test_sessions_with_their_own_clocks_have_their_own_caches() -> None:
    """Capacities are for each; results are sums."""
    trace = requests()
    one = [
        TraceRequest(
            r.block_ids,
            4,
            r.prompt_tokens,
            arrival_s=r.arrival_s,
            scope=name,
            session=name,
            session_clock=True,
        )
        for name in ("x", "y")
        for r in trace
    ]
    question = Question(capacities=blocks(6), policies=("lru", "min", "slru", "arc"))
    alone = simulate(one, question)
    single = simulate([r for r in one if r.session == "x"], question)
    assert alone.alone
    for both, each in zip(alone.results, single.results, strict=True):
        assert both.total.hit_blocks == 2 * each.total.hit_blocks


def test_tenants_kept_apart_find_less() -> None:
    """Sharing between them is gone, their own stays."""
    shared = simulate(requests(), Question())
    apart = simulate(requests(), Question(isolate_tenants=True))
    assert apart.results[0].total.hit_blocks < shared.results[0].total.hit_blocks
    assert set(apart.results[0].tenants) == {"ann", "bob"}


def test_nothing_to_simulate_is_said() -> None:
    """An empty trace has no rates."""
    with pytest.raises(UsageError, match="the trace has no requests"):
        simulate([], Question())


def test_traces_of_two_block_sizes_are_refused() -> None:
    """Their blocks cannot be compared."""
    trace = [TraceRequest(np.array([1]), 4, 4), TraceRequest(np.array([1]), 8, 8)]
    with pytest.raises(UsageError, match="request 2 has 8 tokens a block, those before it 4"):
        simulate(trace, Question())
    trace = [
        TraceRequest(np.array([1]), 4, 4),
        TraceRequest(np.array([1]), 4, 4, session="a", session_clock=True),
    ]
    with pytest.raises(UsageError, match="do not count time from the same kind of zero"):
        simulate(trace, Question())


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question(policies=("lruu",)), "unknown policy 'lruu' from --policy; did you mean 'lru'"),
        (Question(policies=("fifo",), ttls_s=(1.0,)), "--ttl and --policy fifo do not go together"),
        (
            Question(capacities=blocks(1), policies=("min",), second_tier=Capacity(blocks=1)),
            "--second-tier and --policy min do not go together",
        ),
        (Question(second_tier=Capacity(blocks=1)), "--second-tier needs a --capacity"),
        (
            Question(capacities=blocks(1), second_tier=Capacity(blocks=1), ttls_s=(1.0,)),
            "--second-tier and --ttl do not go together",
        ),
        (
            Question(capacities=blocks(1), ttls_s=(1.0,), refresh=False),
            "--no-refresh and --capacity do not go together",
        ),
        (Question(ttls_s=(5.0, 0.0)), "--ttl has a time of 0; use more, or inf for no bound"),
        (Question(regroup=2, split=2), "--merge-blocks and --split-blocks do not go together"),
        (Question(refresh=False), "--no-refresh needs a --ttl"),
        (Question(keep_alive=1), "--keep-alive needs a --ttl that uses renew"),
        (
            Question(capacities=blocks(9), ttls_s=(1.0,), keep_alive=1),
            "--keep-alive and --capacity do not go together",
        ),
        (
            Question(policies=("min-bypass",), engine_rules=True),
            "--engine-rules and --policy min-bypass do not go together",
        ),
        (Question(capacities=None, refresh=False), "--no-refresh needs a --ttl"),
        (Question(capacities=None, policies=("fifo",)), "--policy fifo needs a --capacity"),
        (Question(capacities=None, ttls_s=(1.0,)), "--ttl needs a --capacity"),
    ],
)
def test_questions_that_make_no_sense_are_refused(question: Question, message: str) -> None:
    """With the flags that do not go together."""
    with pytest.raises(UsageError, match=message):
        question.check()


def test_the_answer_is_plain_and_complete() -> None:
    """Rates to six digits, regret where the optimum was asked, tenants by name."""
    question = Question(capacities=blocks(4, 16), policies=("lru", "min"))
    answer = as_json(simulate(requests(), question), trace="t.jsonl", unit="tokens")
    assert answer["trace"] == "t.jsonl"
    assert answer["requests"] == 120
    assert answer["block_size"] == BLOCK_TOKENS
    lru, _, best, _ = answer["results"]
    assert lru["policy"] == "lru"
    assert lru["capacity_blocks"] == 4
    assert lru["ttl_s"] is None
    assert 0 < lru["block_hit_rate"] < best["block_hit_rate"] < answer["ideal"]["block_hit_rate"]
    gap = lru["regret"]["block_hit_rate"]
    assert gap == pytest.approx(best["block_hit_rate"] - lru["block_hit_rate"], abs=2e-6)
    assert lru["regret"]["computed_over_optimum"] > 1
    assert best["regret"]["computed_over_optimum"] == 1
    assert set(lru["tenants"]) == {"ann", "bob"}
    curve = answer["lru_curve"]
    at_16 = curve["block_hit_rate"][curve["capacity_blocks"].index(16)]
    assert at_16 == answer["results"][1]["block_hit_rate"]
    assert sum(answer["reuse_time"]["blocks"]) == sum(answer["reuse_distance"]["blocks"])
    assert all(
        bar["parent"] is None or bar["parent"] < at for at, bar in enumerate(answer["prefix_tree"])
    )


def test_what_was_asked_beside_is_in_the_answer() -> None:
    """A second tier, lives that no use renews, keep-alive."""
    tiers = Question(capacities=blocks(5), second_tier=Capacity(blocks=15))
    (row,) = as_json(simulate(requests(), tiers), trace="t", unit="tokens")["results"]
    assert row["second_tier"]["capacity_blocks"] == 15
    assert 0 < row["second_tier"]["block_hit_rate"] < row["block_hit_rate"]
    (row,) = as_json(
        simulate(requests(), Question(ttls_s=(5.0,), refresh=False)), trace="t", unit="tokens"
    )["results"]
    assert row["refresh"] is False
    (row,) = as_json(
        simulate(requests(), Question(ttls_s=(5.0,), keep_alive=2)), trace="t", unit="tokens"
    )["results"]
    assert row["keep_alive"]["most_a_prompt"] == 2
    assert row["keep_alive"]["requests"] > 0


def test_a_trace_without_times_has_none_in_its_answer() -> None:
    """Order is enough for capacities, and not for times to live."""
    trace = [TraceRequest(r.block_ids, 4, r.prompt_tokens) for r in requests()]
    answer = as_json(simulate(trace, Question(capacities=blocks(4))), trace="t", unit="tokens")
    assert (answer["span_s"], answer["without_time"]) == (0.0, 120)
    assert set(answer["reuse_time"]["blocks"]) == {0}
    assert answer["results"][0]["block_hit_rate"] > 0
    with pytest.raises(UsageError, match="request 1 has no time, and a --ttl counts time"):
        simulate(trace, Question(ttls_s=(5.0,)))
