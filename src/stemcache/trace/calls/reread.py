"""Bodies once more, for those who let them go: by the place that each call has.

```
place ──► file ──► plain: seek to where the line begins     ──► read it as at first ──► body
                   piped or compressed: a frame of the spool
                   a transcript or a document: the whole file, of which the last one stays
```
A body is made by the same reader as at first, so it is the same value, in another object.
"""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stemcache.trace.calls.call import Call, Place
from stemcache.trace.calls.fields import decoded
from stemcache.trace.calls.format import CallFormat, CallReader, Record, Shared
from stemcache.trace.calls.records import Kind, Records
from stemcache.trace.calls.spool import Spool
from stemcache.trace.lines import MAX_LINE_BYTES
from stemcache.trace.problem import BadLineError
from stemcache.trace.source import open_source

__all__ = ["FileIndex", "Reread"]

_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class FileIndex:
    """How to find the records of a file again."""

    path: str
    format: CallFormat
    kind: Kind
    starts: "array[int]"
    """Plain bytes before each line or element."""
    ends: "array[int]"
    """Plain bytes up to the end of each element; empty for lines."""
    spool: Spool | None
    """In place of the file, where that cannot be read from anywhere."""

    def text(self, number: int) -> bytes | None:
        """A line or an element, None where it cannot be had any more."""
        if self.spool is not None:
            return self.spool.get(number)
        if not 1 <= number <= len(self.starts):
            return None
        start = self.starts[number - 1]
        try:
            with open(self.path, "rb") as file:  # noqa: PTH123  # a name, not a path to work with
                file.seek(start)
                if self.ends:
                    return file.read(self.ends[number - 1] - start)
                line = file.readline(MAX_LINE_BYTES + 2)
        except OSError:
            return None
        return line.removeprefix(_BOM) if number == 1 else line


class Reread:
    """Reads bodies again. Costs one seek and one decoding a call, in most formats.

    Of transcripts and of documents the whole file is read, and the latest stays in memory: ask for
    calls of one file one after another. None where the file is gone or has become another.
    """

    def __init__(self, shared: Shared) -> None:
        self._files: dict[str, FileIndex] = {}
        self._shared = shared
        self._whole: tuple[str, CallReader, dict[Place, Call]] | None = None

    def add(self, name: str, index: FileIndex) -> None:
        """A file that was, or is about to be, read. `name` is what places say."""
        self._files[name] = index

    def body(self, place: Place) -> Mapping[str, Any] | None:
        """The body of the call at a place, equal to what it was."""
        index = self._files.get(place.file)
        if index is None:
            return None
        if index.format.stateless and index.kind != "document":
            call = self._from_record(index, place)
        else:
            call = self._from_file(index, place)
        return None if call is None else call.body

    def _from_record(self, index: FileIndex, place: Place) -> Call | None:
        text = index.text(place.line)
        if text is None:
            return None
        reader = index.format.reader(Shared(pointers=self._shared.pointers))
        try:
            value = None if index.format.text else decoded(text, "")
            record = Record(place.file, place.line, value, text, len(text))
            calls = [*reader.read(record), *reader.finish()]
        except BadLineError:
            return None
        return next((call for call in calls if call.place == place), None)

    def _from_file(self, index: FileIndex, place: Place) -> Call | None:
        if self._whole is None or self._whole[0] != place.file:
            reader = index.format.reader(Shared(pointers=self._shared.pointers))
            calls: dict[Place, Call] = {}
            for record in _records(index, place.file):
                try:
                    for call in reader.read(record):
                        if index.format.stateless:
                            calls[call.place] = call
                except BadLineError:
                    continue
            self._whole = (place.file, reader, calls)
        _, reader, calls = self._whole
        return calls.get(place) if index.format.stateless else reader.again(place)


def _records(index: FileIndex, name: str) -> Iterator[Record]:
    if index.spool is not None and index.kind != "document":
        for number in range(1, len(index.spool) + 1):
            text = index.spool.get(number)
            if text is not None:
                yield from _decoded(name, number, text, None)
        return
    source = (
        _SpoolSource(index.spool)
        if index.spool is not None
        else open_source(index.path, what="log")
    )
    try:
        for number, text, value in Records(source, bad=lambda _number, _reason: None):
            yield from _decoded(name, number, text, value)
    finally:
        source.close()


def _decoded(name: str, number: int, text: bytes, value: Any) -> Iterator[Record]:
    if value is None:
        try:
            value = decoded(text, "")
        except BadLineError:
            return
    yield Record(name, number, value, text, len(text))


class _SpoolSource:
    """A document that was kept, as a source."""

    name = "the document"

    def __init__(self, spool: Spool) -> None:
        self._text = spool.get(1) or b""

    def chunks(self) -> Iterator[bytes]:
        yield self._text

    def close(self) -> None:
        """Nothing to close."""
