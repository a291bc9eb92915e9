"""Predicted against reported cached tokens of one seat.

A single answer may differ for good reasons: a sibling's blocks came in between, or were evicted
while the request waited. What counts is how many of the last ones differ, and by how much.

```
predicted ──┐
            ├─► differs by more than the slack? ─► last 32 answers ─► more than a third: DISAGREES
reported  ──┘                                       back below a sixth: AGREES
```
"""

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["SelfCheck", "Standing"]

_WINDOW = 32
_ENOUGH = 8
_ALARM = 1 / 3
_CALM = 1 / 6
_ALIKE = False, False


class Standing(StrEnum):
    """What the last answers say of the mirror."""

    UNKNOWN = "unknown"
    """Too few reports, or none: never taken for agreement."""
    AGREES = "agrees"
    DISAGREES = "disagrees"


@dataclass(slots=True)
class SelfCheck:
    """Of one seat. O(1) an answer."""

    predicted_tokens: int = 0
    """Sums over the answers that reported."""
    reported_tokens: int = 0
    prompt_tokens: int = 0
    answers: int = 0
    """With a report."""
    silent: int = 0
    """Without one."""
    unpredicted: int = 0
    """With one, and nothing to compare it with."""
    differing: int = 0
    over: int = 0
    """Of those, where more was predicted than reported."""
    standing: Standing = Standing.UNKNOWN
    _last: deque[tuple[bool, bool]] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    _differing_lately: int = 0
    _over_lately: int = 0

    def add(self, predicted: int, reported: int, prompt: int, *, slack: int) -> Standing | None:
        """Take one answer's figures in tokens; the new standing where it has changed."""
        self.answers += 1
        self.predicted_tokens += predicted
        self.reported_tokens += reported
        self.prompt_tokens += prompt
        differs = abs(predicted - reported) > slack
        over = differs and predicted > reported
        self.differing += differs
        self.over += over
        if len(self._last) == _WINDOW:
            differed, was_over = self._last[0]
            if not (differs or differed):  # as nearly always: then nothing changes
                self._last.append(_ALIKE)
                return None
            self._differing_lately -= differed
            self._over_lately -= was_over
        self._last.append((differs, over))
        self._differing_lately += differs
        self._over_lately += over
        return self._judged()

    @property
    def predicts_too_much(self) -> bool:
        """Whether most of the last answers that differ reported less than was predicted."""
        return self._over_lately * 2 > self._differing_lately

    def repaired(self) -> None:
        """The mirror has been cleared for it: only what comes now can end the alarm."""
        self._last.clear()
        self._differing_lately = self._over_lately = 0

    def add_unpredicted(self, reported: int, prompt: int) -> None:
        """An answer's figures where nothing was predicted: they count in the sums alone."""
        self.unpredicted += 1
        self.reported_tokens += reported
        self.prompt_tokens += prompt

    def add_silent(self) -> None:
        """An answer that said nothing of its cache."""
        self.silent += 1

    def begin_again(self) -> None:
        """The seat has begun anew: judge it by what comes, keep the sums."""
        self.repaired()
        self.standing = Standing.UNKNOWN

    def _judged(self) -> Standing | None:
        seen = len(self._last)
        if seen < _ENOUGH:
            return None
        share = self._differing_lately / seen
        now = self.standing
        if share > _ALARM:
            now = Standing.DISAGREES
        elif share < _CALM:
            now = Standing.AGREES
        elif now is Standing.UNKNOWN:
            return None
        if now is self.standing:
            return None
        self.standing = now
        return now
