r"""A file as numbered records: lines, elements of one array, or the entries of one document.

```
{"model": …}\n{"model": …}\n          lines, decoded later or not at all (logs of text)
[{"model": …}, {"model": …}]          elements, cut out one by one: the array is never held
{\n  "log": {"entries": […]} …        a document: held whole, so bounded, and its entries given
{\n  "model": …\n}\n{\n  "model": …     objects laid out over lines, one after another: likewise
```
What a file is, is told by its first line. Where each line begins is noted, at eight bytes a line,
so that it can be read again.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Literal, Protocol

import numpy as np

from stemcache.errors import UsageError
from stemcache.trace.calls.elements import split_elements
from stemcache.trace.calls.fields import decoded, nested
from stemcache.trace.calls.spool import Spool
from stemcache.trace.lines import ENDLESS_BYTES, MAX_LINE_BYTES, EndlessLineError, numbered_lines
from stemcache.trace.problem import BadLineError
from stemcache.trace.source import BrokenStreamError

__all__ = ["MAX_DOCUMENT_BYTES", "Kind", "Piece", "Records", "entries_of"]

MAX_DOCUMENT_BYTES = 2**28
"""Of one HAR or another document that is no list of lines; decoded it takes a few times as much."""

Kind = Literal["lines", "elements", "document"]
Piece = tuple[int, bytes, Any]
"""Number, text, and the value where it had to be decoded already."""

_ENTRIES = (("log", "entries"), ("data",), ("events",), ("observations",), ("hits", "hits"))
_HEAD_BYTES = 4096
_BLANK_BYTES = 2**22
_BOM = b"\xef\xbb\xbf"


def entries_of(value: Any) -> list[Any] | None:
    """The records that a document holds, None for a value that is a record itself."""
    if not isinstance(value, dict) or "messages" in value:
        return None
    for way in _ENTRIES:
        entries = nested(value, *way)
        if isinstance(entries, list) and (not entries or isinstance(entries[0], dict)):
            return entries
    return None


class Chunked(Protocol):
    """What is read of a source."""

    @property
    def name(self) -> str: ...
    def chunks(self) -> Iterator[bytes]: ...


class Records:
    """The records of one source, once."""

    def __init__(
        self,
        source: Chunked,
        *,
        bad: Callable[[int, str], None],
        on_bytes: Callable[[], None] | None = None,
        spool: Spool | None = None,
    ) -> None:
        self.kind: Kind = "lines"
        self.starts = array("Q", [0])
        """Where each line begins, or each element, in plain bytes."""
        self.ends = array("Q")
        """Where each element ends."""
        self.lines = 0
        self._source = source
        self._bad = bad
        self._on_bytes = on_bytes
        self._spool = spool
        self._plain_bytes = 0

    def __iter__(self) -> Iterator[Piece]:
        chunks = self._chunks()
        try:
            head = _head(chunks)
            start = head.removeprefix(_BOM).lstrip()
            whole = chain((head,), chunks)
            if start.startswith(b"[") and start[1:].lstrip()[:1] in {b"{", b"]", b""}:
                self.kind = "elements"
                yield from self._elements(whole)
            elif _is_document(start):
                self.kind = "document"
                yield from self._document(whole)
            else:
                yield from self._numbered(whole)
        except BrokenStreamError as error:
            self._bad(self.lines + 1, str(error))

    def _chunks(self) -> Iterator[bytes]:
        for chunk in self._source.chunks():
            if self.kind == "lines":
                ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
                if len(ends):
                    self.starts.frombytes(
                        (ends + (self._plain_bytes + 1)).astype(np.uint64).tobytes()
                    )
            self._plain_bytes += len(chunk)
            yield chunk
            if self._on_bytes is not None:
                self._on_bytes()

    def _numbered(self, chunks: Iterable[bytes]) -> Iterator[Piece]:
        try:
            for line in numbered_lines(chunks):
                self.lines += 1
                if line.text is None:
                    self._bad(line.number, f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB")
                else:
                    if self._spool is not None:
                        self._spool.add(line.number, line.text)
                    yield line.number, line.text, None
        except EndlessLineError as error:
            raise UsageError(
                f"{self._source.name}, line {error.number}: no line ends within "
                f"{ENDLESS_BYTES // 2**30} GiB; give a log of lines"
            ) from None

    def _elements(self, chunks: Iterable[bytes]) -> Iterator[Piece]:
        del self.starts[:]
        for number, (start, text) in enumerate(
            split_elements(chunks, max_bytes=MAX_LINE_BYTES), start=1
        ):
            self.lines += 1
            self.starts.append(start)
            if text is None:
                self.ends.append(start)
                self._bad(number, "the array's element is cut off or too long")
            else:
                self.ends.append(start + len(text))
                if self._spool is not None:
                    self._spool.add(number, text)
                yield number, text, None

    def _document(self, chunks: Iterable[bytes]) -> Iterator[Piece]:
        held = bytearray()
        for chunk in chunks:
            held += chunk
            if len(held) > MAX_DOCUMENT_BYTES:
                raise UsageError(
                    f"{self._source.name} is one document of more than "
                    f"{MAX_DOCUMENT_BYTES // 2**20} MiB; write it as JSONL, a record a line: "
                    "jq -c '.log.entries[]' FILE, jq -c '.data[]' FILE, or jq -c . FILE"
                )
        self.lines = 1
        text = bytes(held).removeprefix(_BOM)
        if self._spool is not None:
            self._spool.add(1, text)
        try:
            value = decoded(text, "")
        except BadLineError as error:
            found = [piece for _, piece in split_elements([text], max_bytes=len(text), bare=True)]
            if len(found) > 1:
                yield from self._objects(found)
            else:
                self._bad(1, error.reason)
            return
        del held
        entries = entries_of(value)
        if entries is None:
            yield 1, text, value
            return
        del text
        for number, entry in enumerate(entries, start=1):
            yield number, b"", entry

    def _objects(self, found: list[bytes | None]) -> Iterator[Piece]:
        """Objects that stand one after another."""
        self.lines = len(found)
        for number, text in enumerate(found, start=1):
            if text is None:
                self._bad(number, "the object is cut off")
                continue
            try:
                value = decoded(text, "")
            except BadLineError as error:
                self._bad(number, error.reason)
            else:
                yield number, text, value


def _head(chunks: Iterator[bytes]) -> bytes:
    """As much as tells what a file is: its first line, or the beginning of that."""
    head = bytearray()
    for chunk in chunks:
        head += chunk
        line = head.lstrip(_BOM + b" \t\r\n")
        if b"\n" in line or len(line) > _HEAD_BYTES or len(head) > _BLANK_BYTES:
            break
    return bytes(head)


def _is_document(start: bytes) -> bool:
    """Whether the first line is the beginning of an object that goes on, or holds many entries."""
    line, found, _ = start.partition(b"\n")
    line = line.rstrip()
    if not line.startswith(b"{"):
        return False
    if line.endswith((b"{", b"[", b",")):
        return bool(found)
    return line[:2000].replace(b" ", b"").startswith((b'{"log":{', b'{"data":[{', b'{"events":[{'))
