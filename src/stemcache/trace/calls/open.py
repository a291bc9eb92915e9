"""Open request logs of any format and read their calls once, in the order of the files.

```
paths ──► files ──► records ──first ones──► format ──► reader ──► Call … ──► repeated? dropped
                    problems counted                  left out counted        by id and body
```
Memory is bounded by the longest line and by what a format must hold: a transcript, the answers to
a batch, one document. Of each line eight bytes stay, to read it again, and of each response id
some hundred, to know it again.

Calls come in the order of files and lines, which need not be that of time.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import TracebackType
from typing import Self

from stemcache.errors import UsageError
from stemcache.trace.calls.call import Call
from stemcache.trace.calls.detect import FORMAT_LIST, format_named, told_format
from stemcache.trace.calls.fields import decoded
from stemcache.trace.calls.format import CallFormat, Record, Shared
from stemcache.trace.calls.formats.batch import unasked
from stemcache.trace.calls.formats.mapped import MAPPED, parsed_mapping
from stemcache.trace.calls.paths import LogFile, answers_first, found_files
from stemcache.trace.calls.records import Piece, Records
from stemcache.trace.calls.repeats import Repeats
from stemcache.trace.calls.reread import FileIndex, Reread
from stemcache.trace.calls.spool import Spool, SpoolFile
from stemcache.trace.problem import BadLineError
from stemcache.trace.source import Source, open_source

__all__ = ["CallLog", "CallProblem", "Problems", "open_calls"]

_SNIFFED_RECORDS = 2_000
_SNIFFED_BYTES = 2**25
_KEPT_EXAMPLES = 5
_MAX_REASONS = 200
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


@dataclass(frozen=True, slots=True)
class CallProblem:
    """A record that could not be read."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class Problems:
    """Records that could not be read: how many for which reason, and the first few of them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: list[CallProblem] = []

    @property
    def total(self) -> int:
        """Records left unread."""
        return self.counts.total()

    def add(self, file: str, line: int, reason: str) -> None:
        """Count one. Reasons beyond a bound are counted together."""
        if reason not in self.counts and len(self.counts) >= _MAX_REASONS:
            reason = "other reasons"
        self.counts[reason] += 1
        if len(self.examples) < _KEPT_EXAMPLES:
            self.examples.append(CallProblem(file, line, reason))

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[CallProblem]:
        return iter(self.examples)


class CallLog:
    """The calls of logs, once. Close it, or use it in a `with`.

    What it says of itself is true of what was read so far, so ask again at the end.
    """

    def __init__(
        self,
        files: Sequence[LogFile],
        *,
        format: CallFormat | None,  # noqa: A002  # as the flag is called
        shared: Shared,
        on_progress: Callable[[int, int | None], None] | None,
    ) -> None:
        self.problems = Problems()
        self.repeated = 0
        """Records of a call that was counted before."""
        self.lines = 0
        """Records so far that are not blank."""
        self.reread = Reread(shared)
        """Reads bodies again, until the log is closed."""
        self._files = files
        self._forced = format
        self._shared = shared
        self._on_progress = on_progress
        self._formats: dict[str, CallFormat] = {}
        self._source: Source | None = None
        self._spool_file: SpoolFile | None = None
        self._bytes_before = 0
        self._bytes_total = _total(files)
        self._repeats = Repeats()
        self._entered = False

    @property
    def format(self) -> str:
        """Name of the format, of several with commas between; empty before the first record."""
        return ", ".join(self._formats)

    @property
    def left_out(self) -> Mapping[str, int]:
        """Records that are in order but are no calls, such as other spans of a trace."""
        return self._shared.left_out

    @property
    def reused_ids(self) -> Mapping[str, int]:
        """Calls with the response id of another call, by that id: the id cannot be one."""
        return self._repeats.reused

    @property
    def bytes_read(self) -> int:
        """Stored bytes so far, compressed ones where a file is compressed."""
        return self._bytes_before + (0 if self._source is None else self._source.bytes_read)

    @property
    def bytes_total(self) -> int | None:
        """None where it cannot be known, as for a pipe."""
        return self._bytes_total

    def __iter__(self) -> Iterator[Call]:
        """Once only. Raises UsageError for a file of no known format."""
        assert not self._entered, "a log is read once; open it again"
        self._entered = True
        files = answers_first(self._files)
        for call in chain(chain.from_iterable(map(self._read, files)), unasked(self._shared)):
            if self._repeats.is_repeat(call):
                self.repeated += 1
            else:
                yield call

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close files and give up temporary ones. Harmless twice."""
        if self._source is not None:
            self._source.close()
        if self._spool_file is not None:
            self._spool_file.close()

    def _read(self, file: LogFile) -> Iterator[Call]:
        self._source = open_source(file.path, what="log")
        name = file.path
        spool = None
        if not _seekable(file.path):
            if self._spool_file is None:
                self._spool_file = SpoolFile()
            spool = Spool(self._spool_file)
        records = Records(
            self._source,
            bad=lambda line, reason: self.problems.add(name, line, reason),
            on_bytes=self._tell,
            spool=spool,
        )
        try:
            pieces = iter(records)
            head: list[Piece] = []
            found = self._forced or self._told(file, pieces, head)
            if found is None:
                return
            self._formats.setdefault(found.name, found)
            index = FileIndex(name, found, records.kind, records.starts, records.ends, spool)
            self.reread.add(name, index)
            yield from self._calls(name, found, chain(head, pieces), index, records)
        finally:
            self._bytes_before += self._source.bytes_read
            self._source.close()
            self._source = None
            if self._on_progress is not None:
                self._on_progress(self.bytes_read, self.bytes_total)

    def _calls(
        self,
        name: str,
        found: CallFormat,
        pieces: Iterator[Piece],
        index: FileIndex,
        records: Records,
    ) -> Iterator[Call]:
        reader = found.reader(self._shared)
        for number, text, value in pieces:
            index.kind = records.kind
            self.lines += 1
            try:
                if value is None and not found.text:
                    value = decoded(text, "")  # noqa: PLW2901  # the same record, decoded
                yield from reader.read(Record(name, number, value, text, len(text)))
            except BadLineError as error:
                self.problems.add(name, number, error.reason)
        yield from reader.finish()

    def _told(self, file: LogFile, pieces: Iterator[Piece], head: list[Piece]) -> CallFormat | None:
        """Take records into `head` until one tells the format."""
        held = 0
        for piece in pieces:
            head.append(piece)
            found = told_format(piece)
            if found is not None:
                return found
            held += len(piece[1])
            if len(head) >= _SNIFFED_RECORDS or held > _SNIFFED_BYTES:
                break
        if not file.named:
            self._shared.left_out["files of no known format"] += 1
            return None
        name = "standard input" if file.path == "-" else file.path
        if not head:
            if self.problems.total:
                return None
            raise UsageError(f"{name} is empty; give a log of requests")
        raise UsageError(
            f"{name} is no log of requests of a known format; say which with --format "
            f"({FORMAT_LIST}), or where the body stands with --map request=/payload/body"
        )

    def _tell(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.bytes_read, self.bytes_total)


