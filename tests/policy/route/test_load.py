"""One seat's load: what is in flight, what waits, and what the rates learn of it."""

from random import Random
from typing import Any

import pytest

from stemcache.policy.route.contract import Ask, View
from stemcache.policy.route.load import Load, Sent
from stemcache.policy.route.predict import tidy
from stemcache.policy.route.rates import FleetRates


def look(load: Load, *, now_s: float, gateways: int = 1) -> View:
    """The seat as a policy would see it."""
    return load.view("a", cached_tokens=0, slow_tokens=0, now_s=now_s, gateways=gateways)


def test_a_request_is_in_flight_until_done_and_waits_until_its_first_token() -> None:
    """Two counts that end at different times."""
    load = Load()
    sent = load.sent(1000, 400, now_s=0.0)
    assert (load.in_flight, load.waiting_tokens) == (1, 400)

    load.first(sent, now_s=0.1)
    assert (load.in_flight, load.waiting_tokens) == (1, 0)

    load.done(sent, now_s=0.2, streamed=True, computed_tokens=400, output_tokens=5)
    assert (load.in_flight, load.waiting_tokens) == (0, 0)


def test_ends_are_counted_once() -> None:
    """A gateway may report an end, a loss and a first token in any order."""
    load = Load()
    sent = load.sent(1000, 400, now_s=0.0)
    for _ in range(3):
        load.done(sent, now_s=0.2, streamed=False, computed_tokens=None, output_tokens=None)
        load.lost(sent, now_s=0.2)
        load.first(sent, now_s=0.2)

    assert (load.in_flight, load.waiting_tokens) == (0, 0)


def test_a_lost_request_frees_its_place_and_teaches_nothing() -> None:
    """What was refused says nothing of how long a prefill takes."""
    fleet = FleetRates()
    load = Load(fleet)
    load.lost(load.sent(1000, 400, now_s=0.0), now_s=9.0)

    assert (load.in_flight, load.waiting_tokens, fleet.requests) == (0, 0, 0.0)


def test_only_streams_teach_rates() -> None:
    """The end of an answer that does not stream says when it was complete, not when it began."""
    fleet = FleetRates()
    load = Load(fleet)
    plain = load.sent(1000, 400, now_s=0.0, streams=False)
    load.done(plain, now_s=5.0, streamed=False, computed_tokens=400, output_tokens=99)
    assert fleet.requests == 0.0

    stream = load.sent(1000, 400, now_s=6.0)
    load.first(stream, now_s=6.1)
    load.done(stream, now_s=7.0, streamed=True, computed_tokens=400, output_tokens=11)
    assert fleet.requests == 1.0
    assert fleet.decode_s == pytest.approx(0.09)


def test_a_prompt_that_does_not_stream_leaves_the_queue_when_it_should_have_been_computed() -> None:
    """Its first token is not seen; at the rate assumed, 10,000 tokens take a second."""
    load = Load()
    load.sent(10_000, 10_000, now_s=0.0, streams=False)

    assert look(load, now_s=0.0).waiting_tokens == 10_000
    assert look(load, now_s=0.5).waiting_tokens == 5_000
    assert look(load, now_s=1.5).waiting_tokens == 0
    assert look(load, now_s=1.5).in_flight == 1


def test_an_answer_that_does_not_stream_takes_its_prompt_out_of_the_queue() -> None:
    """Whatever the rates say, as they may be wrong: with nothing in flight nothing waits."""
    load = Load()
    sent = load.sent(25_000, 25_000, now_s=0.0, streams=False)
    load.done(sent, now_s=0.6, streamed=False, computed_tokens=25_000, output_tokens=1)
    view = look(load, now_s=0.6)

    assert (view.in_flight, view.waiting_tokens) == (0, 0)
    assert load.sent(100, 100, now_s=0.6).ahead_tokens == 0.0


def test_a_lost_request_that_does_not_stream_leaves_no_queue() -> None:
    """Its client has left: the engine does not compute it either."""
    load = Load()
    first = load.sent(10_000, 10_000, now_s=0.0, streams=False)
    load.sent(5_000, 5_000, now_s=0.1, streams=False)
    load.lost(first, now_s=0.2)

    assert look(load, now_s=0.2).waiting_tokens == 5_000
    assert look(load, now_s=0.5).waiting_tokens == pytest.approx(2_000, abs=1)


def test_an_answer_takes_its_own_prompt_out_and_leaves_the_others() -> None:
    """The next begins when the oldest ends; answers may come in any order."""
    load = Load()
    first, second, _ = (load.sent(10_000, 10_000, now_s=0.0, streams=False) for _ in range(3))
    assert look(load, now_s=0.5).waiting_tokens == 25_000
    load.done(second, now_s=0.5, streamed=False, computed_tokens=10_000, output_tokens=1)
    assert look(load, now_s=0.5).waiting_tokens == 15_000
    load.done(first, now_s=0.6, streamed=False, computed_tokens=10_000, output_tokens=1)

    assert look(load, now_s=0.6).waiting_tokens == 10_000
    assert look(load, now_s=1.1).waiting_tokens == pytest.approx(5_000, abs=1)
    assert look(load, now_s=1.7).waiting_tokens == 0
    assert look(load, now_s=1.7).in_flight == 1


