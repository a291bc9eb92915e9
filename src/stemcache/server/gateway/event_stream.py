r"""A stream of server-sent events on its way through: whole events, and what they say of usage.

```
reads     …delta"}]}⏎⏎data: {"choi │ ces":[],"usage":{…}}⏎⏎data: [DONE]⏎⏎
passed on …delta"}]}⏎⏎             │ (held until it is whole; here removed)  data: [DONE]⏎⏎
```
An event that is not whole is of no use to a client, and is held back: so the stream can end in a
clean error when its replica dies, and nothing depends on how reads are cut.
"""

import re
from collections.abc import Mapping

import msgspec

from stemcache.gateway.usage import AnswerUsage
from stemcache.server.gateway.usage_reader import usage_of
from stemcache.wire.sse import SseError, sse_data
from stemcache.wire.usage_stream import StreamUsage

__all__ = ["EventStream"]

_DECODER = msgspec.json.Decoder()
_MOST_BYTES = 2**20
"""Of one event; a larger one passes as it comes, and is not looked into."""
_LAST_BYTES = 64
_WORD = b'"usage"'
_OBJECT = re.compile(rb'"(?:usage|timings)"\s*:\s*\{')
_NULL = re.compile(rb'"usage"\s*:\s*null')
_EMPTY = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_NO_CHOICES = b'"choices":[]'
_ALWAYS = frozenset(
    {
        "choices",
        "created",
        "id",
        "model",
        "object",
        "service_tier",
        "system_fingerprint",
        "timings",
        "usage",
    }
)
"""Fields of every chunk."""
_ANY_USAGE = re.compile(rb'"usage"\s*:')
_NULL_AT_END = re.compile(rb',\s*"usage"\s*:\s*null(?=\s*\}\s*$)')
_NULL_INSIDE = re.compile(rb',\s*"usage"\s*:\s*null|"usage"\s*:\s*null\s*,\s*')
_END = re.compile(rb"\r?\n\r?\n|\r\r")
_MARKS = (b"\n\n", b"\n\r\n", b"\r\r")
_OVERLAP = max(map(len, _MARKS)) - 1
_AT_END = b',"usage":null}\n\n'
"""The end of an event as vLLM and SGLang write it where usage is asked for."""
_CHUNK_AT_END = _AT_END + b"\r\n"
_DONE = (b"data: [DONE]", b'"type":"message_stop"}', b'"type": "message_stop"}')


