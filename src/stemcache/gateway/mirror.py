"""What each seat is believed to hold, best source first.

```
seat with KV events       Holdings ──┐ the longer
                          pending  ──┴──────────────► Belief     pending: prompts on their way there
seat without, or with     Guess    ──┬──────────────► Belief     corrected by each answer's report
events that have a gap    Holdings ──┘ the longer
```
Pending prompts live in the guess too, under a bound that shrinks to nothing as flights end.
Invariant: a seat that has joined is in the guess; one that follows events has holdings as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stemcache.gateway.decision import Source
from stemcache.gateway.estimate import TokenEstimate
from stemcache.gateway.guess import Guess, Verdict
from stemcache.gateway.guess_seat import Seat
from stemcache.gateway.holdings import Holdings
from stemcache.gateway.keys import TEXT_UNIT_BYTES, Keys
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.usage import AnswerUsage
from stemcache.policy.route.contract import View

__all__ = ["Belief", "Mirror"]

DEFAULT_BLOCK = 16
"""Tokens a block, of a seat that has not said."""


class Belief(NamedTuple):
    """Of one prompt at one seat, in tokens."""

    cached: int
    slow: int
    """Behind those, in a slower tier."""
    source: Source


NOTHING = Belief(0, 0, Source.NONE)
"""Of a seat where nobody has looked."""
# Plain names: to name a member of an enumeration takes six times as long.
_EVENTS, _GUESS, _NONE = Source.EVENTS, Source.GUESS, Source.NONE
_UNKNOWN = Verdict.UNKNOWN


class _Looked:
    """What is found once for all seats of one block size."""

    __slots__ = ("_most", "_unit_tokens", "keys", "walk")

    def __init__(self, keys: Keys, walk: dict[int, int], unit_tokens: float, most: int) -> None:
        self.keys = keys
        self.walk = walk
        self._unit_tokens = unit_tokens
        self._most = most

    def tokens(self, units: int) -> int:
        """So many leading units are so many tokens."""
        return min(self._most, int(units * self._unit_tokens))


@dataclass(slots=True)
class _Place:
    """A seat's sources."""

    guessed: Seat
    """Its part of the guess."""
    kv_tokens: int | None
    block_tokens: int | None = None
    holdings: Holdings | None = None
    complete: bool = False
    """The holdings are known from their beginning, without a gap."""
    pending_units: int = 0

    @property
    def block(self) -> int:
        told = self.holdings.block_tokens if self.holdings is not None else None
        return told or self.block_tokens or DEFAULT_BLOCK


