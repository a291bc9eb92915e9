"""Plans of pings: never worse than any other plan, and none where nothing is to be saved."""

import math
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.keepalive.gaps import GapEstimate, Gaps, PoissonGaps
from stemcache.prompt.keepalive.life import Life, life
from stemcache.prompt.keepalive.ping import ping
from stemcache.prompt.keepalive.plan import Plan, Stakes, plan, stakes, worth
from stemcache.prompt.keepalive.rates import rates
from stemcache.prompt.keepalive.ttl import options
from stemcache.provider.book import load_book
from stemcache.wire.api import Api

BOOK = load_book()
FIVE_MINUTES = Life(300.0, 300.0)
STAKES = Stakes(ping=0.1, cold=1.15, unit="usd")


def made(random: Random) -> Gaps:
    """Some gaps, short and long, of conversations that go on and that end."""
    seen = [random.choice([5.0, 60.0, 400.0, 700.0, 2_000.0]) * random.random() for _ in range(9)]
    return Gaps.of(seen, open_s=[random.random() * 900 for _ in range(3)], over=random.randrange(4))


def drawn(stakes: Stakes, gap_s: float, found: Plan, life: Life) -> float:
    """What a plan saves when the next request comes after `gap_s`: the dumb twin of the sum."""
    alive_s, spent = life.safe_s, 0.0
    for at_s in found.pings_s:
        if at_s >= gap_s:
            break
        spent += stakes.ping
        assert at_s <= alive_s, "a ping came too late"
        alive_s = at_s + life.safe_s
    saved = stakes.cold if life.gone_s < gap_s <= alive_s else 0.0
    return saved - spent


def test_no_number_of_pings_is_better_than_the_plan() -> None:
    """Brute force over counts, at the same spacing, on many random gaps and prices."""
    random = Random(1)
    for _ in range(400):
        gaps = made(random)
        stake = Stakes(ping=random.random() * 0.4, cold=random.random() * 2, unit="usd")
        margin_s = random.choice([0.0, 15.0, 120.0])
        found = plan(stake, gaps, FIVE_MINUTES, margin_s=margin_s)
        step_s = 300.0 - margin_s
        values = [
            worth(stake, gaps, FIVE_MINUTES, tuple(step_s * (i + 1) for i in range(count)))
            for count in range(40)
        ]
        assert found.expected == pytest.approx(max(values), abs=1e-12)
        assert worth(stake, gaps, FIVE_MINUTES, found.pings_s) == pytest.approx(found.expected)


def test_no_choice_of_moments_is_better_than_the_plan() -> None:
    """Brute force over all subsets of a grid of moments: early and uneven pings gain nothing."""
    random = Random(2)
    grid = [100.0 * step for step in range(1, 10)]
    for _ in range(12):
        gaps = made(random)
        stake = Stakes(ping=random.random() * 0.2, cold=1.0, unit="usd")
        found = plan(stake, gaps, FIVE_MINUTES, margin_s=0.0, most_pings=3)
        for count in range(4):
            for chosen in combinations(grid, count):
                assert worth(stake, gaps, FIVE_MINUTES, chosen) <= found.expected + 1e-12


def test_the_expectation_is_the_mean_over_the_gaps() -> None:
    """Without open gaps it is what the plan would have saved on average on those it is made of."""
    random = Random(3)
    for _ in range(100):
        seen = [random.random() * 1_500 for _ in range(20)]
        over = random.randrange(3)
        found = plan(STAKES, Gaps.of(seen, over=over), FIVE_MINUTES)
        outcomes = [drawn(STAKES, gap, found, FIVE_MINUTES) for gap in [*seen, *[math.inf] * over]]
        assert found.expected == pytest.approx(sum(outcomes) / len(outcomes))


def test_a_plan_made_again_is_the_rest_of_the_first() -> None:
    """Nothing is learned while nobody comes but that; so the optimum is consistent in time."""
    random = Random(4)
    replanned = 0
    for _ in range(300):
        gaps = made(random)
        found = plan(STAKES, gaps, FIVE_MINUTES)
        for number, at_s in enumerate(found.pings_s[:-1]):
            again = plan(STAKES, gaps, FIVE_MINUTES, idle_s=at_s, used_s=0.0)
            assert again.pings_s == pytest.approx(found.pings_s[number + 1 :])
            replanned += 1
    assert replanned > 50


def test_a_loss_at_first_is_taken_for_a_gain_behind_it() -> None:
    """A request surely comes after ten minutes: one ping alone saves nothing, two save much."""
    found = plan(STAKES, Gaps.of([600.0]), FIVE_MINUTES)
    assert found.pings_s == (285.0, 570.0)
    assert found.expected == pytest.approx(1.15 - 0.2)
    assert worth(STAKES, Gaps.of([600.0]), FIVE_MINUTES, (285.0,)) == pytest.approx(-0.1)


