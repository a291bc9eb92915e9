"""Writes that cost a premium and that nobody read while they were there.

Only where most of what one place writes goes unread is that a finding: the last turn of every
conversation leaves something that nobody comes back for.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from stemcache.lint.collect import Occurrence
from stemcache.lint.say import unread_cause
from stemcache.lint.spend import Spend
from stemcache.provider.cache.cuts import held
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.provider.usage import Usage
from stemcache.trace.calls.call import Call
from stemcache.trace.spans.span import Prompt

__all__ = ["Unread"]

_MOST_PLACES = 1_000
_LEAST_WRITES = 5
"""So few say nothing of a habit."""
_UNREAD_SHARE = 0.8


@dataclass(slots=True)
class _Write:
    place: tuple[str, str, str]
    tokens: int
    premium_usd: float | None
    call: Call


class _Place:
    __slots__ = ("lost_writes", "premium_usd", "read", "unread", "worst", "writes")

    def __init__(self) -> None:
        self.writes = 0
        self.lost_writes = 0
        self.read = 0
        self.unread = 0
        self.premium_usd = 0.0
        self.worst: _Write | None = None


class Unread:
    """Follows the newest write of each chain until somebody reads it. Bounded."""

    def __init__(self, *, most_open: int = 200_000) -> None:
        self._most_open = most_open
        self._open: OrderedDict[tuple[str, int], _Write] = OrderedDict()
        """By scope and chain: what one tenant writes no other can read."""
        self._places: dict[tuple[str, str, str], _Place] = {}

    def look(
        self,
        *,
        shape: Shape,
        prompt: Prompt,
        outcome: Outcome,
        call: Call,
        rule: Rule,
        spent: Spend,
        usage: Usage,
        charged_share: float = 0.0,
    ) -> None:
        """Settle what this call read, and follow what it wrote. O(1).

        `charged_share`: of what the call did not read, the share whose cost is charged to causes
        already, so that it is charged once.
        """
        if outcome.read_at is not None:
            self.wanted(shape.positions[outcome.read_at].chain, scope=call.scope)
        written = outcome.written_tokens if usage.written_tokens is None else usage.written_tokens
        kept = held(rule, shape).positions if rule.kind == "markers" and written else ()
        if not kept:
            return
        last = kept[-1]
        position = shape.positions[last]
        ttl = (position.mark.ttl if position.mark else None) or (
            rule.ttls[0].name if rule.ttls else ""
        )
        section = prompt.spans[last].section
        place = (rule.name, str(section), ttl)
        if place not in self._places:
            if len(self._places) >= _MOST_PLACES:
                return
            self._places[place] = _Place()
        self._places[place].writes += 1
        premium = None
        factor = rule.write_factor.get(ttl)
        if spent.cost is not None and factor and factor > 1 and written:
            premium = spent.cost.write_usd * (1 - 1 / factor) * (1 - min(1.0, charged_share))
        if len(self._open) >= self._most_open:
            self._close(next(iter(self._open)))
        self._open[call.scope, position.chain] = _Write(place, written, premium, call)

    def wanted(self, chain: int, *, scope: str) -> None:
        """Somebody came back for what was written there, whether it was found or not.

        What kept it from being found is charged for the loss.
        """
        write = self._open.pop((scope, chain), None)
        if write is not None:
            self._places[write.place].read += write.tokens

    def _close(self, key: tuple[str, int]) -> None:
        write = self._open.pop(key)
        place = self._places[write.place]
        place.lost_writes += 1
        place.unread += write.tokens
        place.premium_usd += write.premium_usd or 0.0
        if place.worst is None or write.tokens > place.worst.tokens:
            place.worst = write

    def occurrences(self) -> Iterator[Occurrence]:
        """The places of which most goes unread. Ends what is followed."""
        for key in list(self._open):
            self._close(key)
        for (rule_name, section, ttl), place in self._places.items():
            total = place.read + place.unread
            if place.writes < _LEAST_WRITES or place.worst is None:
                continue
            if place.unread < _UNREAD_SHARE * total:
                continue
            yield Occurrence(
                cause=unread_cause(f"/{section}", ttl),
                call=place.worst.call,
                parent=None,
                lost_tokens=0,
                cost_usd=place.premium_usd or None,
                rule=rule_name,
                times=place.lost_writes,
            )
