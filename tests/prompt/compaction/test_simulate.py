"""Strategies, and conversations played under them against the provider's cache."""

import math
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.compaction.simulate import Played, Turn, play_turns
from stemcache.prompt.compaction.strategy import (
    Never,
    Paying,
    Rolling,
    Standing,
    Strategy,
    Watermark,
)
from stemcache.prompt.compaction.turns import Turns
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.provider.book import load_book

BOOK = load_book()
_RULE = BOOK.rule_for("anthropic", "claude-opus-4-5", marked=True)
_PRICE = BOOK.price("anthropic", "claude-opus-4-5")
assert _RULE is not None
assert _PRICE is not None
RULE, PRICE = _RULE, _PRICE
FREE = Ledger(share=math.inf)
READ, WRITE, PLAIN, OUT = 0.5e-6, 6.25e-6, 5e-6, 25e-6


def standing(*sizes: int, done: int = 10, warm: bool = True, ledger: Ledger = FREE) -> Standing:
    """A conversation behind 10,000 tokens of rules."""
    return Standing(fixed_tokens=10_000, sizes=sizes, turns_done=done, warm=warm, ledger=ledger)


def played(
    strategy: Strategy, sizes: list[int], *, gap_s: float = 10.0, ledger: Ledger = FREE
) -> Played:
    """Turns that add so many tokens each and answer 100."""
    turns = [Turn(number * gap_s, size, 100) for number, size in enumerate(sizes)]
    return play_turns(turns, strategy, fixed_tokens=10_000, rule=RULE, price=PRICE, ledger=ledger)


def test_each_strategy_drops_what_it_says() -> None:
    """The oldest first, and never what the turn adds."""
    sizes = (500, 400, 300, 200)
    assert Never().drop(standing(*sizes)) == 0
    assert Rolling(1_400).drop(standing(*sizes)) == 0
    assert Rolling(1_399).drop(standing(*sizes)) == 1
    assert Rolling(500).drop(standing(*sizes)) == 2
    assert Rolling(10).drop(standing(*sizes)) == 3
    assert Watermark(1_400, 500).drop(standing(*sizes)) == 0
    assert Watermark(1_399, 500).drop(standing(*sizes)) == 2
    assert Watermark(1_399, 500, 300).drop(standing(*sizes)) == 3


@pytest.mark.parametrize(("high", "low", "summary"), [(10, 10, 0), (10, 5, 6), (10, 5, -1)])
def test_marks_that_make_no_sense_are_refused(high: int, low: int, summary: int) -> None:
    """The low one has to hold the summary and to lie below the high one."""
    with pytest.raises(
        UsageError,
        match=r"give a low mark below the high one that holds|summary_tokens of a Watermark is",
    ):
        Watermark(high, low, summary)


def test_what_never_drops_writes_once_and_reads_ever_after() -> None:
    """Counted by hand."""
    bill = played(Never(), [1_000, 2_000, 3_000])
    writes, reads = 16_000, 11_000 + 13_000
    assert bill.usd == pytest.approx(writes * WRITE + reads * READ + 300 * OUT)
    assert bill.read_tokens == reads
    assert bill.prompt_tokens == 11_000 + 13_000 + 16_000
    assert bill.retained_tokens == 1_000 + 3_000 + 6_000
    assert (bill.turns, bill.compactions) == (3, 0)


def test_a_rolling_window_writes_its_whole_history_every_turn() -> None:
    """Once it is full only what stands before the history is read."""
    bill = played(Rolling(2_000), [1_000] * 6)
    reads = 0 + 11_000 + 4 * 10_000
    assert bill.read_tokens == reads
    writes = 11_000 + 1_000 + 4 * 2_000
    assert bill.usd == pytest.approx(writes * WRITE + reads * READ + 600 * OUT)
    assert bill.compactions == 4


def test_a_watermark_writes_anew_when_it_is_passed_and_reads_between() -> None:
    """Dropped without a summary."""
    bill = played(Watermark(4_000, 2_000), [1_000] * 7)
    # History: 1, 2, 3, 4, then 5 becomes 2, 3, 4.
    assert bill.retained_tokens == 1_000 * (1 + 2 + 3 + 4 + 2 + 3 + 4)
    assert bill.read_tokens == 1_000 * (0 + 11 + 12 + 13 + 10 + 12 + 13)
    assert bill.compactions == 1
    assert bill.compaction_usd == 0