def test_a_queue_of_plain_prompts_is_counted_by_what_is_known_now() -> None:
    """Rates that are learned meanwhile shorten it, and one sent after a pause begins then."""
    fleet = FleetRates()
    load, other = Load(fleet), Load(fleet)
    load.sent(10_000, 10_000, now_s=0.0, streams=False)
    assert look(load, now_s=0.2).waiting_tokens == 8_000
    for _ in range(100):  # a tenth of what is assumed: 10 us a token
        other.rates.observe(0.1, tokens=10_000, ahead=0, others=0, now_s=0.2)
        other.rates.observe(0.001, tokens=10, ahead=0, others=0, now_s=0.2)
    assert look(load, now_s=0.3).waiting_tokens == 0
    load.sent(10_000, 10_000, now_s=5.0, streams=False)
    assert look(load, now_s=5.0).waiting_tokens == 10_000


@pytest.mark.parametrize("seed", range(4))
def test_with_nothing_in_flight_nothing_waits(seed: int) -> None:
    """In whatever order requests of both kinds begin, are seen and end."""
    rng = Random(seed)
    load, now_s = Load(), 0.0
    flights: list[Sent] = []
    for _ in range(600):
        now_s += rng.choice((0.0, 0.001, 0.05, 1.0))
        if rng.random() < 0.5 and len(flights) < 6:
            tokens = rng.randrange(20_000)
            flights.append(load.sent(tokens, tokens, now_s=now_s, streams=rng.random() < 0.4))
        elif flights:
            sent = flights.pop(rng.randrange(len(flights)))
            if rng.random() < 0.3:
                load.lost(sent, now_s=now_s)
            else:
                load.first(sent, now_s=now_s)
                load.done(
                    sent, now_s=now_s, streamed=False, computed_tokens=None, output_tokens=None
                )
        view = look(load, now_s=now_s)
        waiting = sum(sent.computed_tokens for sent in flights)
        assert 0 <= view.waiting_tokens <= waiting
        assert view.in_flight == len(flights)


def test_utilization_ends_with_the_answer_of_what_does_not_stream() -> None:
    """What is answered is not computed any more, however slow it is taken to be."""
    load = Load()
    sent = load.sent(100_000, 100_000, now_s=0.0, streams=False)
    load.done(sent, now_s=0.5, streamed=False, computed_tokens=100_000, output_tokens=1)
    busy = look(load, now_s=0.5).utilization
    assert 0.0 < look(load, now_s=10.5).utilization < 0.5 * busy < 0.05


def test_the_prompt_that_is_being_computed_counts_for_what_is_left_of_it() -> None:
    """Never for nothing while its first token has not come, and others wait in full."""
    load = Load()
    load.sent(10_000, 10_000, now_s=0.0)
    load.sent(2_000, 2_000, now_s=0.1)

    assert look(load, now_s=0.5).waiting_tokens == 7_000
    assert look(load, now_s=60.0).waiting_tokens == 3_000


def test_reported_tokens_correct_what_was_predicted() -> None:
    """Fresh tokens are those that were computed, not those that were expected to be."""
    load = Load()
    sent = load.sent(1000, 400, now_s=0.0)
    assert look(load, now_s=0.0).fresh_tokens == 400

    load.done(sent, now_s=0.0, streamed=False, computed_tokens=1000, output_tokens=None)
    assert look(load, now_s=0.0).fresh_tokens == 1000


def test_unknown_tokens_are_not_none_computed() -> None:
    """A missing report leaves the prediction as it is."""
    load = Load()
    sent = load.sent(1000, 400, now_s=0.0)
    load.done(sent, now_s=0.0, streamed=False, computed_tokens=None, output_tokens=None)

    assert look(load, now_s=0.0).fresh_tokens == 400


def test_work_fades_and_fresh_tokens_fade_more_slowly() -> None:
    """A minute later a third of the work counts, and nine tenths of the tokens."""
    load = Load()
    load.lost(load.sent(1000, 1000, now_s=0.0), now_s=0.0)
    now, later = look(load, now_s=0.0), look(load, now_s=60.0)

    assert now.recent_s == pytest.approx(0.05 + 0.1)
    assert later.recent_s == pytest.approx(0.15 * 0.3679, rel=1e-3)
    assert later.fresh_tokens == pytest.approx(1000 * 0.9048, rel=1e-3)


