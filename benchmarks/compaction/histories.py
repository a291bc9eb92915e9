"""What short histories save on the later sessions, at equal retained tokens.

Conversations of the trace grow as they did; what is dropped and when is the strategy's. A rolling
window is made as wide as it takes for its requests to hold as much history on average as those of
the watermarks beside it: that is what `equal retained tokens` means. What the model would have
answered to less history is not in a trace.
"""

import gzip
import json
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.compaction.sessions import Session
from stemcache.prompt.compaction.plan import best_high
from stemcache.prompt.compaction.simulate import Played, Turn, play_turns
from stemcache.prompt.compaction.strategy import Never, Paying, Rolling, Strategy, Watermark
from stemcache.prompt.compaction.turns import Turns
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.rates import rates
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["History", "Matches", "histories", "measured"]

SHARE = 0.01
LIMIT_TOKENS = 180_000
MARKS = (
    Watermark(40_000, 12_000, 2_000),
    Watermark(80_000, 12_000, 2_000),
    Watermark(80_000, 40_000),
    Watermark(120_000, 60_000),
)
Row = dict[str, Any]
Matches = dict[Watermark, int]
"""Widths of the rolling windows that hold as much as the watermarks."""


@dataclass(frozen=True, slots=True)
class History:
    """One conversation that grows."""

    fixed_tokens: int
    turns: tuple[Turn, ...]


def histories(path: Path, sessions: Sequence[Session]) -> list[list[History]]:
    """The conversations of each session. Tools and system are as long as the trace says."""
    fixed: dict[str, int] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            fixed[record["id"]] = record["tool_tokens"] + record["system_tokens"]
    return [
        [_history(visits, fixed[session.name]) for visits in session.threads().values()]
        for session in sessions
    ]


def _history(visits: Sequence[Any], fixed_tokens: int) -> History:
    before = fixed_tokens = min(fixed_tokens, visits[0].shape.tokens)
    turns = []
    for visit in visits:
        turns.append(Turn(visit.at_s, max(visit.shape.tokens - before, 1), visit.output_tokens))
        before = visit.shape.tokens
    return History(fixed_tokens, tuple(turns))


def measured(
    rule: Rule,
    price: Price,
    *,
    earlier: Sequence[Sequence[History]],
    later: Sequence[Sequence[History]],
    matches: Matches,
) -> list[Row]:
    """Rows for each pair of marks: as they are, where they pay, and a window that holds as much."""
    seen = [history for session in earlier for history in session]
    turns = Turns.of([len(history.turns) for history in seen])
    growth = mean(turn.new_tokens for history in seen for turn in history.turns[1:])
    cold = _cold(seen, rule)
    paid = rates(rule, price)
    high = best_high(
        paid,
        fixed=round(mean(history.fixed_tokens for history in seen)),
        low=12_000,
        growth=growth,
        limit=LIMIT_TOKENS,
        summary=2_000,
        cold=cold,
    )
    best = Watermark(high, 12_000, 2_000)

    def play(strategy: Strategy, share: float) -> list[Played]:
        return [_session(session, strategy, rule, price, Ledger(share=share)) for session in later]

    undone = play(Never(), math.inf)
    rows = [_row("nothing dropped", None, undone, undone)]
    for marks in (best, *MARKS):
        told = marks == best
        done = play(marks, math.inf)
        rows.append(_row("watermark", marks, done, undone, best=told))
        if marks not in matches:
            matches[marks] = _match(_held(done), later)
        rolling = play(Rolling(matches[marks]), math.inf)
        rows.append(_row("rolling", marks, rolling, undone, best=told, window=matches[marks]))
        paying = Paying(marks=marks, turns=turns, rule=rule, price=price, cold=cold)
        rows.append(_row("where it pays", marks, play(paying, math.inf), undone, best=told))
        bound = play(paying, SHARE)
        rows.append(_row(f"where it pays, {SHARE:.0%} a session", marks, bound, undone, best=told))
        pooled, ledger = [], Ledger(share=SHARE)
        for session in later:
            one = _session(session, paying, rule, price, ledger)
            ledger = one.ledger
            pooled.append(one)
        rows.append(_row(f"where it pays, {SHARE:.0%} of all", marks, pooled, undone, best=told))
    return rows


def _session(
    session: Sequence[History], strategy: Strategy, rule: Rule, price: Price, ledger: Ledger
) -> Played:
    total = Played(ledger=ledger)
    for history in session:
        total.add(
            play_turns(
                history.turns,
                strategy,
                fixed_tokens=history.fixed_tokens,
                rule=rule,
                price=price,
                ledger=total.ledger,
            )
        )
    return total


def _cold(seen: Sequence[History], rule: Rule) -> float:
    """Share of turns that come behind the default lifetime."""
    gaps_s = [
        later.at_s - before.at_s for history in seen for before, later in pairwise(history.turns)
    ]
    return mean(gap_s > rule.ttls[0].high_s for gap_s in gaps_s)


def _held(played: Sequence[Played]) -> float:
    return sum(one.retained_tokens for one in played) / sum(one.turns for one in played)


def _match(held: float, later: Sequence[Sequence[History]]) -> int:
    """The narrowest window that holds as much, to a hundred tokens."""
    low, high = 0, 2 * LIMIT_TOKENS
    while high - low > 100:
        middle = (low + high) // 2
        low, high = (middle, high) if _rolled(later, middle) < held else (low, middle)
    return high


def _rolled(later: Sequence[Sequence[History]], most: int) -> float:
    """What a rolling window holds on average; the same as in a play, without its cache."""
    held = turns = 0
    for history in (one for session in later for one in session):
        window: deque[int] = deque()
        left = 0
        for turn in history.turns:
            window.append(turn.new_tokens)
            left += turn.new_tokens
            while left > most and len(window) > 1:
                left -= window.popleft()
            held += left
            turns += 1
    return held / turns


def _row(
    name: str,
    marks: Watermark | None,
    played: Sequence[Played],
    undone: Sequence[Played],
    *,
    best: bool = False,
    window: int | None = None,
) -> Row:
    total = Played()
    for one in played:
        total.add(one)
    base_usd = sum(one.usd for one in undone)
    return {
        "name": name,
        "high_tokens": None if marks is None else marks.high_tokens,
        "low_tokens": None if marks is None else marks.low_tokens,
        "summary_tokens": None if marks is None else marks.summary_tokens,
        "best_high": best,
        "window_tokens": window,
        "usd": round(total.usd, 2),
        "beside_nothing": round(total.usd / base_usd - 1, 5),
        "worst_session": round(
            max(one.usd / before.usd - 1 for one, before in zip(played, undone, strict=True)), 5
        ),
        "hit_rate": round(total.read_tokens / total.prompt_tokens, 5),
        "retained_tokens": round(total.retained_tokens / total.turns),
        "compactions": total.compactions,
        "compaction_usd": round(total.compaction_usd, 2),
    }
