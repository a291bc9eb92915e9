from random import Random
from statistics import mean

import pytest

from stemcache.replay.aggregate import (
    answered_per_s,
    asked_per_s,
    cached_shares,
    columns,
    error_kinds,
    spread,
    tenants,
    usage_hit_rate,
    whole,
)
from stemcache.replay.outcome import UNFINISHED
from tests.replay.made import outcome


def test_a_spread_is_of_what_is_known() -> None:
    """Percentiles lie between neighbours; nothing known is no spread."""
    values: list[float | None] = [0.4, None, 0.1, 0.3, 0.2, None]
    found = spread(values)
    assert found is not None
    assert (found.count, found.max) == (4, 0.4)
    assert [found.mean, found.p50, found.p90] == pytest.approx([0.25, 0.25, 0.37])
    assert spread([None]) is None
    assert spread([]) is None


def test_percentiles_are_those_of_a_plain_sort() -> None:
    """On random samples: between the two ranks around them, in proportion."""
    random = Random(5)
    for _ in range(50):
        sample = [random.expovariate(1) for _ in range(random.randint(1, 300))]
        found = spread(sample)
        assert found is not None
        ordered = sorted(sample)
        for percent, value in ((50, found.p50), (90, found.p90), (95, found.p95), (99, found.p99)):
            at = percent / 100 * (len(sample) - 1)
            low, high = ordered[int(at)], ordered[min(int(at) + 1, len(sample) - 1)]
            assert value == pytest.approx(low + (at - int(at)) * (high - low))
        assert found.mean == pytest.approx(mean(sample))


def test_a_hit_rate_is_tokens_over_tokens() -> None:
    """Not a mean of shares: long prompts count more."""
    found = usage_hit_rate([outcome(prompt=100, cached=0), outcome(prompt=10, cached=10)])
    assert found.hit_rate == pytest.approx(10 / 110)
    assert (found.prompt_tokens, found.cached_tokens, found.answers) == (110, 10, 2)
    assert (found.silent_answers, found.floor) == (0, None)


def test_answers_that_do_not_say_are_left_out_and_counted() -> None:
    """With the rate that would hold if they had hit nothing."""
    found = usage_hit_rate(
        [
            outcome(prompt=10, cached=5),
            outcome(prompt=30, cached=None),
            outcome(prompt=None, cached=None),
        ]
    )
    assert (found.hit_rate, found.answers, found.silent_answers) == (0.5, 1, 2)
    assert found.floor == pytest.approx(5 / 50)  # the last one was asked 10 tokens


def test_nothing_known_is_unknown() -> None:
    """And not zero."""
    for answered in ([], [outcome(cached=None)]):
        found = usage_hit_rate(answered)
        assert (found.hit_rate, found.floor) == (None, None)


def test_tenants_are_told_apart() -> None:
    """Most requests first; those given up count for nobody."""
    parts = tenants(
        [
            outcome(0, tenant="b", ttft=0.3, cached=5),
            outcome(1, tenant="a", ttft=0.1),
            outcome(2, tenant="a", error="http_500"),
            outcome(3, tenant="a", error=UNFINISHED),
            outcome(4, tenant=None),
        ]
    )
    assert [(part.tenant, part.requests, part.failed) for part in parts] == [
        ("a", 2, 1),
        ("b", 1, 0),
    ]
    assert [part.hit_rate for part in parts] == [0.0, 0.5]
    assert parts[1].ttft is not None
    assert parts[1].ttft.p50 == pytest.approx(0.3)
    assert tenants([outcome()]) == ()


def test_every_share_has_one_bucket() -> None:
    """Nothing at all is one of its own; upper ends are included."""
    cached = [0, 1, 25, 26, 50, 75, 76, 90, 91, 100]
    parts = cached_shares([outcome(n, prompt=100, cached=c) for n, c in enumerate(cached)])
    assert [(part.above, part.up_to, part.requests) for part in parts] == [
        (0.0, 0.0, 1),
        (0.0, 0.25, 2),
        (0.25, 0.5, 2),
        (0.5, 0.75, 1),
        (0.75, 0.9, 2),
        (0.9, 1.0, 2),
    ]
    assert cached_shares([outcome(cached=None)]) == ()


def test_errors_are_counted_by_kind_with_a_few_messages() -> None:
    """Each message once, at most three a kind; what the user ended is no error."""
    failures = [outcome(n, error="http_500", detail=f"m{n % 5}") for n in range(10)]
    failures += [outcome(0, error="refused", detail=None), outcome(0, error=UNFINISHED), outcome()]
    kinds = error_kinds(failures)
    assert [(each.kind, each.count, each.examples) for each in kinds] == [
        ("http_500", 10, ("m0", "m1", "m2")),
        ("refused", 1, ()),
    ]


def test_columns_are_in_the_order_of_numbers() -> None:
    """What failed has no latency in them, however far it came."""
    rows = columns(
        [outcome(2, due=2.0, ttft=0.25), outcome(0, error="dropped", ttft=0.1), outcome(1)]
    )
    assert list(rows["number"]) == [0, 1, 2]
    assert list(rows["ttft_s"]) == [None, 0.1, 0.25]
    assert list(rows["e2e_s"]) == [None, 0.5, 0.5]
    assert list(rows["failed"]) == [1, 0, 0]
    assert {len(column) for column in rows.values()} == {3}
    assert len(whole([outcome(), outcome(error="x")])) == 1


def test_a_target_that_keeps_up_answers_as_fast_as_it_is_asked() -> None:
    """Neither the wait for the first answer nor the drain counts against it in a short run."""
    outcomes = [outcome(n, due=n / 20, e2e=1.0) for n in range(41)]
    assert asked_per_s(outcomes) == pytest.approx(20.0)
    assert answered_per_s(outcomes) == pytest.approx(20.0)
    whole_window_s = outcomes[-1].end_s
    assert 41 / whole_window_s < 14


def test_a_target_that_falls_behind_answers_more_slowly_than_it_is_asked() -> None:
    """What it answers when nobody asks any more is not in the rate; nor are failures."""
    slow = [outcome(n, due=n / 20, e2e=(n + 1) / 5 - n / 20) for n in range(201)]
    assert (asked_per_s(slow), answered_per_s(slow)) == pytest.approx((20.0, 5.0), rel=0.02)
    failing = [outcome(n, due=n / 20, error="http_500" if n % 2 else None) for n in range(201)]
    assert answered_per_s(failing) == pytest.approx(10.0, rel=0.02)


def test_a_rate_of_few_answers_is_unknown() -> None:
    """And so is that of requests that were due at once."""
    assert answered_per_s([outcome(n, due=n / 20, e2e=9.0) for n in range(50)]) is None
    assert asked_per_s([outcome(0), outcome(1)]) is None
    assert (asked_per_s([]), answered_per_s([])) == (None, None)