def open_calls(
    paths: Sequence[str],
    *,
    format: str | None = None,  # noqa: A002  # as the flag is called
    mapping: Mapping[str, str] | None = None,
    mapping_source: str = "--map",
    on_progress: Callable[[int, int | None], None] | None = None,
) -> CallLog:
    """Open files, directories, or standard input for `-`; nothing is read until it is iterated.

    `mapping` says by JSON pointers where a record has what (`request`, `response`, `usage`, …);
    `mapping_source` is what errors say that it is from.
    `on_progress` is told of bytes read and of all bytes, or None, about once a megabyte. Raises
    UsageError for paths, formats and mappings that cannot be used.
    """
    forced = None if format is None else format_named(format)
    shared = Shared()
    if mapping is not None:
        if forced is not None:
            raise UsageError("--format and --map exclude each other; leave --format out")
        shared.pointers = parsed_mapping(mapping, mapping_source)
        forced = MAPPED
    return CallLog(found_files(paths), format=forced, shared=shared, on_progress=on_progress)


def _total(files: Sequence[LogFile]) -> int | None:
    total = 0
    for file in files:
        try:
            found = os.stat(file.path)  # noqa: PTH116  # a name, not a path to work with
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        total += found.st_size
    return total


def _seekable(path: str) -> bool:
    """Whether lines can be read again from the file itself: a plain one, not compressed."""
    try:
        if path == "-" or not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            return False
        with open(path, "rb") as file:  # noqa: PTH123
            head = file.read(4)
    except (OSError, ValueError):
        return False  # opening it as a log says what is wrong
    skippable = head[1:] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F
    return not head.startswith(_COMPRESSED) and not skippable
