"""Caches written at message endings and explicit breakpoints, and read exactly there.

```
            developer │ user │ assistant │ user              ▲ written   ○ looked up
implicit    ▲○        │ ○    │           │ ▲○  the latest eligible message
explicit        ▲○ wherever a block has a breakpoint
```
OpenAI from 5.6. Eligible are user messages, the last tool response of a run, and the last message
of the developer messages that a prompt begins with. A request looks at its first two and latest
fifty explicit breakpoints; unless `shape.implicit` is off also at the implicit one, at twenty
eligible endings before it, and at the end of the first developer messages. It never falls back to
a shorter prefix that nobody marked.

The guide says that one implicit breakpoint is written. Measured requests also read the end of the
first developer messages where no request ended (BerriAI/litellm#37628, ax-llm/ax#573), others did
not (openai/codex#35300). It is taken to be written, beside the four; that is contested.
"""

from dataclasses import dataclass

from stemcache.provider.cache.cut import NOWHERE, Cuts
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Position, Shape
from stemcache.wire.section import Section

__all__ = ["Endings", "endings", "held", "reach"]


_WRITES = 4
_FIRST_EXPLICIT = 2
_LATEST_EXPLICIT = 50
_EARLIER_ENDINGS = 20


@dataclass(frozen=True, slots=True)
class Endings:
    """The message endings of a prompt that can be breakpoints by themselves."""

    eligible: tuple[int, ...]
    """Positions, ascending."""
    developer: int | None
    """Where the developer messages that the prompt begins with end."""


def endings(shape: Shape) -> Endings:
    """Costs O(positions)."""
    ends = [
        (index, _kind(place))
        for index, place in enumerate(shape.positions)
        if place.ends_message and place.section is not Section.TOOLS
    ]
    developer: int | None = None
    for index, kind in ends:
        if kind != "developer":
            break
        developer = index
    eligible = [
        index
        for number, (index, kind) in enumerate(ends)
        if kind == "user"
        or index == developer
        or (kind == "tool" and (number + 1 == len(ends) or ends[number + 1][1] != "tool"))
    ]
    return Endings(eligible=tuple(eligible), developer=developer)


def held(rule: Rule, shape: Shape) -> Cuts:
    """Where entries are written, the minimum left out of account."""
    writes = rule.most_markers if rule.most_markers is not None else _WRITES
    explicit = _explicit(shape)
    if not shape.implicit:
        return _cuts(explicit[max(len(explicit) - writes, 0) :])
    found = endings(shape)
    own = set(found.eligible[-1:])
    left = max(writes - len(own), 0)
    chosen = set(explicit[max(len(explicit) - left, 0) :])
    if found.developer is not None:
        chosen.add(found.developer)
    return _cuts(chosen | own)


def reach(rule: Rule, shape: Shape) -> Cuts:  # noqa: ARG001 - families are called alike
    """Where entries are found."""
    explicit = _explicit(shape)
    chosen = set(explicit[:_FIRST_EXPLICIT]) | set(explicit[-_LATEST_EXPLICIT:])
    if shape.implicit:
        found = endings(shape)
        chosen.update(found.eligible[-1 - _EARLIER_ENDINGS :])
        if found.developer is not None:
            chosen.add(found.developer)
    return _cuts(chosen)


def _explicit(shape: Shape) -> list[int]:
    return [index for index, place in enumerate(shape.positions) if place.mark is not None]


def _cuts(positions: set[int] | list[int]) -> Cuts:
    if not positions:
        return NOWHERE
    return Cuts(everywhere=False, positions=tuple(sorted(positions)))


def _kind(place: Position) -> str:
    if place.run == "tool_result" or place.role == "tool":
        return "tool"
    if place.role in {"system", "developer"}:
        return "developer"
    return place.role
