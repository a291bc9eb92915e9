"""Requests at their times through a provider's cache, with the marks they came with or ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from benchmarks.placement.airline import Turn
from stemcache.prompt.marks.forecasts import Arrival, FromGaps, gaps_of
from stemcache.prompt.marks.place import place
from stemcache.prompt.marks.placement import Held, Placement
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.price import Price, cost
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Mark, Shape
from stemcache.provider.usage import Usage

__all__ = ["Bill", "Memory", "Placer", "gaps", "play", "with_marks"]


@dataclass(slots=True)
class Bill:
    """Of a whole log."""

    usd: float = 0.0
    expected_usd: float = 0.0
    """What placements said, where ours were played."""
    prompt_tokens: int = 0
    read_tokens: int = 0
    written_tokens: int = 0


def gaps(turns: Sequence[Turn]) -> dict[Stability, list[float]]:
    """What a log tells of how often static text and sessions are shared."""
    return gaps_of(
        [Arrival(one.at_s, {Stability.STATIC: 0, Stability.SESSION: one.session}) for one in turns]
    )


class Memory:
    """What a client knows to be held of each session: its own marks, and when they were used."""

    def __init__(self, rule: Rule) -> None:
        self._lasts_s = {one.name: one.low_s for one in rule.ttls}
        self._default = rule.ttls[0].name if rule.ttls else ""
        self._used: dict[int, dict[int, tuple[float, str]]] = {}

    def held(self, session: int, at_s: float) -> list[Held]:
        """By boundary; entries that have expired have probability 0."""
        return [
            Held(boundary, float(at_s - used_s <= self._lasts_s.get(ttl, inf)))
            for boundary, (used_s, ttl) in self._used.get(session, {}).items()
        ]

    def sent(self, session: int, at_s: float, marks: Mapping[int, str | None]) -> None:
        """Marks write or refresh; what is alive keeps its lifetime."""
        known = self._used.setdefault(session, {})
        alive = {one.boundary for one in self.held(session, at_s) if one.alive}
        for boundary, ttl in marks.items():
            kept = known[boundary][1] if boundary in alive else ttl or self._default
            known[boundary] = at_s, kept


@dataclass(frozen=True, slots=True)
class Placer:
    """Ours: what a layout is and how often it is shared."""

    laids: Mapping[Turn, Laid]
    gaps_s: Mapping[Stability, Sequence[float]]
    rule: Rule
    price: Price
    endings: bool
    """Whether the provider marks endings by itself."""

    def place(self, turn: Turn, memory: Memory) -> Placement:
        """Marks for one request."""
        laid = self.laids[turn]
        return place(
            laid,
            rule=self.rule,
            price=self.price,
            forecast=FromGaps(laid, self.gaps_s),
            held=memory.held(turn.session, turn.at_s),
        )


def play(
    turns: Sequence[Turn],
    shapes: Mapping[Turn, Shape],
    *,
    rule: Rule,
    price: Price,
    placer: Placer | None,
) -> Bill:
    """All requests in order. With a placer its marks stand in place of those of the shapes."""
    cache, memory, bill = PromptCache(rule), Memory(rule), Bill()
    for turn in turns:
        shape = shapes[turn]
        if placer is not None:
            placement = placer.place(turn, memory)
            bill.expected_usd += placement.expected_usd or 0.0
            shape = with_marks(shape, placement)
            marks = {one.boundary: one.ttl for one in placement.marks}
            if placer.endings and placement.implicit:
                marks[_ending(shape)] = None
            memory.sent(turn.session, turn.at_s, marks)
        outcome = cache.look(shape, now_s=turn.at_s, scope="")
        cache.keep(shape, outcome, now_s=turn.at_s, readable_s=None, scope="")
        usage = Usage(
            prompt_tokens=shape.tokens,
            read_tokens=outcome.read_tokens,
            written_tokens=outcome.written_tokens,
            written_by_ttl=outcome.written_by_ttl,
        )
        paid = cost(usage, price, rule=rule)
        assert paid is not None, "these models have prices"
        bill.usd += paid.input_usd
        bill.prompt_tokens += shape.tokens
        bill.read_tokens += outcome.read_tokens
        bill.written_tokens += outcome.written_tokens
    return bill


def with_marks(shape: Shape, placement: Placement) -> Shape:
    """The same prompt with a placement's marks."""
    marks = {one.boundary: Mark(one.ttl) for one in placement.marks}
    return replace(
        shape,
        positions=tuple(
            replace(one, mark=marks.get(at)) for at, one in enumerate(shape.positions, 1)
        ),
        automatic=None,
        implicit=placement.implicit,
    )


def _ending(shape: Shape) -> int:
    """Where a request of this log ends that the provider marks: behind a user or a result."""
    return len(shape.positions)
