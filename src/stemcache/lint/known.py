"""Calls that later ones may go on from: little of each, and the prompts of the latest.

```
number ──► Known: place, times, digests, what it left       a few kilobytes, up to a budget of bytes
       └─► Prompt: texts                                    the latest ones, up to a budget of bytes
                 └─ gone: read again from the log where that can be done
```
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stemcache.lint.keys import KeyValue
from stemcache.lint.room import Room
from stemcache.provider.cache.cuts import Cuts
from stemcache.provider.rule import Rule
from stemcache.trace.calls.call import Call, Place
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt

__all__ = ["Known", "KnownCalls", "read_again"]

_ROOM = Room()
_EACH_BYTES = 1_000
"""About what one Known takes beside its arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is kept of one call."""

    call: Call
    """Without its body."""
    rule: Rule
    span_chain: npt.NDArray[np.uint64]
    """Prefix identities at the ends of spans, parameters not mixed in."""
    span_bytes: npt.NDArray[np.int64]
    keys: tuple[KeyValue, ...]
    held: Cuts
    marks: tuple[int, ...]
    """Numbers of the spans that were marked."""
    prompt_tokens: int
    reported_prompt_tokens: int | None
    readable_s: float | None
    """From when on what it left can be read."""
    last_write: int | None
    """Chain of the last position at which it left something; None where that is everywhere."""
    output_tokens: int
    """Of its answer; 0 where that is unknown."""
    did_nothing: bool
    """Whether it had markers that count and its usage shows neither a read nor a write."""

    @property
    def size_bytes(self) -> int:
        """About what it takes."""
        keys = sum(len(value.spelt) for value in self.keys)
        return _EACH_BYTES + keys + self.span_chain.nbytes + self.span_bytes.nbytes


class KnownCalls:
    """Latest calls by number. `again` reads a prompt anew, or gives None where it cannot."""

    def __init__(self, again: Callable[[Known], Prompt | None], *, room: Room = _ROOM) -> None:
        self._again = again
        self._room = room
        self._known: OrderedDict[int, Known] = OrderedDict()
        self._known_bytes = 0
        self._prompts: OrderedDict[int, tuple[Prompt, int]] = OrderedDict()
        self._prompt_bytes = 0

    def add(self, number: int, known: Known, prompt: Prompt, size_bytes: int) -> None:
        """Keep a call; what is oldest goes where a budget is used up."""
        self._known[number] = known
        self._known_bytes += known.size_bytes
        while self._known_bytes > self._room.known_bytes and len(self._known) > 1:
            _, gone = self._known.popitem(last=False)
            self._known_bytes -= gone.size_bytes
        self._hold(number, prompt, size_bytes)

    def get(self, number: int) -> Known | None:
        """What is known of a call, or None if that was too long ago."""
        return self._known.get(number)

    def prompt(self, number: int) -> Prompt | None:
        """Its texts. May read the log again."""
        held = self._prompts.get(number)
        if held is not None:
            self._prompts.move_to_end(number)
            return held[0]
        known = self._known.get(number)
        prompt = None if known is None else self._again(known)
        if known is not None and prompt is not None:
            self._hold(number, prompt, known.call.size_bytes)
        return prompt

    def _hold(self, number: int, prompt: Prompt, size_bytes: int) -> None:
        self._prompts[number] = (prompt, size_bytes)
        self._prompt_bytes += size_bytes
        while self._prompt_bytes > self._room.prompt_bytes and len(self._prompts) > 1:
            _, (_, gone) = self._prompts.popitem(last=False)
            self._prompt_bytes -= gone


def read_again(again: Callable[[Place], Mapping[str, Any] | None], known: Known) -> Prompt | None:
    """The prompt of a call whose texts are gone, from the log that has its body."""
    body = again(known.call.place)
    if body is None or known.call.api is None:
        return None
    try:
        return prompt_of(body, known.call.api, known.rule.order)
    except BadBodyError:
        return None