def test_pings_stop_when_the_session_is_likely_over() -> None:
    """Half of the gaps end within ten minutes, the others never."""
    found = plan(STAKES, Gaps.of([500.0] * 5, over=5), FIVE_MINUTES)
    assert found.pings_s == (285.0,)
    assert found.expected == pytest.approx(0.5 * 1.15 - 0.1)
    assert found.why == "1 ping, then the session is likely over"


@pytest.mark.parametrize(
    ("gaps", "changes", "why"),
    [
        (Gaps.of([10.0]), {}, "the next request is too unlikely to come in time"),
        (Gaps.of([10.0]), {"idle_s": 20.0}, "no request has ever come so late"),
        (Gaps.of([400.0]), {"used_s": 301.0}, "the prefix may be gone already; a ping would write"),
        (Gaps.of([400.0]), {"most_pings": 0}, "the budget is spent"),
    ],
)
def test_no_plan_says_why(gaps: Gaps, changes: dict[str, float], why: str) -> None:
    """In a sentence, with nothing expected."""
    found = plan(STAKES, gaps, FIVE_MINUTES, **changes)  # type: ignore[arg-type]  # floats and ints
    assert found.pings_s == ()
    assert found.expected == 0
    assert found.why.startswith(f"no ping: {why}")


def test_a_lifetime_without_an_end_is_not_kept_alive() -> None:
    """Where the provider states a minimum only, nothing is known to be saved."""
    found = plan(STAKES, Gaps.of([4_000.0]), Life(1_800.0, math.inf))
    assert found.why == (
        "no ping: the provider states no end of the lifetime; tell when entries go"
    )
    told = plan(STAKES, Gaps.of([3_000.0]), Life(1_800.0, 1_800.0))
    assert told.pings_s == (1_785.0,)


def test_a_doubtful_lifetime_counts_as_saved_only_behind_its_end() -> None:
    """Pings go by the low end, savings by the high one."""
    doubtful = Life(300.0, 600.0)
    assert plan(STAKES, Gaps.of([500.0]), doubtful).pings_s == ()
    assert plan(STAKES, Gaps.of([700.0]), doubtful).pings_s == (285.0, 570.0)


def test_somebody_elses_request_puts_the_ping_off() -> None:
    """Traffic keeps the prefix warm: the clock counts from its last use, whoever used it."""
    gaps = Gaps.of([900.0])
    own = plan(STAKES, gaps, FIVE_MINUTES, idle_s=200.0)
    others = plan(STAKES, gaps, FIVE_MINUTES, idle_s=200.0, used_s=10.0)
    assert own.pings_s[0] == 285.0
    assert others.pings_s[0] == 475.0
    assert others.expected > own.expected


def test_a_ping_that_is_due_is_due_now() -> None:
    """Within the margin, but not yet too late."""
    found = plan(STAKES, Gaps.of([500.0]), FIVE_MINUTES, idle_s=292.0)
    assert found.pings_s == (292.0,)


def test_free_pings_end_all_the_same() -> None:
    """The number of pings is bounded, whatever they cost."""
    free = replace(STAKES, ping=0.0)
    gaps = PoissonGaps(mean_gap_s=1e6, over=0.5)
    assert len(plan(free, gaps, FIVE_MINUTES, most_pings=50).pings_s) == 50


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin_s": 300.0}, "a margin of 300 s in a lifetime of 300 s"),
        ({"margin_s": -1.0}, "margin_s is -1.0; give a finite number from 0 on"),
        ({"idle_s": -5.0}, "idle_s is -5.0; give a finite number from 0 on"),
        ({"used_s": -2.0}, "used_s is -2.0; give a finite number from 0 on"),
    ],
)
def test_times_that_make_no_sense_are_refused(changes: dict[str, float], message: str) -> None:
    """With the value in the message."""
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        plan(STAKES, Gaps.of([400.0]), FIVE_MINUTES, **changes)  # type: ignore[arg-type]


def test_stakes_are_those_of_the_price_list() -> None:
    """100,000 tokens of Opus 4.5: a ping reads them and answers one token."""
    rule = BOOK.rule_for("anthropic", "claude-opus-4-5", marked=True)
    assert rule is not None
    paid = rates(rule, BOOK.price("anthropic", "claude-opus-4-5"))
    found = stakes(paid, 100_000, behind_tokens=10)
    assert found.unit == "usd"
    assert found.ping == pytest.approx((100_000 * 0.5 + 10 * 5 + 25) / 1e6)
    assert found.cold == pytest.approx(100_000 * (6.25 - 0.5) / 1e6)


def _asked(**changes: object) -> dict[str, object]:
    message = {"role": "user", "content": "Where?"}
    return {"model": "claude-opus-4-5", "max_tokens": 9_000, "messages": [message], **changes}


