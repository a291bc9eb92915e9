"""When a compaction pays back: beside adding up turn by turn, and at the ends."""

import math
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.compaction.plan import Compaction, best_high, payback
from stemcache.prompt.compaction.turns import Turns
from stemcache.prompt.keepalive.rates import Rates, rates
from stemcache.provider.book import load_book

BOOK = load_book()
_RULE = BOOK.rule_for("anthropic", "claude-opus-4-5", marked=True)
assert _RULE is not None
RULE = _RULE
PAID = rates(RULE, BOOK.price("anthropic", "claude-opus-4-5"))
STEP = Compaction(fixed=17_000, history=120_000, kept=6_000, summary=2_000)


def summed(step: Compaction, paid: Rates, turns: int, *, warm_now: bool = True) -> float:
    """What is saved over so many turns, the first of them the next: one turn at a time."""

    def turn(prefix: int, *, warm: bool) -> float:
        return paid.warm(prefix) if warm else paid.cold(prefix)

    without = turn(step.before, warm=warm_now)
    without += sum(turn(step.before, warm=True) for _ in range(turns - 1))
    done = 0.0
    fixed_is_there = warm_now
    if step.summary:
        done += turn(step.before, warm=warm_now) + step.instruction * paid.plain
        done += paid.answer(step.summary)
        fixed_is_there = True
    done += turn(step.fixed, warm=fixed_is_there) + paid.cold(step.after) - paid.cold(step.fixed)
    done += sum(turn(step.after, warm=True) for _ in range(turns - 1))
    return without - done


def test_it_is_what_turns_add_up_to() -> None:
    """For any lengths above the minimum, with and without a summary, warm and cold."""
    random = Random(1)
    for _ in range(300):
        history = random.randrange(20_000, 200_000)
        step = Compaction(
            fixed=random.randrange(5_000, 30_000),
            history=history,
            kept=random.randrange(history),
            summary=random.choice([0, 500, 4_000]),
        )
        turns, warm = random.randrange(1, 60), random.random() < 0.5
        told = payback(step, PAID, turns=turns, warm_now=warm)
        assert told.expected == pytest.approx(summed(step, PAID, turns, warm_now=warm))


def test_what_the_next_turn_adds_cancels() -> None:
    """Where all lengths are kept: it is written behind either prefix, and read behind it after."""
    for warm in (True, False):
        bare = payback(STEP, PAID, turns=50, warm_now=warm)
        more = payback(STEP, PAID, turns=50, warm_now=warm, added=7_000)
        assert more.expected == pytest.approx(bare.expected)
        assert more.cost == pytest.approx(bare.cost)
        assert more.least_a_turn == pytest.approx(bare.saving_a_turn)


def test_below_the_minimum_the_worst_is_counted() -> None:
    """8,000 tokens are read for 800, and up to 4,096 paid in full: each turn may lose."""
    told = payback(Compaction(fixed=0, history=4_000, kept=0), PAID, turns=50, added=4_000)
    assert told.least_a_turn == pytest.approx(8_000 * PAID.read - 4_096 * PAID.plain)
    assert not told.pays
    far = payback(Compaction(fixed=0, history=80_000, kept=0), PAID, turns=50, added=4_000)
    assert far.least_a_turn == pytest.approx(84_000 * PAID.read - 4_096 * PAID.plain)
    assert far.pays


def test_of_stored_units_none_need_end_at_what_stays() -> None:
    """DeepSeek stores where prompts part, so what stands before the history is written anew."""
    rule = BOOK.rule_for("deepseek", "deepseek-v4-flash", marked=True)
    assert rule is not None
    paid = rates(rule, BOOK.price("deepseek", "deepseek-v4-flash"))
    step = Compaction(fixed=6_400, history=64_000, kept=0)
    assert payback(step, paid, turns=9).cost == pytest.approx(paid.cold(6_400) - paid.warm(70_400))


def test_it_pays_from_the_turn_that_it_names() -> None:
    """Not one turn before, and not later."""
    told = payback(STEP, PAID, turns=50)
    whole = math.ceil(told.turns_to_pay)
    assert summed(STEP, PAID, whole) >= 0 > summed(STEP, PAID, whole - 1)
    assert whole == 3
    assert told.pays
    assert told.chance is None
    assert told.unit == "usd"


def test_the_costs_are_those_of_the_list() -> None:
    """The call reads all and answers; the next turn writes 8,000 and reads no 120,000."""
    told = payback(STEP, PAID, turns=50)
    call = 137_000 * 0.5 + 200 * 5 + 2_000 * 25
    turn = 17_000 * 0.5 + 8_000 * 6.25 - 137_000 * 0.5
    assert told.cost == pytest.approx((call + turn) / 1e6)
    assert told.saving_a_turn == pytest.approx(112_000 * 0.5 / 1e6)


def test_a_conversation_about_to_end_is_not_compacted() -> None:
    """The cost is certain, and nothing comes of it."""
    assert not payback(STEP, PAID, turns=1).pays
    over = payback(STEP, PAID, turns=0)
    assert over.expected == -over.cost


def test_cold_turns_make_it_worth_more() -> None:
    """They write all of their prefix."""
    some = payback(STEP, PAID, turns=50, cold=0.2)
    none = payback(STEP, PAID, turns=50)
    assert some.saving_a_turn == pytest.approx(
        0.8 * none.saving_a_turn + 0.2 * 112_000 * 6.25 / 1e6
    )


