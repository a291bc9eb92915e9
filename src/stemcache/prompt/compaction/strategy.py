"""What is dropped before a turn, strategy by strategy.

```
            turn   1     2     3      4       5        6
Never              a     ab    abc    abcd    abcde    abcdef     all is read, and kept
Rolling(3)         a     ab    abc     bcd      cde       def     every turn another beginning
Watermark(4, 2)    a     ab    abc    abcd       Sde      Sdef    now and then another beginning
```
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from stemcache.errors import UsageError
from stemcache.prompt.compaction.plan import Compaction, payback
from stemcache.prompt.compaction.turns import Turns
from stemcache.prompt.given import check_number
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.rates import rates
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["Never", "Paying", "Rolling", "Standing", "Strategy", "Watermark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a conversation stands before a turn."""

    fixed_tokens: int
    sizes: Sequence[int]
    """Tokens of each piece of history that can be dropped, oldest first; what the turn adds is the
    last. A summary from before is the first."""
    turns_done: int
    warm: bool
    """Whether the prefix that the last request left can still be read."""
    ledger: Ledger


class Strategy(Protocol):
    """**Protocol**: how many of the oldest pieces go. Never all: what the turn adds stays."""

    @property
    def summary_tokens(self) -> int:
        """Length of the summary that takes their place; 0 where there is none."""
        ...

    def drop(self, standing: Standing, /) -> int:
        """0 leaves the history as it is."""
        ...


@dataclass(frozen=True, slots=True)
class Never:
    """Nothing is ever dropped."""

    summary_tokens: int = 0

    def drop(self, standing: Standing, /) -> int:  # noqa: ARG002 - strategies are called alike
        """Nothing."""
        return 0


@dataclass(frozen=True, slots=True)
class Rolling:
    """The oldest go, turn by turn, so that no more than `most_tokens` are left."""

    most_tokens: int
    summary_tokens: int = 0

    def __post_init__(self) -> None:
        check_number(self.most_tokens, "most_tokens of Rolling", low=0)
        check_number(self.summary_tokens, "summary_tokens of Rolling", low=0)

    def drop(self, standing: Standing, /) -> int:
        """As few as need be."""
        return _to(standing.sizes, self.most_tokens)


@dataclass(frozen=True, slots=True)
class Watermark:
    """Beyond `high_tokens` the oldest go until `low_tokens` are left, the summary among them."""

    high_tokens: int
    low_tokens: int
    summary_tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("high_tokens", "low_tokens", "summary_tokens"):
            check_number(getattr(self, name), f"{name} of a Watermark", low=0)
        if not 0 <= self.summary_tokens <= self.low_tokens < self.high_tokens:
            raise UsageError(
                f"watermarks of {self.high_tokens} and {self.low_tokens} tokens with a summary of "
                f"{self.summary_tokens}; give a low mark below the high one that holds the summary"
            )

    def drop(self, standing: Standing, /) -> int:
        """Nothing up to the high mark."""
        if sum(standing.sizes) <= self.high_tokens:
            return 0
        return _to(standing.sizes, self.low_tokens - self.summary_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paying:
    """Watermarks that are kept to only where that is expected to pay back, within a budget.

    Beyond `limit_tokens`, where a context ends, history goes whatever it costs.
    """

    marks: Watermark
    turns: Turns
    rule: Rule
    price: Price | None
    """Long prompts may cost more a token, so rates are taken at each length."""
    cold: float = 0.0
    """Share of turns that come after the lifetime."""
    instruction_tokens: int = 200
    limit_tokens: int | None = None

    @property
    def summary_tokens(self) -> int:
        """As the marks have it."""
        return self.marks.summary_tokens

    def drop(self, standing: Standing, /) -> int:
        """What the marks say, or nothing where it does not pay."""
        count = self.marks.drop(standing)
        if not count:
            return 0
        if self.limit_tokens is not None and sum(standing.sizes) > self.limit_tokens:
            return count
        history = sum(standing.sizes[:-1])  # the turn's own tokens are new either way
        step = Compaction(
            fixed=standing.fixed_tokens,
            history=history,
            kept=history - sum(standing.sizes[:count]),
            summary=self.summary_tokens,
            instruction=self.instruction_tokens,
        )
        added = max(standing.sizes[-1], self.instruction_tokens)
        told = payback(
            step,
            rates(self.rule, self.price, prompt_tokens=step.before + added),
            shorter=rates(self.rule, self.price, prompt_tokens=step.after + standing.sizes[-1]),
            turns=self.turns,
            done=standing.turns_done,
            added=standing.sizes[-1],
            cold=self.cold,
            warm_now=standing.warm,
        )
        if not told.pays or told.least_a_turn < 0:
            return 0
        return count if standing.ledger.affords(told.cost) else 0


def _to(sizes: Sequence[int], most: int) -> int:
    left, count = sum(sizes), 0
    while left > most and count < len(sizes) - 1:
        left -= sizes[count]
        count += 1
    return count
