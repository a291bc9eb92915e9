"""Server-sent events out of a stream of bytes that may be cut anywhere. Pure, incremental, bounded.

```
event: content_block_delta ⏎
data: {"type":             ⏎      lines end with LF, CR LF or CR; an empty one ends the event;
data:  "…"}                ⏎      data lines are joined by LF; a line that begins with a colon
: keep-alive               ⏎      is a comment
⏎
```
"""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["SseError", "SseEvent", "SseParser", "sse_data"]

_MARK = b"\xef\xbb\xbf"
"""A byte order mark, which may stand at the very beginning."""
_PART_BYTES = 2**18


class SseError(Exception):
    """An event is larger than the bound."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its type (empty if none was given) and its data."""

    type: bytes
    data: bytes


class SseParser:
    """One stream. `feed` costs time in the length of what it is given, however it is cut."""

    def __init__(self, *, max_event_bytes: int = 4 * 2**20) -> None:
        self._max_event_bytes = max_event_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._type = b""
        self._after_cr = False
        self._begun = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that this part completes. Raises SseError when one grows too large."""
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if not data:
            return []
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in data:
            self._line += data
            self._check()
            return []
        lines = data.split(b"\n")
        lines[0] = bytes(self._line) + lines[0]
        self._line = bytearray(lines.pop())
        if not self._begun:
            self._begun = True
            lines[0] = lines[0].removeprefix(_MARK)
        events: list[SseEvent] = []
        for line in lines:
            if line:
                self._field(line)
            else:
                self._end(events)
        self._check()
        return events

    def finish(self) -> list[SseEvent]:
        """The last event of a stream that ended well but without an empty line."""
        events: list[SseEvent] = []
        if self._line:
            line = bytes(self._line)
            self._line.clear()
            self._field(line if self._begun else line.removeprefix(_MARK))
        self._end(events)
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1  # empty lines cost memory too
            self._check()
        elif name == b"event":
            self._type = value

    def _end(self, events: list[SseEvent]) -> None:
        if self._data:
            events.append(SseEvent(self._type, b"\n".join(self._data)))
        self._data = []
        self._data_bytes = 0
        self._type = b""

    def _check(self) -> None:
        if len(self._line) + self._data_bytes > self._max_event_bytes:
            raise SseError(f"an event of the stream is larger than {self._max_event_bytes} bytes")


def sse_data(body: bytes) -> Iterator[bytes]:
    """The data of each event of a whole body, whose last event may lack its empty line.

    Linear; beside the body it keeps one part of it, which may be nothing but empty lines.
    """
    parser = SseParser(max_event_bytes=len(body))
    for start in range(0, len(body), _PART_BYTES):
        for event in parser.feed(body[start : start + _PART_BYTES]):
            yield event.data
    for event in parser.finish():
        yield event.data
