"""Sums over a log: what is counted, what is left out, and what a missing figure does to them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.spend import Spend
from stemcache.lint.tally import Tally
from stemcache.lint.timing import Label
from stemcache.provider.price import Cost
from stemcache.provider.usage import Usage
from stemcache.trace.calls.call import Call, Fidelity, Place


def _call(**others: Any) -> Call:
    given = {
        "place": Place("log.jsonl", 1),
        "api": None,
        "body": None,
        "fidelity": Fidelity.USAGE_ONLY,
    }
    return Call(**{**given, **others})


def _usage(prompt: int | None, read: int | None, **others: int | None) -> Usage:
    return Usage(prompt_tokens=prompt, read_tokens=read, **others)  # type: ignore[arg-type]  # counts


def test_empty_log_has_no_figures() -> None:
    """Where nothing was seen nothing is zero but the counts."""
    total = Tally().total(repeated=0, skipped={})
    assert (total.calls, total.prompt_tokens, total.lost_tokens) == (0, 0, 0)
    assert total.read_tokens is None
    assert total.cost_usd is None
    assert total.input_cost_usd is None
    assert total.span_s is None
    assert total.hit_rate is None
    assert total.attainable_hit_rate is None


def test_calls_are_counted_by_fidelity_and_route() -> None:
    """Every call counts; a route is named once, in order."""
    tally = Tally()
    tally.seen(_call(route="b"))
    tally.seen(_call(route="a", fidelity=Fidelity.WIRE))
    tally.seen(_call(route="b"))
    total = tally.total(repeated=4, skipped={})
    assert total.calls == 3
    assert total.repeated == 4
    assert total.routes == ("a", "b")
    assert total.fidelities == {"usage-only": 2, "wire": 1}


def test_routes_are_bounded() -> None:
    """A log that names every call's route anew does not fill the memory."""
    tally = Tally()
    for number in range(1_500):
        tally.seen(_call(route=f"route-{number}"))
    assert len(tally.total(repeated=0, skipped={}).routes) == 1_000


def test_span_is_from_the_first_to_the_last_call_in_any_order() -> None:
    """A log need not be in the order of time, and some calls have none."""
    tally = Tally()
    for time_s in (150.0, None, 100.0, 130.0):
        tally.seen(_call(time_s=time_s))
    assert tally.total(repeated=0, skipped={}).span_s == 50.0


def test_span_of_times_that_begin_at_zero() -> None:
    """Times counted from the first call are times like any, the zero among them."""
    tally = Tally()
    for time_s in (0.0, 10.0, 20.0):
        tally.seen(_call(time_s=time_s))
    assert tally.total(repeated=0, skipped={}).span_s == 20.0


def test_span_of_times_before_the_epoch() -> None:
    """A clock that is wrong says how long it took all the same."""
    tally = Tally()
    for time_s in (-30.0, -10.0, 0.0):
        tally.seen(_call(time_s=time_s))
    assert tally.total(repeated=0, skipped={}).span_s == 30.0


def test_estimated_and_reported_prompts_are_told_apart() -> None:
    """Tokens that were estimated are in the sum, and not among those that were reported."""
    tally = Tally()
    tally.used(_usage(1_000, 400), read_tokens=400, prompt_tokens=1_000, lost_tokens=100)
    tally.used(_usage(None, None), read_tokens=50, prompt_tokens=300, lost_tokens=0)
    tally.used(_usage(200, None), read_tokens=0, prompt_tokens=200, lost_tokens=7)
    total = tally.total(repeated=0, skipped={})
    assert total.prompt_tokens == 1_500
    assert total.prompt_tokens_reported == 1_200
    assert total.read_tokens == 450
    assert total.lost_tokens == 107
    assert total.attainable_tokens == 557
    assert (tally.estimated, tally.predicted) == (1, 2)


def test_attainable_is_never_more_than_was_sent() -> None:
    """Estimates may add up to more than the prompts; a rate above one is never said."""
    tally = Tally()
    tally.used(_usage(100, 90), read_tokens=90, prompt_tokens=100, lost_tokens=50)
    total = tally.total(repeated=0, skipped={})
    assert total.attainable_tokens == 100
    assert total.attainable_hit_rate == 1.0