def test_a_summary_is_a_call_of_its_own() -> None:
    """It reads the last prompt, is asked in 200 plain tokens, and its answer costs."""
    bill = played(Watermark(4_000, 2_000, 500), [1_000] * 5)
    assert bill.compaction_usd == pytest.approx(14_000 * READ + 200 * PLAIN + 500 * OUT)
    # What is kept is the summary and the last turn.
    assert bill.retained_tokens == 1_000 * (1 + 2 + 3 + 4) + 1_500
    assert bill.ledger.risked == pytest.approx(bill.compaction_usd)


def test_at_equal_retained_tokens_watermarks_cost_less_than_rolling() -> None:
    """The reason for all of this, on a conversation of a hundred turns."""
    sizes = [1_000] * 100
    marks = played(Watermark(30_000, 10_000), sizes)
    rolling = played(Rolling(20_000), sizes)
    assert abs(marks.retained_tokens / rolling.retained_tokens - 1) < 0.05
    assert marks.usd < 0.5 * rolling.usd


def test_behind_the_lifetime_all_is_written() -> None:
    """Whatever the strategy."""
    assert played(Never(), [1_000] * 4, gap_s=301).read_tokens == 0
    assert played(Rolling(2_000), [1_000] * 4, gap_s=301).read_tokens == 0


def test_the_ledger_ends_at_what_was_lost() -> None:
    """Beside nothing done, whatever was dropped when."""
    random = Random(3)
    for _ in range(20):
        sizes = [random.randrange(500, 5_000) for _ in range(30)]
        undone = played(Never(), sizes)
        done = played(Watermark(30_000, 8_000, 1_000), sizes)
        lost = done.ledger.risked - done.ledger.gained
        assert lost == pytest.approx(done.usd - undone.usd)
        assert done.ledger.spent == pytest.approx(undone.usd)


def paying(turns: Turns, *, limit: int | None = None) -> Paying:
    """Marks of 30,000 and 8,000 that have to pay."""
    return Paying(
        marks=Watermark(30_000, 8_000, 1_000),
        turns=turns,
        rule=RULE,
        price=PRICE,
        limit_tokens=limit,
    )


def test_what_is_about_to_end_is_not_compacted() -> None:
    """Conversations were never longer than 31 turns."""
    pieces = (1_000,) * 31
    assert paying(Turns.of([31])).drop(standing(*pieces, done=30)) == 0
    assert paying(Turns.of([90])).drop(standing(*pieces, done=30)) == 24


def test_what_the_budget_does_not_afford_is_not_compacted() -> None:
    """Until enough was spent."""
    strategy = paying(Turns.of([90]))
    pieces = (1_000,) * 31
    poor, rich = Ledger(share=0.01, spent=0.1), Ledger(share=0.01, spent=100.0)
    assert strategy.drop(standing(*pieces, done=30, ledger=poor)) == 0
    assert strategy.drop(standing(*pieces, done=30, ledger=rich)) == 24


def test_the_end_of_a_context_does_not_ask_what_it_costs() -> None:
    """Beyond the limit history goes."""
    strategy = paying(Turns.of([31]), limit=40_000)
    assert strategy.drop(standing(*(1_000,) * 41, done=30)) == 34
    assert strategy.drop(standing(*(1_000,) * 31, done=30)) == 0


def test_within_a_budget_no_conversation_costs_much_more() -> None:
    """Than the budget's share, wherever it ends: every beginning of many random ones."""
    random = Random(4)
    turns = Turns.of([200])
    compacted = 0
    for _ in range(15):
        sizes = [random.randrange(500, 5_000) for _ in range(80)]
        for end in range(10, 80, 7):
            undone = played(Never(), sizes[:end])
            done = played(paying(turns), sizes[:end], ledger=Ledger(share=0.05))
            compacted += done.compactions
            assert done.usd <= undone.usd * 1.05 * 1.001
    assert compacted > 20


