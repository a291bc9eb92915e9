"""The poorest odds of an early return first, learnt from the requests themselves.

```
    session    turn 1 ──► turn 2 ──► turn 3              a turn is a request, a session is turns
                 gap, growth   gap, growth               that continue one another
    blocks     [ system prompt │ turn 1 │ turn 2 │ 3 ]
                                          └──┘ edited away: superseded

    rank       index(kind of the turn that used the block last, age of that turn)
```

`lru` knows of a block only how long ago it was used. This policy also knows the request that used
it: how soon that came after the one before it, how much longer the prompt had grown, how long it
was, how much it made the engine say, which turn it was, and whether its session has gone on without
the block since. From these it learns how soon such requests are continued (`policy.evict.returns`),
and evicts what earns the fewest hits for the time it stays. A block used a moment ago may go before
one that is about to be used again.

A request continues a session if it reaches the end of the session's last one, or if nothing has
parted yet at the block where the two part: then the prompt was edited, or summarised, from there
on. That block is a fork from then on, and what leaves a fork before the end is a session of its
own. A session that was evicted whole is known again by the key of its first own block, among the
last 16,384.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from math import log2
from typing import NamedTuple

from stemcache.core.hashing import BlockKey
from stemcache.core.index import Rank, Stamp
from stemcache.policy.evict.returns import Kind, Returns, Stay

__all__ = ["FEATURES", "Odds", "OddsState"]

_REMEMBERED = 16_384  # sessions, and superseded turns
_FIT_REQUESTS = 64, 1024  # fewest and, unless a great many wait, most requests between two fits
_NEWS = 32  # a fit waits for a part of this size of what is known
_WORTH = 16  # leaves, or stays, that one request pays to look at again

FEATURES = {"turn": 3, "gap": 7, "growth": 20, "size": 10, "output": 8, "superseded": 2}
"""What is known of a request, and how many values each thing has."""


class _Session:
    """Requests that continue one another."""

    __slots__ = ("first", "last", "turns")

    def __init__(self, turn: "_Turn") -> None:
        self.first: BlockKey | None = None
        """The key of the first block that was its own, if that is known."""
        self.last = turn
        self.turns = 1


class _Turn:
    """A request. Changes while its lease is held, so while none of its blocks can be evicted."""

    __slots__ = (
        "blocks",
        "gap_s",
        "gone",
        "grown_from",
        "kind",
        "left",
        "now_s",
        "number",
        "output_tokens",
        "seq",
        "session",
        "share",
        "since_s",
        "superseded",
    )

    def __init__(self, stamp: Stamp) -> None:
        self.session = _Session(self)
        self.number = 1
        self.seq = stamp.seq
        self.now_s = stamp.now
        self.blocks = stamp.blocks
        self.gone = 0
        """Blocks that were evicted while it was the last to have used them."""
        self.left = 0
        """Once superseded: blocks behind the fork that can still be returned to."""
        self.gap_s: float | None = None
        self.grown_from = 0
        self.output_tokens: int | None = None
        self.share = 1.0
        """How much of it is still waited for."""
        self.since_s = 0.0
        self.superseded: int | None = None
        """The use with which its session went on."""
        self.kind: Kind | None = None

    def told(self) -> Kind:
        """What is known of it when it ends, as features. Superseded it may be later."""
        if self.kind is None:
            growth = 0
            if self.gap_s is not None:
                growth = _log(self.blocks - self.grown_from, 1, FEATURES["growth"] - 3) + 2
                growth -= self.blocks < self.grown_from
            self.kind = (
                min(self.number, FEATURES["turn"]) - 1,
                0 if self.gap_s is None else 1 + _log(self.gap_s, 2, FEATURES["gap"] - 2),
                growth,
                _log(self.blocks, 2, FEATURES["size"] - 1),
                0
                if self.output_tokens is None
                else 1 + _log(self.output_tokens, 2, FEATURES["output"] - 2),
            )
        return self.kind


class OddsState(NamedTuple):
    """The request that used a block last, and how often sessions parted at it, or behind it."""

    turn: _Turn
    forks: int


class Odds:
    """Evicts the leaf of the lowest index: returns a second of keeping it. A `RequestPolicy`.

    Like `lru` until it has learnt, and where there is nothing to learn. Beats it most where the
    cache is small for the traffic. Costs O(1) a block and amortised O(1) a request, but more than
    any other policy: some 0.2 ms a request, pauses of tens of milliseconds while it fits or ranks
    all leaves anew, and up to 10 MB for the sessions it remembers. Not where every prompt is asked
    once or for ever.
    """

    name = "odds"

    def __init__(self, *, returns: Returns | None = None) -> None:
        """`returns`: what learns, if not an estimator that looks at every feature."""
        self._returns = Returns(list(FEATURES.values())) if returns is None else returns
        self._sessions: OrderedDict[_Session, None] = OrderedDict()
        self._by_first: dict[BlockKey, _Session] = {}
        self._aside: OrderedDict[_Turn, None] = OrderedDict()
        """Superseded turns of which something is still waited for."""
        self._seq = 0
        self._now_s = 0.0
        self._fitted = False
        self._known = 0
        """Requests at the last fit."""
        self._since_fit = 0
        self._pause = _FIT_REQUESTS[0]
        self._since_turn = 0
        self._ranked_s = 0.0
        self._ranked_seq = 0

    def inserted(self, stamp: Stamp) -> OddsState:
        """A request of which nothing is known."""
        return self.entered(None, stamp, None)

    def used(self, state: OddsState, stamp: Stamp) -> OddsState:
        """A request begins: it continues the session that was here, or leaves it."""
        self._count(stamp)
        session = state.turn.session
        last = session.last
        extends = stamp.blocks >= last.blocks - 1  # a partial last block is replaced
        if not state.forks:  # else another session may have been evicted down to here
            extends = stamp.blocks >= last.blocks - last.gone - 1
        if state.turn in self._aside:
            self._close(state.turn, returned=True)
        turn = _Turn(stamp)
        if extends or not state.forks:
            self._follow(session, turn, last.blocks if extends else stamp.blocks)
        return OddsState(turn, state.forks + (not extends))

    def entered(
        self, own: OddsState | None, stamp: Stamp, key: Callable[[], BlockKey] | None
    ) -> OddsState:
        """A request adds blocks: its first, or a chunk."""
        if own is None:
            self._count(stamp)
            turn = _Turn(stamp)
        else:
            turn = own.turn
            self._seq, self._now_s = stamp.seq, stamp.now
        if turn.session not in self._sessions and key is not None:
            self._recognise(turn, key())
        turn.blocks, turn.seq, turn.now_s, turn.kind = stamp.blocks, stamp.seq, stamp.now, None
        self._touch(turn.session)
        return OddsState(turn, 0)

    def ended(self, state: OddsState, output_tokens: int | None) -> None:
        """Now it is known how much it made the engine say."""
        state.turn.output_tokens, state.turn.kind = output_tokens, None
        self._touch(state.turn.session)

    def inherited(self, state: OddsState, child: OddsState) -> OddsState:
        """The latest request that went through, and all forks."""
        turn = state.turn if state.turn.seq >= child.turn.seq else child.turn
        return OddsState(turn, max(state.forks, child.forks))

    def evicted(self, state: OddsState) -> None:
        """What is superseded is not waited for once it goes; a session may be recognised."""
        turn = state.turn
        turn.gone += 1
        if turn in self._aside:
            turn.left -= 1
            if not turn.left:
                self._close(turn, returned=False)

    def turned(self, leaves: int) -> bool:
        """Often enough that ages are right to a few percent, rarely enough to cost little."""
        if self._since_turn * _WORTH < leaves:
            return False
        if self._since_fit >= self._pause:
            self._returns.fit(self._waiting(), requests=self._since_fit)
            self._fitted = True
            self._known += self._since_fit
            self._since_fit = 0
            least, most = _FIT_REQUESTS
            waiting = len(self._sessions) + len(self._aside)
            self._pause = max(least, min(self._known // _NEWS, most), waiting // _WORTH)
        self._since_turn = 0
        self._ranked_s, self._ranked_seq = self._now_s, self._seq
        return self._fitted

    def rank(self, state: OddsState) -> Rank:
        """The lowest index first, then the least recent."""
        turn = state.turn
        if not self._fitted:
            return (0.0, turn.seq)
        passed = turn.superseded is not None and turn.superseded <= self._ranked_seq
        age_s = max(0.0, self._ranked_s - turn.now_s)
        return (self._returns.index((*turn.told(), int(passed)), age_s), turn.seq)

    def _count(self, stamp: Stamp) -> None:
        self._seq, self._now_s = stamp.seq, stamp.now
        self._since_fit += 1
        self._since_turn += 1

    def _recognise(self, turn: _Turn, first: BlockKey) -> None:
        """A session that begins, or one that was evicted whole and comes back."""
        known = self._by_first.get(first)
        if known is not None and known is not turn.session:
            self._follow(known, turn, known.last.blocks)
        else:
            turn.session.first = first
            self._by_first[first] = turn.session

    def _follow(self, session: _Session, turn: _Turn, through: int) -> None:
        """`turn` continues a session through the first blocks of its last turn."""
        last = session.last
        if session in self._sessions:
            age_s = self._age_s(last)
            came = last.share * min(1.0, through / max(1, last.blocks))
            rest = last.share - came
            self._observe(last, age_s, came, returned=True)
            last.left = last.blocks - last.gone - through
            if rest:
                self._observe(last, age_s, rest, returned=False)
            if rest and last.left > 0:
                last.since_s, last.share = age_s, rest
                self._aside[last] = None
                if len(self._aside) > _REMEMBERED:
                    self._close(next(iter(self._aside)), returned=False)
        last.superseded = self._seq
        turn.session, turn.gap_s, turn.grown_from = session, self._now_s - last.now_s, last.blocks
        session.turns += 1
        session.last, turn.number = turn, session.turns
        self._touch(session)

    def _touch(self, session: _Session) -> None:
        self._sessions[session] = None
        self._sessions.move_to_end(session)
        if len(self._sessions) > _REMEMBERED:
            oldest, _ = self._sessions.popitem(last=False)
            if oldest.first is not None:
                del self._by_first[oldest.first]
                oldest.first = None
            last = oldest.last
            self._observe(last, self._age_s(last), last.share, returned=False)

    def _close(self, turn: _Turn, *, returned: bool) -> None:
        """A superseded turn is waited for no more."""
        del self._aside[turn]
        self._observe(turn, self._age_s(turn), turn.share, returned=returned)

    def _age_s(self, turn: _Turn) -> float:
        return max(turn.since_s, self._now_s - turn.now_s)  # a clock may go back

    def _observe(self, turn: _Turn, age_s: float, share: float, *, returned: bool) -> None:
        kind = (*turn.told(), int(turn in self._aside or turn.superseded is not None))
        self._returns.observe(Stay(kind, turn.since_s, age_s, share), returned=returned)

    def _waiting(self) -> Iterator[Stay]:
        for session in self._sessions:
            yield self._stay(session.last)
        for turn in self._aside:
            yield self._stay(turn)

    def _stay(self, turn: _Turn) -> Stay:
        kind = (*turn.told(), int(turn.superseded is not None))
        return Stay(kind, turn.since_s, self._age_s(turn), turn.share)


def _log(amount: float, doublings: int, most: int) -> int:
    """0 for nothing, then one more for each so many doublings; scale-free, so nothing to tune."""
    return min(most, int(log2(amount + 1) / doublings)) if amount > 0 else 0
