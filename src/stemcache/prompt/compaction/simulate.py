"""A conversation played under a strategy against a provider's cache.

```
request    │ fixed │ history of this epoch │ turn │     marks behind fixed, the last turn, this one
epoch      rises when anything is dropped: from `fixed` on all is another prefix
summary    a call of its own: the last request once more, an instruction, and the summary as answer
```
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stemcache.prompt.compaction.strategy import Never, Standing, Strategy
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.simulate import priced
from stemcache.provider.cache.clock import ttl_of
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Mark, Position, Shape
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["Played", "Turn", "play_turns"]

_FIXED = 1
_EPOCH = 1 << 32
_NO_CHAINS = np.empty(0, dtype=np.uint64)
_NO_TOKENS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a conversation that only grows."""

    at_s: float
    new_tokens: int
    """The answer before it, and what the user or the tools said to it."""
    output_tokens: int


@dataclass(slots=True)
class Played:
    """Sums over turns; the summaries' calls are in `usd` and nowhere else."""

    usd: float = 0.0
    compaction_usd: float = 0.0
    """Of summaries' calls."""
    compactions: int = 0
    """Times that something was dropped."""
    turns: int = 0
    prompt_tokens: int = 0
    read_tokens: int = 0
    retained_tokens: int = 0
    """History that the requests held: over `turns`, the mean length of what a model could see."""
    ledger: Ledger = field(default_factory=Ledger)

    def add(self, other: "Played") -> None:
        """Sum in place; the ledger becomes the other's."""
        self.usd += other.usd
        self.compaction_usd += other.compaction_usd
        self.compactions += other.compactions
        self.turns += other.turns
        self.prompt_tokens += other.prompt_tokens
        self.read_tokens += other.read_tokens
        self.retained_tokens += other.retained_tokens
        self.ledger = other.ledger


def play_turns(
    turns: Sequence[Turn],
    strategy: Strategy,
    *,
    fixed_tokens: int,
    rule: Rule,
    price: Price,
    ledger: Ledger,
    instruction_tokens: int = 200,
) -> Played:
    """One conversation. Costs O(turns · pieces dropped). `ledger` is what stood in it before.

    What doing nothing costs, for the ledger, is told by a second play that drops nothing.
    """
    play = _Play(fixed_tokens, rule, price, instruction_tokens)
    idle = _Play(fixed_tokens, rule, price, instruction_tokens)
    done = Played(ledger=ledger)
    never = Never()
    for number, turn in enumerate(turns):
        dropped = play.prepare(turn, number, strategy, done)
        idle.prepare(turn, number, never, Played())
        usd = play.request(turn, done)
        undone_usd = idle.request(turn, Played())
        done.ledger = done.ledger.spend(usd).gain(undone_usd - usd)
        done.compactions += dropped
    return done


class _Play:
    def __init__(self, fixed_tokens: int, rule: Rule, price: Price, instruction: int) -> None:
        self._fixed = fixed_tokens
        self._rule = rule
        self._price = price
        self._instruction = instruction
        self._cache = PromptCache(rule)
        self._sizes: list[int] = []
        self._epoch = 0
        self._held = 0
        """Pieces of this epoch that the last request had."""
        self._last_s: float | None = None

    def prepare(self, turn: Turn, number: int, strategy: Strategy, done: Played) -> bool:
        """Takes in what the turn adds; drops what the strategy says. Whether anything was."""
        self._sizes.append(turn.new_tokens)
        standing = Standing(
            fixed_tokens=self._fixed,
            sizes=tuple(self._sizes),
            turns_done=number,
            warm=self._warm(turn.at_s),
            ledger=done.ledger,
        )
        count = strategy.drop(standing)
        assert 0 <= count < len(self._sizes), "a strategy dropped what the turn adds"
        if not count:
            return False
        if strategy.summary_tokens:
            usd = self._summarise(turn.at_s, strategy.summary_tokens)
            done.usd += usd
            done.compaction_usd += usd
            done.ledger = done.ledger.risk(usd)
        kept = self._sizes[count:]
        self._sizes = [strategy.summary_tokens, *kept] if strategy.summary_tokens else kept
        self._epoch += 1
        self._held = 0
        return True

    def request(self, turn: Turn, done: Played) -> float:
        """Sends the turn; what it cost."""
        shape = self._shape(len(self._sizes))
        outcome = self._cache.look(shape, now_s=turn.at_s, scope="")
        self._cache.keep(shape, outcome, now_s=turn.at_s, readable_s=turn.at_s, scope="")
        usd = priced(shape, outcome, turn.output_tokens, self._price, self._rule)
        self._held = len(self._sizes)
        self._last_s = turn.at_s
        done.usd += usd
        done.turns += 1
        done.prompt_tokens += shape.tokens
        done.read_tokens += outcome.read_tokens
        done.retained_tokens += sum(self._sizes)
        return usd

    def _summarise(self, at_s: float, summary_tokens: int) -> float:
        """The last request's prompt once more, and an instruction behind it."""
        shape = self._shape(len(self._sizes) - 1, behind_tokens=self._instruction)
        outcome = self._cache.look(shape, now_s=at_s, scope="")
        self._cache.keep(shape, outcome, now_s=at_s, readable_s=at_s, scope="")
        return priced(shape, outcome, summary_tokens, self._price, self._rule)

    def _warm(self, at_s: float) -> bool:
        ttl = ttl_of(self._rule, 0)
        if self._last_s is None:
            return False
        return ttl is None or at_s - self._last_s <= ttl.high_s

    def _shape(self, pieces: int, *, behind_tokens: int = 0) -> Shape:
        ends = [(_FIXED, self._fixed)] if self._fixed else []
        for count in sorted({self._held, pieces} - {0}):
            if count <= pieces:
                tokens = self._fixed + sum(self._sizes[:count])
                ends.append((_EPOCH * (self._epoch + 1) + count, tokens))
        positions = [_position(chain, tokens, Mark()) for chain, tokens in ends]
        if behind_tokens:
            end = positions[-1].end_tokens if positions else 0
            positions.append(_position(-1, end + behind_tokens, None))
        return Shape(
            positions=tuple(positions),
            fine_chain=_NO_CHAINS,
            fine_tokens=_NO_TOKENS,
            api=Api.MESSAGES,
            implicit=False,
        )


def _position(chain: int, tokens: int, mark: Mark | None) -> Position:
    return Position(
        chain=chain,
        end_tokens=tokens,
        section=Section.MESSAGES,
        role="user",
        ends_message=True,
        mark=mark,
    )