@pytest.mark.parametrize(
    ("body", "api", "answer_tokens"),
    [
        (_asked(), Api.MESSAGES, 0),
        (_asked(tool_choice={"type": "any"}), Api.MESSAGES, 1),
        (_asked(thinking={"type": "enabled", "budget_tokens": 8_000}), Api.MESSAGES, 8_001),
        ({"model": "m", "input": "Where?"}, Api.RESPONSES, 16),
    ],
)
def test_a_ping_counts_with_the_most_that_its_answer_can_cost(
    body: dict[str, object], api: Api, answer_tokens: int
) -> None:
    """As `ping` tells it, also where a budget of thoughts is all there is to pay."""
    rule = BOOK.rule_for("anthropic", "claude-opus-4-5", marked=True)
    assert rule is not None
    paid = rates(rule, BOOK.price("anthropic", "claude-opus-4-5"))
    found = stakes(paid, 100_000, ping=ping(body, api))
    assert found.ping == pytest.approx((100_000 * 0.5 + answer_tokens * 25) / 1e6)
    assert found == stakes(paid, 100_000, output_tokens=answer_tokens)


def test_a_ping_that_costs_a_budget_of_thoughts_is_not_sent() -> None:
    """What it saves is less than what it may think; without the ping nobody could tell."""
    rule = BOOK.rule_for("anthropic", "claude-opus-4-5", marked=True)
    assert rule is not None
    price = BOOK.price("anthropic", "claude-opus-4-5")
    gaps = Gaps.of([400.0, 20.0, 20.0])
    thinking = _asked(thinking={"type": "enabled", "budget_tokens": 30_000})
    dear, paid = ping(thinking, Api.MESSAGES), rates(rule, price)
    assert plan(stakes(paid, 100_000), gaps, life(rule)).pings_s
    assert not plan(stakes(paid, 100_000, ping=dear), gaps, life(rule)).pings_s
    for sent, pinged in ((None, True), (dear, False)):
        (found,) = options(
            rule,
            price,
            gaps,
            prefix_tokens=100_000,
            written_tokens=1_000,
            turns=9,
            ttls=["5m"],
            ping=sent,
        )
        assert bool(found.plan.pings_s) is pinged


def test_what_an_answer_costs_is_said_once() -> None:
    """By the ping or by a number; and a body is no ping."""
    paid = rates(BOOK.rule("anthropic", "claude-opus-4-5"), None)
    sent = ping(_asked(), Api.MESSAGES)
    with pytest.raises(UsageError, match=r"ping and output_tokens \(5\) are both given; give the"):
        stakes(paid, 5_000, ping=sent, output_tokens=5)
    with pytest.raises(UsageError, match=r"ping is of type dict; give what ping\(body, api\)"):
        stakes(paid, 5_000, ping=sent.body)  # type: ignore[arg-type]


def test_nothing_is_at_stake_below_the_minimum() -> None:
    """A prefix that the provider does not keep is not pinged."""
    rule = BOOK.rule_for("anthropic", "claude-opus-4-5", marked=True)
    assert rule is not None
    short = stakes(rates(rule, BOOK.price("anthropic", "claude-opus-4-5")), 4_095)
    assert short.cold == 0
    found = plan(short, Gaps.of([400.0]), life(rule))
    assert found.why == "no ping: a cold write costs no more than a read"


def test_without_a_price_tokens_decide_and_the_plan_says_so() -> None:
    """Factors of the rule, in input tokens."""
    rule = BOOK.rule_for("anthropic", "claude-unheard-of", marked=True)
    assert rule is not None
    stake = stakes(rates(rule, None), 10_000)
    assert [stake.ping, stake.cold] == pytest.approx([1_000.0, 11_500.0])
    assert plan(stake, Gaps.of([400.0]), life(rule)).unit == "input tokens"


def test_worth_is_nothing_once_no_request_can_come() -> None:
    """Where the estimate says that it is over."""
    assert worth(STAKES, Gaps.of([10.0]), FIVE_MINUTES, (285.0,), idle_s=20.0) == 0.0


@pytest.mark.parametrize("mean_gap_s", [200.0, 1_000.0, 10_000.0])
def test_pings_for_random_requests_go_on_as_long_as_the_first_pays(mean_gap_s: float) -> None:
    """Without memory every ping is like the first: either none pays or all do."""
    gaps: GapEstimate = PoissonGaps(mean_gap_s=mean_gap_s)
    found = plan(STAKES, gaps, FIVE_MINUTES, margin_s=0.0, most_pings=10)
    first = STAKES.cold * (gaps.later(300) - gaps.later(600)) - STAKES.ping * gaps.later(300)
    assert len(found.pings_s) == (10 if first > 0 else 0)
