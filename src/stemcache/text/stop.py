"""Stop strings, found in text that arrives in pieces.

```
stop "###"       piece "a#"    piece "#b"    piece "c##"    piece "#d"
text out         "a"           "##b"         "c"            stopped; "##", "#d" never shown
held back        "#"           ""            "##"           ""
```

Only what may be the beginning of a stop string is held back, and nothing of a stop string is ever
given out. Each character costs one step of an automaton per stop string, amortised.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["StopMatcher", "Stopped"]


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a piece of text became."""

    text: str
    """Safe to give out."""
    found: bool
    """A stop string ended the answer; no more text follows."""


class _Automaton:
    """Knows the longest beginning of one stop string that the text so far ends with."""

    def __init__(self, stop: str) -> None:
        self.stop = stop
        self.matched = 0
        # _shorter[n]: the longest proper beginning of stop[:n] that is also its end.
        self._shorter = [0] * (len(stop) + 1)
        for n in range(2, len(stop) + 1):
            self._shorter[n] = self._longest(self._shorter[n - 1], stop[n - 1])

    def _longest(self, matched: int, char: str) -> int:
        while matched and self.stop[matched] != char:
            matched = self._shorter[matched]
        return matched + (self.stop[matched] == char)

    def feed(self, char: str) -> bool:
        """Whether the stop string ends with this character. Not to be fed after that."""
        self.matched = self._longest(self.matched, char)
        return self.matched == len(self.stop)


class StopMatcher:
    """Watches one answer for stop strings; the one that is complete first ends it."""

    def __init__(self, stops: Sequence[str]) -> None:
        assert all(stops), "an empty stop string would end every answer before it begins"
        self._automata = [_Automaton(stop) for stop in stops]
        self._held = ""

    def feed(self, piece: str) -> Stopped:
        """Take in the next piece; mutates the matcher. Not to be called after `found`."""
        if not self._automata:
            return Stopped(piece, found=False)
        text = self._held + piece
        for i, char in enumerate(piece, start=len(self._held) + 1):
            # All automata see the character, so that the longest of several that end here is cut.
            ended = [len(one.stop) for one in self._automata if one.feed(char)]
            if ended:
                self._held = ""
                return Stopped(text[: i - max(ended)], found=True)
        keep = max(one.matched for one in self._automata)
        cut = len(text) - keep
        self._held = text[cut:]
        return Stopped(text[:cut], found=False)

    def finish(self) -> str:
        """What was held back, when the answer ends without a stop string."""
        held, self._held = self._held, ""
        return held
