"""Records that say again what an earlier one said: told by the response's id, and not by it alone.

```
id msg_01   body A   seen before?  no                     a call
id msg_01   body A                 yes, the same body     the same call again
id msg_01   body B   12:00:07      no: another body, and another time or usage
                                                          a call of its own; the id is no id
```
Servers and test doubles exist that give every response one id. To go by it would leave one call of
the whole log.

Costs writing out each body that has an id, at memory speed; holds some hundred bytes an id.
"""

import marshal
from collections import Counter
from dataclasses import dataclass
from typing import Any

from stemcache.trace.calls.call import Call, Fidelity

__all__ = ["Repeats"]

_SAME_MOMENT_S = 1.0
"""Two programs that log one call do not begin their records at the same microsecond."""
_MOST_REUSED = 1_000


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is kept of the first call of an id."""

    body: int | None
    usage: int | None
    time_s: float | None


class Repeats:
    """Knows calls again. Everything is O(size of the call)."""

    def __init__(self) -> None:
        self.reused: Counter[str] = Counter()
        """Calls that have the id of an earlier one but are none of its records, by id: of a
        thousand ids at most."""
        self._seen: dict[str, _Seen] = {}
        self._others: set[tuple[str, int]] = set()
        """Bodies that came with an id which was another call's already."""

    def is_repeat(self, call: Call) -> bool:
        """Whether a call was there before; remembers it if not. One without an id never was."""
        if call.id is None:
            return False
        here = _Seen(_digest(call.body), _digest(call.usage), call.time_s)
        first = self._seen.setdefault(call.id, here)
        if first is here:
            return False
        if _is_same(first, here) or call.fidelity is Fidelity.RECONSTRUCTED:
            return True  # a transcript's ids are the provider's, and what it copies may be cut
        assert here.body is not None, "a call without a body is taken for the same"
        if (call.id, here.body) in self._others:
            return True
        self._others.add((call.id, here.body))
        if call.id in self.reused or len(self.reused) < _MOST_REUSED:
            self.reused[call.id] += 1
        return False


def _is_same(first: _Seen, here: _Seen) -> bool:
    if first.body is None or here.body is None or first.body == here.body:
        return True
    if first.time_s is None or here.time_s is None:
        return False
    if first.time_s == here.time_s:
        return True
    near = abs(first.time_s - here.time_s) < _SAME_MOMENT_S
    return near and (first.usage is None or here.usage is None or first.usage == here.usage)


def _digest(value: Any) -> int | None:
    """Equal for equal values in the same order; None where there is nothing to compare."""
    if value is None:
        return None
    try:
        return hash(marshal.dumps(value, 2))  # 2: from 3 on, equal values may be written unlike
    except ValueError:  # nested deeper than it goes
        return None
