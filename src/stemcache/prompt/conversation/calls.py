"""Calls of tools and their results, by ids; where an API has none, by names in order. Pure.

```
assistant   call a (search)   call b (fetch)          results given   b  a
user        result a          result b                results kept    a  b
```
Parallel tools end in any order, another each time the same work is done. Kept in the order of
their calls, equal results are equal bytes.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import msgspec

from stemcache.errors import UsageError
from stemcache.prompt.message import Message
from stemcache.prompt.part import Native, Part, ToolCall, ToolResult
from stemcache.wire.api import Api

__all__ = ["Waiting", "answered", "check_once", "ordered_results", "pending", "settled"]

_IDS: Mapping[Api, tuple[str, ...]] = {
    Api.MESSAGES: ("tool_use_id",),
    Api.RESPONSES: ("call_id",),
    Api.CONVERSE: ("toolResult", "toolUseId"),
    Api.GENERATE: ("functionResponse", "id"),
}
_NAMES: Mapping[Api, tuple[str, ...]] = {Api.GENERATE: ("functionResponse", "name")}


class Waiting:
    """Calls that wait for their results. Each verb costs the same however many there are."""

    def __init__(self, calls: Iterable[ToolCall] = ()) -> None:
        self._calls: dict[int, ToolCall] = {}
        self._by_id: dict[str, deque[int]] = {}
        self._by_name: dict[str, deque[int]] = {}
        self._added = 0
        for call in calls:
            self.add(call)

    def add(self, call: ToolCall) -> None:
        """One more."""
        self._calls[self._added] = call
        self._by_id.setdefault(call.id, deque()).append(self._added)
        self._by_name.setdefault(call.name, deque()).append(self._added)
        self._added += 1

    def take(self, part: Part) -> tuple[int, ToolCall] | None:
        """The number and the call that a part answers, which waits no longer."""
        ids = answered(part)
        if ids is None:
            return None
        numbers = self._by_id.get(ids.call) if ids.call else self._unnamed(ids.tool)
        while numbers:
            number = numbers.popleft()
            if number in self._calls:
                return number, self._calls.pop(number)
        return None

    def _unnamed(self, tool: str) -> deque[int] | None:
        if tool:
            return self._by_name.get(tool)
        return deque([next(iter(self._calls))]) if self._calls else None

    def left(self) -> tuple[ToolCall, ...]:
        """Those that wait, in their order."""
        return tuple(self._calls.values())


def pending(messages: Iterable[Message]) -> tuple[ToolCall, ...]:
    """Calls in the messages given that have no result after them. Linear."""
    waiting = Waiting()
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                waiting.add(part)
            else:
                waiting.take(part)
    return waiting.left()


def check_once(parts: Iterable[Part], owner: str) -> None:
    """Raise UsageError for two calls of one id, whose results nobody could tell apart. Linear.

    An empty id is none: there results are told by names.
    """
    seen: set[str] = set()
    for part in parts:
        if isinstance(part, ToolCall) and part.id:
            if part.id in seen:
                raise UsageError(
                    f"two calls of {owner} have the id {_short(part.id)}, so nothing could tell "
                    "their results apart; give each an id of its own"
                )
            seen.add(part.id)


def settled(results: Sequence[ToolResult], calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
    """One result for each call, in their order and with their tools' names. Linear.

    Raises UsageError for a result without a call, one given twice, and a call without a result.
    """
    waiting = Waiting(calls)
    found: dict[int, ToolResult] = {}
    for result in results:
        answered = waiting.take(result)
        if answered is None:
            twice = any(result.call_id == other.call_id for other in found.values())
            what = "is given twice" if twice else "answers no call that waits"
            raise UsageError(
                f"a result of call {_short(result.call_id)} {what}; waiting: {_listed(calls)}"
            )
        found[answered[0]] = _named(result, answered[1])
    if len(found) < len(calls):
        raise UsageError(
            f"calls have no result: {_listed(waiting.left())}; give all results of an answer at "
            "once, a failed one with failed=True"
        )
    return tuple(found[number] for number in sorted(found))


def ordered_results(parts: Sequence[Part], waiting: Waiting) -> tuple[Part, ...]:
    """Parts of a user's, the results among them in the order of their calls, which wait no longer.

    They stand on the places that results had, those without a call behind the others; nothing else
    moves. Linear in the parts, but for the sort.
    """
    places: list[int] = []
    ranked: list[tuple[float, Part]] = []
    for place, part in enumerate(parts):
        answered = waiting.take(part)
        if answered is not None:
            number, call = answered
            ranked.append((number, _named(part, call) if isinstance(part, ToolResult) else part))
        elif isinstance(part, ToolResult):
            ranked.append((inf, part))
        else:
            continue
        places.append(place)
    made = list(parts)
    ranked.sort(key=lambda one: one[0])  # stable: those without a call stay as they came
    for place, (_, part) in zip(places, ranked, strict=True):
        made[place] = part
    return tuple(made)


def _named(result: ToolResult, call: ToolCall) -> ToolResult:
    return result if result.name else replace(result, name=call.name)


class _Ids(NamedTuple):
    call: str
    """Empty where the API has no ids."""
    tool: str


def answered(part: Part) -> _Ids | None:
    """What a result says of the call that it answers, also one that an API wrote.

    None for what is no result. Linear in a native block.
    """
    if isinstance(part, ToolResult):
        return _Ids(part.call_id, part.name)
    if not isinstance(part, Native) or part.api not in _IDS:
        return None
    try:
        block = msgspec.json.decode(part.json)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    ids = _Ids(_member(block, _IDS[part.api]), _member(block, _NAMES.get(part.api, ())))
    return ids if any(ids) else None


def _member(block: Any, path: tuple[str, ...]) -> str:
    for name in path:
        block = block.get(name) if isinstance(block, dict) else None
    return block if isinstance(block, str) and path else ""


def _listed(calls: Sequence[ToolCall]) -> str:
    shown = [f"{_short(call.id)} ({call.name[:64]})" for call in calls[:5]]
    more = f" and {len(calls) - 5} more" if len(calls) > 5 else ""
    return (", ".join(shown) + more) or "none"


def _short(name: str) -> str:
    return repr(name if len(name) <= 64 else name[:61] + "...")