def test_written_and_output_tokens_add_up_where_reported() -> None:
    """What is not reported adds nothing."""
    tally = Tally()
    tally.used(
        _usage(100, 0, written_tokens=80, output_tokens=9),
        read_tokens=0,
        prompt_tokens=100,
        lost_tokens=0,
    )
    tally.used(_usage(100, 0), read_tokens=0, prompt_tokens=100, lost_tokens=0)
    total = tally.total(repeated=0, skipped={})
    assert (total.written_tokens, total.output_tokens) == (80, 9)


def test_money_is_summed_over_priced_calls_only() -> None:
    """Calls without a price are counted, and make no sum."""
    tally = Tally()
    tally.paid(Spend(Cost(plain_usd=1.0, read_usd=0.5, write_usd=0.25, output_usd=2.0), 0.0))
    tally.paid(Spend(Cost(plain_usd=1.0, read_usd=0.0, write_usd=0.0, output_usd=None), 0.0))
    tally.paid(Spend(None, None))
    total = tally.total(repeated=0, skipped={})
    assert (total.priced_calls, total.unpriced_calls) == (2, 1)
    assert total.input_cost_usd == 2.75
    assert total.cost_usd == 4.75


def test_no_priced_call_means_no_sum_of_money() -> None:
    """Unknown is not zero."""
    tally = Tally()
    tally.paid(Spend(None, None))
    total = tally.total(repeated=0, skipped={})
    assert total.cost_usd is None
    assert total.input_cost_usd is None
    assert total.unpriced_calls == 1


def test_models_without_a_price_are_named_the_most_frequent_first() -> None:
    """A bounded number of bounded names, however many the log has."""
    tally = Tally()
    for name in ("b", "a", "a"):
        tally.paid(Spend(None, None), unpriced=name)
    assert tally.total(repeated=0, skipped={}).unpriced_models == ("a", "b")
    for n in range(5_000):
        tally.paid(Spend(None, None), unpriced=f"m{n:04}" * 1_000)
    names = tally.total(repeated=0, skipped={}).unpriced_models
    assert (names[0], len(names), max(map(len, names))) == ("a", 100, 200)


def test_skipped_lines_of_reader_and_analysis_add_up() -> None:
    """A reason that both have is counted together."""
    tally = Tally()
    tally.skipped["the JSON nests too deep"] += 1
    total = tally.total(repeated=0, skipped={"the JSON nests too deep": 2, "no JSON": 5})
    assert total.skipped == {"the JSON nests too deep": 3, "no JSON": 5}


def test_prediction_that_is_met_is_exact() -> None:
    """No gap, no label."""
    tally = Tally()
    tally.compared(500, 500, [], unseen=False)
    found = tally.reconciliation()
    assert (found.calls, found.exact) == (1, 1)
    assert found.remainder == {}


def test_rounding_counts_as_agreement() -> None:
    """What stays within the tolerance is no disagreement, in either direction."""
    tally = Tally()
    tally.compared(500, 470, [("rounding", 30)], unseen=False)
    tally.compared(500, 520, [], unseen=False)
    found = tally.reconciliation()
    assert found.exact == 2
    assert found.remainder == {"rounding": 10}
    assert found.calls_by_label == {"rounding": 2}


def test_more_than_was_predicted_is_unseen_traffic() -> None:
    """What somebody else wrote is counted below zero, and is no agreement."""
    tally = Tally()
    tally.compared(100, 900, [], unseen=True)
    found = tally.reconciliation()
    assert found.exact == 0
    assert found.remainder == {"unseen-traffic": -800}


LABELS = st.sampled_from(["expired", "raced", "routed", "unexplained", "rounding"])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**6), st.lists(st.tuples(LABELS, st.integers(1, 10**5))), st.booleans()
        )
    )
)
def test_remainder_by_label_is_predicted_less_reported(
    calls: list[tuple[int, list[tuple[Label, int]], bool]],
) -> None:
    """Whatever is compared, the labels add up to the difference of both sums."""
    tally = Tally()
    for reported, parts, unseen in calls:
        gap = sum(tokens for _, tokens in parts)
        tally.compared(reported + gap, reported, parts, unseen=False)
        tally.compared(reported, reported + gap, [], unseen=unseen)
    found = tally.reconciliation()
    assert found.calls == 2 * len(calls)
    assert sum(found.remainder.values()) == found.predicted_tokens - found.reported_tokens
    assert found.exact <= found.calls
