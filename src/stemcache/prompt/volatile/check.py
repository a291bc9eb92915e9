"""Volatile text where text is declared to stay: an error that says which and where to move it.

```
               words say that it is of now           its form says so: a UUID, a second
static         error                                 error
reference      error                                 stays: documents have dates and ids for good
session        error if it changes with requests     stays: written once, as the session began
turn           anything may stand in it
```
What is shown as an example, or only supposed (`if today is Monday`), is never one, and `allow`
takes a whole family out for one segment or tool. A wrong alarm costs a keyword and a missed clock
everybody's cache; but who has to allow much allows all, so words or an unmistakable form are
needed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from stemcache.errors import UsageError, unknown_choice
from stemcache.prompt.part import Text
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.prompt.volatile.clock import clock_sight
from stemcache.prompt.volatile.environment import budget_sight, environment_sights
from stemcache.prompt.volatile.ids import id_sight
from stemcache.prompt.volatile.lines import Line, lines
from stemcache.prompt.volatile.sight import Sight
from stemcache.text.volatile.detector import Family, Token
from stemcache.text.volatile.mask import next_token

__all__ = ["Found", "VolatileError", "check", "find"]

_UNREAD = frozenset({"$comment", "$id", "$ref", "$schema", "example", "examples", "pattern"})
"""Members of a schema that show an example, or that are no text."""
_NAMED = frozenset({"counter", "id"})
"""Classes told by a name, with a value behind it that may be something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A volatile piece, told by its place and class and never by its text."""

    owner: Literal["segment", "tool"]
    name: str
    stability: Stability
    part: str
    """`part 0` of a segment; of a tool `description`, or a JSON pointer into its schema."""
    offset: int
    """Characters before it in that part."""
    family: Family
    what: str
    """With an article: `an ISO time with seconds`."""
    fits: Stability
    """Where it would be right: SESSION, or TURN for what changes with each request."""

    def __str__(self) -> str:
        what = f"{self.owner} {self.name!r}, declared {self.stability}, has {self.what}"
        where = f"at character {self.offset} of {self.part}"
        move = (
            "say it in a turn(...) segment, behind the history"
            if self.fits is Stability.TURN
            else "say it in a session(...) segment, or a turn(...) one if it changes sooner"
        )
        return (
            f"{what} {where}; {move}, or keep it with allow={{'{self.family}'}} if it never changes"
        )


class VolatileError(UsageError):
    """Text that will change stands where text is declared to stay."""

    def __init__(self, found: Sequence[Found]) -> None:
        more = f"\n(and {len(found) - 1} more)" if len(found) > 1 else ""
        super().__init__(f"{found[0]}{more}")
        self.found: tuple[Found, ...] = tuple(found)
        """All of them, in the order of the prompt; never empty."""


def check(segments: Iterable[Segment], tools: Iterable[Tool] = ()) -> None:
    """Raise VolatileError if anything is found, and UsageError for a family that there is not."""
    found = find(segments, tools)
    if found:
        raise VolatileError(found)


def find(segments: Iterable[Segment], tools: Iterable[Tool] = ()) -> tuple[Found, ...]:
    """The first piece of each family in each part, tools first. Linear in their texts.

    Raises UsageError where `allow` names a family that there is not.
    """
    found: list[Found] = []
    owners: tuple[Segment | Tool, ...] = (*tools, *segments)
    for owner in owners:
        allowed = _allowed(owner)
        for part, text in _texts(owner):
            for offset, sight in _volatile(text, owner.stability, allowed):
                found.append(_found(owner, part, offset, sight))
    return tuple(found)


def _found(owner: Segment | Tool, part: str, offset: int, sight: Sight) -> Found:
    return Found(
        owner=_kind(owner),
        name=owner.name,
        stability=owner.stability,
        part=part,
        offset=offset,
        family=sight.family,
        what=sight.what,
        fits=Stability.TURN if sight.each_request else Stability.SESSION,
    )


def _kind(owner: Segment | Tool) -> Literal["segment", "tool"]:
    return "tool" if isinstance(owner, Tool) else "segment"


def _allowed(owner: Segment | Tool) -> frozenset[str]:
    for family in sorted(owner.allow):
        if family not in set(Family):
            where = f"allow of {_kind(owner)} {owner.name!r}"
            raise UsageError(unknown_choice("family", family, where, Family))
    return owner.allow


def _texts(owner: Segment | Tool) -> Iterator[tuple[str, str]]:
    """What a model reads of it, by its place."""
    if isinstance(owner, Tool):
        yield "its description", owner.description
        yield from _strings(owner.schema, "")
        return
    for number, part in enumerate(owner.parts):
        if isinstance(part, Text):
            yield f"part {number}", part.text


def _strings(value: object, pointer: str) -> Iterator[tuple[str, str]]:
    """The texts of a schema that a model reads as said, by their place."""
    if isinstance(value, str):
        yield f"its schema at {pointer}", value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _UNREAD:
                yield from _strings(item, f"{pointer}/{key}")
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from _strings(item, f"{pointer}/{at}")


def _volatile(text: str, stability: Stability, allowed: frozenset[str]) -> list[tuple[int, Sight]]:
    """The first of each family that is an error at this stability, in order of place."""
    first: dict[Family, tuple[int, Sight]] = {}
    if stability is Stability.TURN or len(allowed) == len(Family):
        return []
    for offset, sight in _sights(text):
        known = first.get(sight.family)
        if sight.family in allowed or (known is not None and known[0] <= offset):
            continue
        if _is_error(sight, stability):
            first[sight.family] = (offset, sight)
    return sorted(first.values(), key=lambda one: one[0])


def _is_error(sight: Sight, stability: Stability) -> bool:
    match stability:
        case Stability.STATIC:
            return True
        case Stability.REFERENCE:
            return sight.said
        case Stability.SESSION:
            return sight.said and sight.each_request
        case Stability.TURN:
            return False


def _sights(text: str) -> Iterator[tuple[int, Sight]]:
    said = list(lines(text))
    for line, sight in environment_sights(said):
        yield line.start + sight.at, sight
    for line in said:
        at = 0 if _may_have_tokens(line.text) else len(line.text)
        while (token := next_token(line.text, at)) is not None:
            seen = _sight(line, token)
            # `message: 3` may be a counter, and is the beginning of `message: 3 minutes ago`.
            at = token.start + 1 if seen is None and token.name in _NAMED else token.end
            if seen is not None:
                yield line.start + seen.at, seen


def _may_have_tokens(line: str) -> bool:
    """All that is judged has a digit in it, or is a weekday or an age in words."""
    return any(map(str.isdigit, line)) or "day" in line or "ago" in line


def _sight(line: Line, token: Token) -> Sight | None:
    match token.family:
        case Family.CLOCK:
            return clock_sight(line, token)
        case Family.ID:
            return id_sight(line, token)
        case Family.ENVIRONMENT:
            return budget_sight(line, token)