def test_dropping_while_it_is_cold_anyway_costs_nothing() -> None:
    """The next turn writes less than it would have: it pays at once."""
    told = payback(
        Compaction(fixed=17_000, history=120_000, kept=20_000), PAID, turns=1, warm_now=False
    )
    assert told.cost < 0
    assert told.turns_to_pay == 1
    assert told.pays


def test_a_compaction_that_saves_nothing_never_pays() -> None:
    """A summary longer than what it replaces."""
    told = payback(
        Compaction(fixed=17_000, history=9_000, kept=8_000, summary=3_000), PAID, turns=1_000
    )
    assert math.isinf(told.turns_to_pay)
    assert not told.pays


def test_turns_to_come_are_learned_from_turns_that_were() -> None:
    """With the chance that it lasts as long as it takes."""
    turns = Turns.of([5, 5, 40, 60])
    told = payback(STEP, PAID, turns=turns, done=10)
    assert told.expected == pytest.approx(payback(STEP, PAID, turns=40.0).expected)
    assert told.chance == 1.0
    late = payback(STEP, PAID, turns=turns, done=38)
    assert late.chance == 0.5
    never = payback(
        Compaction(fixed=17_000, history=9_000, kept=9_000, summary=1), PAID, turns=turns
    )
    assert never.chance == 0.0


def test_without_a_price_answers_are_not_counted_and_it_says_so() -> None:
    """The rest is in input tokens."""
    told = payback(STEP, rates(RULE, None), turns=50)
    assert (told.unit, told.counts_answers) == ("input tokens", False)
    dropping = Compaction(fixed=17_000, history=120_000, kept=6_000)
    assert payback(dropping, rates(RULE, None), turns=50).counts_answers


@pytest.mark.parametrize(
    "changes",
    [{"fixed": -1}, {"kept": 121_000}, {"summary": -1}, {"instruction": -1}],
)
def test_lengths_that_make_no_sense_are_refused(changes: dict[str, int]) -> None:
    """More kept than there is, and less than nothing."""
    with pytest.raises(UsageError, match=r"keep no more than there is|of a Compaction is -1; give"):
        Compaction(**{"fixed": 0, "history": 120_000, "kept": 0, **changes})


@pytest.mark.parametrize(("turns", "cold"), [(-1.0, 0.0), (math.nan, 0.0), (5.0, 1.5), (5.0, -1.0)])
def test_turns_that_make_no_sense_are_refused(turns: float, cold: float) -> None:
    """As are shares that are none."""
    with pytest.raises(UsageError, match="added is -1; give a finite number from 0 on"):
        payback(STEP, PAID, turns=5, added=-1)
    with pytest.raises(UsageError, match=r"(turns|cold) is .*; give a finite number from 0"):
        payback(STEP, PAID, turns=turns, cold=cold)


def per_turn(paid: Rates, *, fixed: int, low: int, high: int, growth: int, summary: int) -> float:
    """The mean cost of a turn over a hundred cycles, turn by turn."""
    usd, turns, length, fresh = 0.0, 0, low, False
    for _ in range(100):
        while length < high:
            prefix = fixed + length
            usd += (
                paid.warm(fixed) + paid.cold(prefix) - paid.cold(fixed)
                if fresh
                else paid.warm(prefix)
            )
            fresh = False
            turns += 1
            length += growth
        if summary:
            usd += paid.warm(fixed + length) + 200 * paid.plain + paid.answer(summary)
        length, fresh = low, True
    return usd / turns


def test_the_best_high_mark_is_the_best_of_all() -> None:
    """Beside a hundred cycles played for every mark."""
    random = Random(2)
    for _ in range(25):
        low = random.randrange(2_000, 20_000)
        growth = random.randrange(500, 4_000)
        summary = random.choice([0, 1_000])
        fixed = random.randrange(5_000, 30_000)
        limit = low + random.randrange(30, 60) * growth
        found = best_high(PAID, fixed=fixed, low=low, growth=growth, limit=limit, summary=summary)

        def cost(
            high: int,
            low: int = low,
            fixed: int = fixed,
            growth: int = growth,
            summary: int = summary,
        ) -> float:
            return per_turn(PAID, fixed=fixed, low=low, high=high, growth=growth, summary=summary)

        best = min(cost(high) for high in range(low + growth, limit + 1, growth))
        assert cost(found) <= best * 1.003  # the first cycle of the twin begins without a write


def test_cheaper_reads_put_the_mark_higher() -> None:
    """Long histories cost less, so they are kept longer."""
    rule = BOOK.rule_for("anthropic", "claude-opus-5-5", marked=True)
    assert rule is not None
    cheap = rates(rule, BOOK.price("anthropic", "claude-opus-5-5"))

    def mark(paid: Rates) -> int:
        return best_high(paid, fixed=17_000, low=12_000, growth=1_000, limit=180_000, summary=2_000)

    assert mark(cheap) > mark(PAID) > 12_000


@pytest.mark.parametrize(
    "changes", [{"limit": 12_000}, {"growth": 0}, {"summary": 13_000}, {"low": -1}]
)
def test_marks_that_make_no_sense_are_refused(changes: dict[str, int]) -> None:
    """With all of them in the message."""
    with pytest.raises(
        UsageError, match=r"give a limit above the low mark, a growth, and a|low is -1; give"
    ):
        best_high(
            PAID,
            **{"fixed": 0, "low": 12_000, "growth": 1_000, "limit": 100_000, **changes},
        )
