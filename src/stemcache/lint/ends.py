"""The call that a request plainly goes on from, found without comparing contents.

```
earlier call   [s u1]          its whole prompt is known by one number: the chain at its end
request        [s u1 a1 u2]    chain behind u1 is such an end, and one answer lies behind it
```
A request whose prompt begins with all of an earlier call's, and adds one answer and what follows
it, has that call as its parent: nothing that was sent in between can share more with it than the
answer. Anything else (an edited history, a fork of a longer one) is left to the index of contents.
"""

from collections import OrderedDict

from stemcache.trace.spans.sketch import Sketch
from stemcache.trace.spans.span import Prompt

__all__ = ["Ends"]

_FARTHEST_SPANS = 256


class Ends:
    """Ends of the latest calls, in about 150 bytes each."""

    def __init__(self, *, most: int = 100_000) -> None:
        self._most = most
        self._ends: OrderedDict[tuple[str, int], int] = OrderedDict()

    def add(self, drawn: Sketch, *, scope: str, number: int) -> None:
        """Remember where a call's prompt ends."""
        key = scope, int(drawn.span_chain[-1])
        self._ends.pop(key, None)
        self._ends[key] = number
        if len(self._ends) > self._most:
            self._ends.popitem(last=False)

    def find(self, prompt: Prompt, drawn: Sketch, *, scope: str) -> int | None:
        """Number of the call that the request adds one answer to, or repeats; None if none is.

        O(spans behind that call's end).
        """
        spans = prompt.spans
        answered = False
        for at in range(len(spans) - 1, max(-1, len(spans) - 1 - _FARTHEST_SPANS), -1):
            number = self._ends.get((scope, int(drawn.span_chain[at])))
            if number is not None:
                return number
            answer = spans[at].role == "assistant"
            if answer and answered and spans[at + 1].role != "assistant":
                return None
            answered = answered or answer
        return None
