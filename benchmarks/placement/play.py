"""Requests at their times through a provider's cache, with the marks they came with or ours."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.placement.airline import Turn
from stemcache.prompt.marks.forecasts import Arrival, FromGaps, gaps_of
from stemcache.prompt.marks.memory import Memory
from stemcache.prompt.marks.place import place
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.marks.written import written_by
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.price import Price, cost
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Mark, Shape
from stemcache.provider.usage import Usage

__all__ = ["Bill", "Placer", "gaps", "play", "with_marks"]


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


@dataclass(frozen=True, slots=True)
class Placer:
    """Ours: what a layout is and how often it is shared."""

    laids: Mapping[Turn, Laid]
    gaps_s: Mapping[Stability, Sequence[float]]
    rule: Rule
    price: Price

    def place(self, turn: Turn, shape: Shape, memory: Memory) -> Placement:
        """Marks for one request, by what the session's memory tells; it takes them as sent."""
        laid = self.laids[turn]
        forecast = FromGaps(laid, self.gaps_s)
        prefixes = [b"", *(one.chain.to_bytes(8, "little") for one in shape.positions)]
        held = memory.held(prefixes, forecast=forecast, now_s=turn.at_s)
        placement = place(laid, rule=self.rule, price=self.price, forecast=forecast, held=held)
        memory.sent(prefixes, written_by(laid, placement, self.rule), now_s=turn.at_s)
        return placement


def play(
    turns: Sequence[Turn],
    shapes: Mapping[Turn, Shape],
    *,
    rule: Rule,
    price: Price,
    placer: Placer | None,
) -> Bill:
    """All requests in order. With a placer its marks stand in place of those of the shapes."""
    cache, memories, bill = PromptCache(rule), defaultdict[int, Memory](Memory), Bill()
    for turn in turns:
        shape = shapes[turn]
        if placer is not None:
            placement = placer.place(turn, shape, memories[turn.session])
            bill.expected_usd += placement.expected_usd or 0.0
            shape = with_marks(shape, placement)
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
