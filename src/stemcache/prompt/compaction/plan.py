"""When a compaction pays back, and at which length it is best done.

```
cost now     read all once more, to have it summarised      150,000 · read  + instruction
             the summary's own tokens                          2,000 · output
             the next turn writes what it would have read      8,000 · (write - read)
saved        each later turn reads so much less              142,000 · read
```
A turn that comes after the lifetime writes its whole prefix, so the share of such `cold` turns
makes compaction worth more. What turns add later is added either way and cancels, but for one case:
a prefix below the provider's minimum is not kept, and is paid in full turn by turn until it has
grown. How long that takes nobody knows, so it is reckoned at its worst: as long as the minimum in
every turn, and written once when it reaches it.
"""

import math
from dataclasses import dataclass

from stemcache.errors import UsageError
from stemcache.prompt.compaction.turns import Turns
from stemcache.prompt.given import check_number, check_type
from stemcache.prompt.keepalive.rates import Rates, Unit

__all__ = ["Compaction", "Payback", "best_high", "payback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What one would do, in tokens."""

    fixed: int
    """Tools, rules and references in front of the history: they stay as they are."""
    history: int
    """All of the history as the last request had it."""
    kept: int
    """Of the history, what stays."""
    summary: int = 0
    """Of the summary that takes the rest's place; 0 drops it and asks no model."""
    instruction: int = 200
    """Asking for the summary."""

    def __post_init__(self) -> None:
        for name in ("fixed", "history", "kept", "summary", "instruction"):
            check_number(getattr(self, name), f"{name} of a Compaction", low=0)
        if self.kept > self.history:
            raise UsageError(
                f"a compaction of {self.history} tokens that keeps {self.kept}; keep no more than "
                "there is"
            )

    @property
    def before(self) -> int:
        """Prompt tokens before what a turn adds."""
        return self.fixed + self.history

    @property
    def after(self) -> int:
        """The same, after it."""
        return self.fixed + self.summary + self.kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Payback:
    """All amounts in `unit`."""

    cost: float
    """Of the summary call, and what the next turn pays more than without; may be negative."""
    saving_a_turn: float
    """Of each turn behind the next one."""
    least_a_turn: float
    """The same where no turn is cold. Where it is negative, what is lost has no end."""
    turns_to_pay: float
    """From and with the next one; infinite where it never pays."""
    expected: float
    """Saved in all over the turns that are expected."""
    chance: float | None
    """That the conversation lasts as long as `turns_to_pay`; None where only a mean was given."""
    unit: Unit
    counts_answers: bool
    """False where the price of the summary's own tokens is not known and left out."""

    @property
    def pays(self) -> bool:
        """Whether it is expected to save anything."""
        return self.expected > 0


def payback(
    step: Compaction,
    rates: Rates,
    *,
    turns: float | Turns,
    done: int = 0,
    added: int = 0,
    cold: float = 0.0,
    warm_now: bool = True,
    shorter: Rates | None = None,
) -> Payback:
    """Cost and saving of one compaction before the next turn. Costs O(1), or O(n) of `turns`.

    `turns` are those expected from the next one on, or what lengths of conversations were learned,
    of which `done` are over. `added` are the tokens of the next one, which stand behind all of it
    either way. `cold` is the share of later turns that come after the lifetime.
    `warm_now` says whether the next turn would find the old prefix; where it would not, the
    summary's call writes it. `shorter` are the rates of prompts as long as those after it, where
    long ones cost more a token.
    """
    check_type(step, Compaction, "step", "give a Compaction")
    check_type(rates, Rates, "rates", "give what rates(rule, price) makes")
    check_type(shorter, Rates | None, "shorter", "give what rates(rule, price) makes")
    check_number(cold, "cold", low=0, high=1)
    check_number(added, "added", low=0)
    if not isinstance(turns, Turns):
        check_number(turns, "turns", low=0)
    short = shorter or rates
    expected_turns = turns.remaining(done) if isinstance(turns, Turns) else float(turns)
    long, left = step.before + added, step.after + added
    call = 0.0
    if step.summary:
        call = rates.warm(step.before) if warm_now else rates.cold(step.before)
        call += step.instruction * rates.plain + rates.answer(step.summary)
    # A summary's call has read or written what stays. Of stored units none need end there.
    found = (warm_now or step.summary > 0) and rates.rule.kind != "persisted-units"
    cost = call + _next(short, step.fixed, left, found=found)
    cost -= _next(rates, step.before, long, found=warm_now)
    least, read = rates.rule.minimum_tokens.likely, rates.warm(long)
    warm = read - short.warm(left)
    if left < least <= long:
        warm = min(warm, read - least * short.plain)
        cost += max(short.cold(least) - read, 0.0)
    saving = (1 - cold) * warm + cold * (rates.cold(long) - short.cold(left))
    to_pay = _turns_to_pay(cost, saving)
    chance = None
    if isinstance(turns, Turns):
        chance = 0.0 if math.isinf(to_pay) else turns.chance(done, to_pay)
    return Payback(
        cost=cost,
        saving_a_turn=saving,
        least_a_turn=warm,
        turns_to_pay=to_pay,
        expected=saving * (expected_turns - 1) - cost if expected_turns >= 1 else -max(cost, 0.0),
        chance=chance,
        unit=rates.unit,
        counts_answers=rates.output is not None or not step.summary,
    )


def best_high(
    rates: Rates,
    *,
    fixed: int,
    low: int,
    growth: float,
    limit: int,
    summary: int = 0,
    instruction: int = 200,
    cold: float = 0.0,
) -> int:
    """The length of history at which to compact to `low`, over and over, for the least a turn.

    `low` holds the summary. `growth` is what a turn adds, `limit` what the context or the task
    allows. A longer way to the mark reads more each turn, a shorter one compacts more often.
    Costs O((limit - low) / growth), 100,000 steps at most.
    """
    check_type(rates, Rates, "rates", "give what rates(rule, price) makes")
    for tokens, name in (
        (fixed, "fixed"),
        (low, "low"),
        (growth, "growth"),
        (limit, "limit"),
        (summary, "summary"),
        (instruction, "instruction"),
    ):
        check_number(tokens, name, low=0)
    check_number(cold, "cold", low=0, high=1)
    if not 0 <= low < limit or growth <= 0 or not 0 <= summary <= low:
        raise UsageError(
            f"marks from {low} up to {limit} tokens with {growth:g} more a turn and a summary of "
            f"{summary}; give a limit above the low mark, a growth, and a summary that fits"
        )
    step = max(growth, (limit - low) / 100_000)
    best, best_cost, read = limit, math.inf, 0.0
    count, length = 0, float(low)
    while length + step <= limit:
        turn = fixed + round(length)
        read += (1 - cold) * rates.warm(turn) + cold * rates.cold(turn)
        count += 1
        length += step
        high = round(length)
        done = Compaction(
            fixed=fixed,
            history=high,
            kept=low - summary,
            summary=summary,
            instruction=instruction,
        )
        # What is paid beside reading: a cycle's first turn was counted as a read of the low mark.
        beside = payback(done, rates, turns=1).cost
        beside += rates.warm(done.before) - rates.warm(done.after)
        cost = (read + beside) / count
        if cost < best_cost:
            best, best_cost = high, cost
    return best


def _next(rates: Rates, held: int, total: int, *, found: bool) -> float:
    """A prompt of `total` tokens, of which `held` may be found cached; the rest is written."""
    if not found:
        return rates.cold(total)
    return rates.warm(held) + rates.cold(total) - rates.cold(held)


def _turns_to_pay(cost: float, saving: float) -> float:
    if cost <= 0:
        return 1.0
    return 1 + cost / saving if saving > 0 else math.inf