class EventStream:
    """One answer's. `feed` costs well below a microsecond where no usage is in what came."""

    __slots__ = ("_alone", "_held", "_last", "_merged", "_strip", "_through", "_timings")

    def __init__(self, *, strip_usage: bool) -> None:
        self._strip = strip_usage
        self._alone: Mapping[str, object] | None = None
        self._merged: StreamUsage | None = None
        self._timings: object = None
        self._held = bytearray()
        self._through = False
        self._last = b""

    def usage(self) -> AnswerUsage | None:
        """What was reported so far; None where nothing was."""
        reported = self._alone if self._merged is None else self._merged.reported
        return usage_of(reported, timings=self._timings)

    @property
    def between_events(self) -> bool:
        """Whether what was passed on ends with a whole event."""
        return not self._through

    @property
    def finished(self) -> bool:
        """Whether the last event was one that ends the stream in its API."""
        return self._last.rstrip().endswith(_DONE)

    def feed(self, data: bytes) -> bytes:
        """What to pass on now; may be empty."""
        if self._held:
            if self._goes_on(data):
                return b""
            data = bytes(self._held) + data
            self._held.clear()
        if not data.endswith((b"\n\n", b"\n\r\n")):
            data = self._hold(data)
            if not data:
                return b""
        else:
            self._through = False
        if _WORD in data or b'"timings"' in data:
            data = self._looked_into(data)
        if data:
            self._last = data[-_LAST_BYTES:]
        return data

    def chunk(self, data: bytes, size_bytes: int) -> bytes | None:
        """As `feed`, for a chunk of whole events with its framing: what to pass on of it, framed.

        None where it has to be looked into.
        """
        if self._held or self._through or b'"timings"' in data:
            return None
        if _WORD in data:
            if not data.endswith(_CHUNK_AT_END) or data.count(_WORD) != 1 or _NO_CHOICES in data:
                return None
            if self._strip:
                start = size_bytes + 2
                if not data.startswith(b"data:", start) or data.count(b"data:") != 1:
                    return None
                event = data[start : -len(_CHUNK_AT_END)]
                data = b"%x\r\n%b}\n\n\r\n" % (len(event) + 3, event)
        self._last = data
        return data

    def finish(self) -> bytes:
        """The stream has ended well: the rest, whole or not."""
        rest, self._held = bytes(self._held), bytearray()
        return self._event(rest) if rest else b""

    def _goes_on(self, data: bytes) -> bool:
        """Whether this is more of the event that is held, and not its end: it is held as well.

        Looks at what is new alone: an event may come in very many reads.
        """
        held = self._held
        behind = bytes(held[-_OVERLAP:]) + data
        if (
            len(held) + len(data) > _MOST_BYTES
            or (held.startswith(b":") and data.endswith(b"\n"))
            or any(mark in behind for mark in _MARKS)
        ):
            return False
        held += data
        return True

    def _hold(self, data: bytes) -> bytes:
        """Keep what is behind the last end of an event."""
        ends = [data.rfind(mark) + len(mark) for mark in _MARKS if mark in data]
        cut = max(ends, default=0)
        rest = data[cut:]
        if rest.startswith(b":") and rest.endswith(b"\n"):
            return data  # a comment to keep the connection alive, without an empty line
        if self._through or len(rest) > _MOST_BYTES:
            self._through = bool(rest)
            return data
        self._held += rest
        return data[:cut]

    def _looked_into(self, data: bytes) -> bytes:
        start = _begin(data, _first(data))
        found = _OBJECT.search(data, start)
        silent = data[start : _begin(data, found.start()) if found is not None else len(data)]
        passed = [data[:start]]
        if not self._strip or _are_plain_nulls(silent):
            passed.append(silent.replace(_AT_END, b"}\n\n") if self._strip else silent)
            start += len(silent)
        for end in _END.finditer(data, start):
            passed.append(self._event(data[start : end.end()]))
            start = end.end()
        passed.append(data[start:])
        return b"".join(passed)

    def _add(self, decoded: dict[str, object]) -> None:
        self._timings = decoded.get("timings", self._timings)
        if self._merged is None:
            usage = decoded.get("usage")
            if self._alone is None and isinstance(usage, dict):
                self._alone = usage  # most streams say it once
                return
            self._merged = StreamUsage()
            if self._alone is not None:
                self._merged.add({"usage": self._alone})
        self._merged.add(decoded)

    def _event(self, event: bytes) -> bytes:
        """The event as it is passed on, maybe not at all."""
        if _OBJECT.search(event) is not None:
            decoded = _decoded(event)
            if decoded is not None:
                self._add(decoded)
        if self._strip and _is_usage_alone(event):
            # An empty line before it may belong to a comment that has been passed on.
            return event[: len(event) - len(event.lstrip(b"\r\n"))]
        if self._strip and _NULL.search(event) is not None:
            return _without_null(event)
        return event


def _first(data: bytes) -> int:
    """Where the first of the words is; at least one is there."""
    word = data.find(_WORD)
    timings = data.find(b'"timings"', 0, len(data) if word < 0 else word)
    return word if timings < 0 else timings


def _begin(data: bytes, inside: int) -> int:
    """Where the event begins that this is a place in."""
    ends = [(data.rfind(mark, 0, inside), len(mark)) for mark in _MARKS]
    return max(at + length if at >= 0 else 0 for at, length in ends)


def _are_plain_nulls(events: bytes) -> bool:
    """Whether the word is only at ends of events that are each a line of data."""
    count = events.count(b"\n\n")
    return (
        events.startswith(b"data:")
        and events.count(_WORD) == events.count(_AT_END)
        and events.count(b"data:") == count
        and events.count(b"\n\ndata:") == count - 1
        and b"\r" not in events
        and _NO_CHOICES not in events
    )


def _is_usage_alone(event: bytes) -> bool:
    """Whether it is there for usage only, which may be anything: without choices and other news."""
    if _EMPTY.search(event) is None or _ANY_USAGE.search(event) is None:
        return False
    decoded = _decoded(event)
    if decoded is None:
        return True  # NaN, as Python writes it
    if decoded.get("choices") != [] or "usage" not in decoded:
        return False
    return decoded["usage"] is not None or decoded.keys() <= _ALWAYS


def _without_null(event: bytes) -> bytes:
    if event.startswith(b"data:") and event.count(b"data:") == 1:
        passed, removed = _NULL_AT_END.subn(b"", event)
        if removed:
            return passed
    decoded = _decoded(event)
    if decoded is None or "usage" not in decoded or decoded["usage"] is not None:
        return event
    if len(_NULL.findall(event)) != 1:
        return event  # another object has one too: which is which is not worth the risk
    return _NULL_INSIDE.sub(b"", event)


def _decoded(event: bytes) -> dict[str, object] | None:
    try:
        line = event.strip()
        if not line.startswith(b"data:") or b"\n" in line or b"\r" in line:
            decoded = _DECODER.decode(b"\n".join(sse_data(event)))
        else:
            decoded = _DECODER.decode(line[5:])
    except (SseError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return decoded if isinstance(decoded, dict) else None
