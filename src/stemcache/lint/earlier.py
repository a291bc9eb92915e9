"""Which earlier call a request goes on from: told by where it ends, else by what it has in common.

```
prompt ─► sketch ─► Ends ──────────── one answer was added ────────► number
                      └─► ParentIndex ─ most content in common ─► number
```
"""

from collections import OrderedDict

from stemcache.lint.ends import Ends
from stemcache.lint.known import Known, KnownCalls
from stemcache.lint.room import Room
from stemcache.trace.calls.call import Call
from stemcache.trace.parents.index import ParentIndex
from stemcache.trace.spans.sketch import Sketch, TextMemo, sketch
from stemcache.trace.spans.span import Prompt

__all__ = ["Earlier"]


class Earlier:
    """Earlier calls by their content, each under the number that `add` gives. Bounded by `room`."""

    def __init__(self, known: KnownCalls, *, overlap: float, room: Room) -> None:
        """`overlap` is the share of its content that a request has in common with its parent."""
        self._known = known
        self._room = room
        self._texts = TextMemo(room.memo_characters)
        self._ends = Ends(most=room.ends)
        self._ids: OrderedDict[str, int] = OrderedDict()
        self._index = ParentIndex(
            most_calls=room.calls,
            most_units=room.units,
            overlap=overlap,
            kept_bytes=room.content_bytes,
        )

    def sketch(self, prompt: Prompt) -> Sketch:
        """Its digests; texts that were seen before cost a look."""
        return sketch(prompt, self._texts)

    def find(self, call: Call, prompt: Prompt, drawn: Sketch, *, scope: str) -> int | None:
        """Number of the call that this one goes on from; None where none is known."""
        plain = self._ends.find(prompt, drawn, scope=scope)
        known = None if plain is None else self._known.get(plain)
        if known is not None and not _later(known.readable_s, call.time_s):
            return plain
        found = self._index.find(
            drawn,
            scope=scope,
            now_s=call.time_s,
            previous=self._ids.get(call.previous_id or ""),
            prompt=prompt,
        )
        return None if found is None else found.number

    def add(self, call: Call, prompt: Prompt, drawn: Sketch, *, scope: str, kept: Known) -> None:
        """Remember a call that was answered, and what is known of it."""
        number = self._index.add(drawn, scope=scope, answered_s=kept.readable_s, prompt=prompt)
        self._ends.add(drawn, scope=scope, number=number)
        if call.id:
            self._ids[call.id] = number
            if len(self._ids) > self._room.calls:
                self._ids.popitem(last=False)
        self._known.add(number, kept, prompt, call.size_bytes)


def _later(one_s: float | None, other_s: float | None) -> bool:
    return one_s is not None and other_s is not None and one_s > other_s