def test_utilization_is_the_share_of_time_with_prompts_to_compute() -> None:
    """Over some ten seconds."""
    load = Load()
    sent = load.sent(100, 100, now_s=0.0)
    load.first(sent, now_s=100.0)
    assert look(load, now_s=100.0).utilization == pytest.approx(1.0, abs=1e-3)
    assert look(load, now_s=110.0).utilization == pytest.approx(0.3679, abs=1e-3)


def test_loads_are_taken_times_the_gateways() -> None:
    """Each sees its part of them."""
    load = Load()
    load.sent(1000, 400, now_s=0.0)
    view = look(load, now_s=0.0, gateways=3)

    assert (view.in_flight, view.waiting_tokens, view.fresh_tokens) == (3, 1200, 1200.0)


def test_figures_that_make_no_sense_do_no_harm() -> None:
    """Negative tokens, more computed than asked, a clock that goes back."""
    load = Load()
    sent = load.sent(-5, 10**30, now_s=10.0)
    load.first(sent, now_s=5.0)
    load.done(sent, now_s=1.0, streamed=True, computed_tokens=-7, output_tokens=-1)
    view = look(load, now_s=0.0)

    assert (view.in_flight, view.waiting_tokens) == (0, 0)
    assert view.recent_s >= 0.0
    assert view.fresh_tokens >= 0.0


def test_what_a_restarted_replica_held_presses_its_cache_no_more() -> None:
    """It is empty, and new prompts may come to it first."""
    load = Load()
    load.sent(1000, 1000, now_s=0.0)
    load.restarted()

    assert look(load, now_s=0.0).fresh_tokens == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_a_view_that_is_kept_says_what_a_new_one_would(seed: int) -> None:
    """Whatever happens to the seat between two looks, and however many gateways there are."""
    rng = Random(seed)
    load, twin = Load(), Load()
    kept = load.view("a", cached_tokens=7, slow_tokens=3, now_s=0.0, weight=2.0)
    flights: list[tuple[Sent, Sent]] = []
    now_s = 0.0
    for _ in range(400):
        now_s += rng.choice((0.0, 0.001, 0.03, 2.0))
        what = rng.randrange(5)
        if what == 0:
            tokens, streams = rng.randrange(5_000), rng.random() < 0.5
            one, other = (
                each.sent(5_000, tokens, now_s=now_s, streams=streams) for each in (load, twin)
            )
            flights.append((one, other))
        elif what == 1 and flights:
            for each, sent in zip((load, twin), rng.choice(flights), strict=True):
                each.first(sent, now_s=now_s)
        elif what == 2 and flights:
            ended = flights.pop(rng.randrange(len(flights)))
            computed = rng.choice((None, 40))
            for each, sent in zip((load, twin), ended, strict=True):
                each.done(
                    sent, now_s=now_s, streamed=True, computed_tokens=computed, output_tokens=5
                )
        elif what == 3 and rng.random() < 0.1:
            load.restarted()
            twin.restarted()
        load.look(kept, now_s=now_s)
        given = {"cached_tokens": 7, "slow_tokens": 3, "weight": 2.0}
        assert kept == twin.view("a", now_s=now_s, **given)  # type: ignore[arg-type]


def test_a_look_vouches_for_its_figures() -> None:
    """Policies need not check them again."""
    load = Load()
    load.first(load.sent(1000, 400, now_s=0.0), now_s=0.1)
    assert look(load, now_s=0.2).tidy
    assert look(load, now_s=5.0, gateways=3).tidy


@pytest.mark.parametrize(
    "figures",
    [
        {"cached_tokens": -1},
        {"slow_tokens": -5},
        {"held_tokens": -1},
        {"held_tokens": 10**16},
        {"cached_tokens": 10**400},
        {"weight": 0.0},
        {"weight": float("nan")},
        {"weight": float("inf")},
        {"capacity_tokens": 0},
        {"capacity_tokens": 10**16},
    ],
)
def test_a_look_does_not_vouch_for_figures_that_make_no_sense(figures: dict[str, Any]) -> None:
    """Whoever gave them: a policy takes them for nothing."""
    given: dict[str, Any] = {"cached_tokens": 0, "slow_tokens": 0, **figures}
    view = Load().view("a", now_s=0.0, **given)
    assert not view.tidy
    _, (tidied,) = tidy(Ask(100), [view])
    assert tidied is not view
    assert 0 <= tidied.cached_tokens + tidied.held_tokens + tidied.slow_tokens <= 10**15
    assert 0.0 < tidied.weight <= 1.0


def test_a_prompt_of_impossible_length_does_not_end_in_an_error() -> None:
    """Whatever a client or a replica claims."""
    load = Load()
    sent = load.sent(10**400, 10**400, now_s=0.0)
    assert load.waiting_tokens == 10**9
    load.done(sent, now_s=0.2, streamed=True, computed_tokens=10**400, output_tokens=10**400)
    assert look(load, now_s=0.3).tidy