class Mirror:
    """Of all seats. Bounded in bytes by the guess, in blocks by each seat's holdings."""

    def __init__(self, *, most_bytes: int, exact: bool) -> None:
        """`exact`: prompts come with keys over token ids."""
        self._exact = exact
        self._guess = Guess(most_bytes=most_bytes)
        self._places: dict[int, _Place] = {}
        self._estimate = TokenEstimate()

    @property
    def bytes_used(self) -> int:
        """By the guess; holdings are counted by their seat."""
        return self._guess.bytes_used

    def block_sizes(self) -> frozenset[int]:
        """What block sizes a prompt's token keys are wanted for. O(seats)."""
        return frozenset(place.block for place in self._places.values())

    def join(self, seat: int, *, kv_tokens: int | None) -> None:
        """A new seat that holds nothing yet."""
        self._places[seat] = _Place(self._guess.join(seat, capacity_units=None), kv_tokens)
        self._resize(seat)

    def leave(self, seat: int) -> None:
        """Forget it."""
        del self._places[seat]
        self._guess.leave(seat)

    def clear(self, seat: int) -> None:
        """What it held is gone."""
        self._guess.clear(seat)
        holdings = self._places[seat].holdings
        if holdings is not None:
            holdings.clear()

    def told(self, seat: int, *, kv_tokens: int | None, block_tokens: int | None) -> None:
        """The replica says how large its cache and its blocks are."""
        place = self._places[seat]
        place.kv_tokens = kv_tokens or place.kv_tokens
        place.block_tokens = block_tokens or place.block_tokens
        self._resize(seat)

    def follow(self, seat: int, holdings: Holdings | None, *, complete: bool) -> None:
        """Events arrive (`complete`: from their beginning on), or no longer do (None)."""
        place = self._places[seat]
        place.holdings = holdings
        if complete and not place.complete:
            self._guess.clear(seat)
        place.complete = complete and holdings is not None
        self._resize(seat)

    def follows(self, seat: int) -> bool:
        """Whether its holdings are trusted alone."""
        return self._places[seat].complete

    def holdings(self, seat: int) -> Holdings | None:
        """Those of its events, if it has any."""
        return self._places[seat].holdings

    def prompt_tokens(self, prompt: Prompt) -> int:
        """Counted, or estimated from bytes."""
        if prompt.prompt_tokens is not None:
            return prompt.prompt_tokens
        return self._estimate.tokens(prompt.model, prompt.text_bytes)

    def beliefs(self, prompt: Prompt, seats: Sequence[int], tokens: int) -> list[Belief]:
        """What each seat holds of a prompt of so many tokens, in their order. Pure.

        Cost: a walk of the tree for each kind of keys (mostly one), a bisection a seat.
        """
        looked: dict[int, _Looked | None] = {}  # by block size: mostly one
        found: list[Belief] = []
        places = self._places
        for seat in seats:
            place = places[seat]
            block = place.block
            if block in looked:
                look = looked[block]
            else:
                look = looked[block] = self._look(prompt, place, tokens)
            if look is None:
                found.append(NOTHING)
                continue
            holdings, guessed = place.holdings, look.tokens(look.walk.get(seat, 0))
            if holdings is None or not look.keys.exact:
                found.append(Belief(guessed, 0, _GUESS))
                continue
            held = holdings.held(look.keys)
            fast, anywhere = look.tokens(held.fast_units), look.tokens(held.any_units)
            cached = max(guessed, fast)
            source = _EVENTS if place.complete or fast >= guessed else _GUESS
            found.append(Belief(cached, max(0, anywhere - cached), source))
        return found

    def _look(self, prompt: Prompt, place: _Place, tokens: int) -> "_Looked | None":
        keys = _keys_for(prompt, place)
        if keys is None:
            return None
        walk = self._guess.held(keys.keys)
        return _Looked(keys, walk, self._unit_tokens(prompt, keys), _most_cached(tokens, keys))

    def routed(self, seat: int, prompt: Prompt) -> int:
        """The prompt is on its way: the seat will hold it. How many units are pending by that."""
        place = self._places[seat]
        keys = _keys_for(prompt, place) if prompt.tokens else prompt.text
        if keys is None:
            return 0
        units = len(keys.keys)
        place.pending_units += units
        if place.complete:
            self._resize(seat)
        self._guess.routed(seat, keys.keys, answered=not place.complete)
        return units

    def heard(self, seat: int, unit: int, keys: list[int]) -> None:
        """Another gateway has sent a prompt there. `unit`: tokens of a block, 0 for bytes."""
        place = self._places[seat]
        if not place.complete and unit in (0, place.block):
            self._guess.routed(seat, keys, answered=False)

    def keys_for(self, seat: int, prompt: Prompt) -> Keys | None:
        """The prompt's keys of the kind that the seat is looked up by."""
        return _keys_for(prompt, self._places[seat])

    def landed(self, seat: int, units: int) -> None:
        """Its flight has ended, however. `units` as `routed` gave them."""
        place = self._places.get(seat)
        if place is None:
            return
        place.pending_units -= units
        if place.complete:
            self._resize(seat)

    def reported(
        self,
        seat: int,
        prompt: Prompt,
        believed: int,
        usage: AnswerUsage,
        *,
        slack: int | None = None,
    ) -> Verdict:
        """Learn from an answer what its seat had held of the prompt, and how long that was.

        `slack`: as from `slack`, where somebody has asked already.
        """
        self.learn_length(prompt, usage)
        place, cached = self._places.get(seat), usage.cached_tokens
        if place is None or place.complete or cached is None:
            return _UNKNOWN
        keys = _keys_for(prompt, place) if prompt.tokens else prompt.text
        if keys is None or not keys.keys:
            return _UNKNOWN
        if usage.prompt_tokens and not keys.exact:
            # By shares: what a template adds to the text falls out.
            unit = usage.prompt_tokens * TEXT_UNIT_BYTES / max(1, prompt.text_bytes)
        else:
            unit = self._unit_tokens(prompt, keys)
        # A unit may be cut by the end of a block, and reports never name a prompt's last token.
        if slack is None:
            slack = self.slack(seat, prompt)
        if abs(cached - believed) <= slack:
            cached = believed
        return self._guess.correct(seat, keys.keys, held=round(cached / unit))

    def slack(self, seat: int, prompt: Prompt) -> int:
        """How far a prediction may be off for no fault of the mirror's, in tokens."""
        place = self._places[seat]
        keys = _keys_for(prompt, place) if prompt.tokens else prompt.text
        block = max(place.block, DEFAULT_BLOCK)
        if keys is None or keys.exact:
            return block
        return block + round(2 * self._unit_tokens(prompt, keys))

    def show(
        self, prompt: Prompt, seats: Sequence[int], views: Sequence[View], tokens: int
    ) -> Sequence[Source]:
        """Bring each seat's view up to date: what `beliefs` says, and how much it holds in all.

        From which source, in their order. About 0.5 µs a seat, and the walk.
        """
        if prompt.tokens:
            sources = []
            for view, belief in zip(views, self.beliefs(prompt, seats, tokens), strict=True):
                view.cached_tokens, view.slow_tokens, source = belief
                sources.append(source)
        else:
            sources = self._show_text(prompt.text, prompt.model, seats, views, tokens)
        text_unit = 0.0 if self._exact else TEXT_UNIT_BYTES / self._estimate.bytes_a_token(None)
        places = self._places
        for seat, view in zip(seats, views, strict=True):
            place = places[seat]
            if place.complete:
                view.held_tokens, view.capacity_tokens = self.held_tokens(seat), place.kv_tokens
                continue
            guessed, unit = place.guessed, text_unit or place.block
            capacity = guessed.capacity.units
            view.held_tokens = int(guessed.units * unit)
            view.capacity_tokens = None if capacity is None else int(capacity * unit)
        return sources

    def _show_text(
        self,
        keys: Keys | None,
        model: str | None,
        seats: Sequence[int],
        views: Sequence[View],
        tokens: int,
    ) -> list[Source]:
        """Of a prompt without token ids: events say nothing of it, and all keys are of one kind."""
        walk: dict[int, int] = {}
        unit_tokens, most = 0.0, max(0, tokens - 1)
        if keys is not None:
            walk = self._guess.held(keys.keys)
            unit_tokens = keys.unit / self._estimate.bytes_a_token(model)
        for seat, view in zip(seats, views, strict=True):
            view.cached_tokens = min(most, int(walk[seat] * unit_tokens)) if seat in walk else 0
            view.slow_tokens = 0
        return [_NONE if keys is None else _GUESS] * len(seats)

    def learn_length(self, prompt: Prompt, usage: AnswerUsage) -> None:
        """Learn from an answer how long its prompt was."""
        if usage.prompt_tokens is not None and prompt.prompt_tokens is None:
            self._estimate.learn(prompt.model, prompt.text_bytes, usage.prompt_tokens)

    def forget_guesses(self) -> None:
        """What was routed is not followed from now on, so that nothing is known of it later."""
        for seat in self._places:
            self._guess.clear(seat)

    def held_tokens(self, seat: int) -> int:
        """Tokens that the seat is believed to hold. O(1)."""
        place = self._places[seat]
        if place.complete and place.holdings is not None:
            return len(place.holdings) * place.block
        return int(self._guess.held_units(seat) * self._usual_unit(place))

    def capacity_tokens(self, seat: int) -> int | None:
        """As told, and corrected by reports since; None where neither says. O(1)."""
        place = self._places[seat]
        if place.complete:
            return place.kv_tokens
        learned = self._guess.capacity_units(seat)
        return None if learned is None else int(learned * self._usual_unit(place))

    def check(self) -> None:
        """Verify every invariant. O(everything)."""
        self._guess.check()
        for place in self._places.values():
            assert place.pending_units >= 0, f"{place.pending_units} units are pending"
            assert not place.complete or place.holdings is not None, "complete without holdings"
            if place.holdings is not None:
                place.holdings.check()

    def _resize(self, seat: int) -> None:
        place = self._places[seat]
        if place.complete:
            self._guess.resize(seat, place.pending_units)
        elif place.kv_tokens is None:
            self._guess.resize(seat, None)
        else:
            self._guess.resize(seat, max(1, int(place.kv_tokens / self._usual_unit(place))))

    def _usual_unit(self, place: _Place) -> float:
        # A prompt that cannot be tokenized has keys of bytes all the same; reports correct for it.
        if self._exact:
            return place.block
        return TEXT_UNIT_BYTES / self._estimate.bytes_a_token(None)

    def _unit_tokens(self, prompt: Prompt, keys: Keys) -> float:
        if keys.exact:
            return keys.unit
        return keys.unit / self._estimate.bytes_a_token(prompt.model)


def _keys_for(prompt: Prompt, place: _Place) -> Keys | None:
    exact = prompt.tokens.get(place.block) if prompt.tokens else None
    return exact if exact is not None else prompt.text


def _most_cached(tokens: int, keys: Keys) -> int:
    """An engine computes at least the last token, and finds whole blocks only."""
    if not keys.exact:
        return max(0, tokens - 1)
    return max(0, tokens - 1) // keys.unit * keys.unit