def test_a_prefix_too_short_to_be_kept_is_reckoned_with() -> None:
    """4,000 of 8,000 tokens are paid in full turn by turn, where 8,000 would be read."""
    sizes = [4_000, 4_000] + [1] * 50
    turns = [Turn(number * 5.0, size, 1) for number, size in enumerate(sizes)]

    def bill(strategy: Strategy) -> Played:
        return play_turns(
            turns, strategy, fixed_tokens=0, rule=RULE, price=PRICE, ledger=Ledger(share=0.01)
        )

    marks = Watermark(5_000, 4_050)
    assert bill(marks).usd > 3 * bill(Never()).usd
    paid = bill(Paying(marks=marks, turns=Turns.of([400]), rule=RULE, price=PRICE))
    assert paid.usd <= bill(Never()).usd * 1.01


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-opus-4-5"),
        ("anthropic", "claude-opus-5-5"),
        ("openai", "gpt-6.1-sol"),
        ("openai", "gpt-5.5"),
        ("deepseek", "deepseek-v4-flash"),
    ],
)
def test_the_budget_holds_under_every_rule_whatever_comes(provider: str, model: str) -> None:
    """Any marks, lengths about the minimum, and gaps at the lifetime's edge."""
    rule, price = BOOK.rule_for(provider, model, marked=True), BOOK.price(provider, model)
    assert rule is not None
    assert price is not None
    random = Random(f"{provider} {model}")
    compacted = 0
    for _ in range(120):
        high = random.choice([2_000, 5_000, 10_000, 30_000])
        low = random.choice([0, 100, 500, high // 3, high - 1])
        strategy = Paying(
            marks=Watermark(high, low, random.choice([0, low // 2])),
            turns=Turns.of([random.choice([20, 90, 400])]),
            rule=rule,
            price=price,
            cold=random.choice([0.0, 0.3, 1.0]),
        )
        turns, at_s = [], 0.0
        for _ in range(random.randrange(2, 50)):
            at_s += random.choice([5, 5, 5, 5, 100, 290, 301, 3_601])
            new = random.choice([1, 50, 200, 1_000, 3_900, 20_000])
            turns.append(Turn(at_s, new, random.choice([1, 100])))
        fixed = random.choice([0, 500, 3_000, 10_000])
        done = play_turns(
            turns, strategy, fixed_tokens=fixed, rule=rule, price=price, ledger=Ledger(share=0.01)
        )
        compacted += done.compactions
        lost = done.ledger.risked - done.ledger.gained
        assert lost <= 0.01 * done.ledger.spent * 1.0001
    assert compacted > 50


def test_long_prompts_that_cost_more_are_reckoned_with() -> None:
    """Beyond 272,000 tokens gpt-6.1-sol costs twice: neither bound nor estimate overlooks it."""
    rule, price = (
        BOOK.rule_for("openai", "gpt-6.1-sol", marked=True),
        BOOK.price("openai", "gpt-6.1-sol"),
    )
    assert rule is not None
    assert price is not None
    assert price.at(prompt_tokens=280_000) != price
    strategy = Paying(
        marks=Watermark(40_000, 12_000, 2_000), turns=Turns.of([90]), rule=rule, price=price
    )
    turns = [Turn(0.0, 270_000, 100), Turn(10.0, 400, 100)]
    for spent in (0.0, 1.5, 2.5, 3.5, 4.5, 6.0, 8.0):
        before = Ledger(share=0.01, spent=spent)
        done = play_turns(
            turns, strategy, fixed_tokens=9_000, rule=rule, price=price, ledger=before
        )
        lost = done.ledger.risked - done.ledger.gained
        assert lost <= 0.01 * done.ledger.spent + 1e-9
    assert done.compactions == 1


def test_plays_add_up() -> None:
    """And the later ledger stands."""
    one, two = played(Never(), [1_000]), played(Watermark(2_000, 1_000), [1_000] * 4)
    total = Played()
    total.add(one)
    total.add(two)
    assert total.usd == pytest.approx(one.usd + two.usd)
    assert total.turns == 5
    assert total.compactions == two.compactions == 1
    assert total.retained_tokens == one.retained_tokens + two.retained_tokens
    assert total.ledger is two.ledger
