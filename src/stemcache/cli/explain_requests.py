"""What `stemcache explain` is given, to requests: files of one body, lines of a log, ids.

| given | read |
|---|---|
| `a.json`, `-` | a file that is one request, however it is laid out |
| `calls.jsonl:3` | line 3 of a log of any format |
| `calls.jsonl#msg_01`, or `msg_01` with `--log calls.jsonl` | the call with that id |

A name that is a file is that file, whatever is in it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stemcache.cli.lint_progress import OnProgress
from stemcache.errors import UsageError
from stemcache.lint.explain.request import BodyText, Request
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.calls.detect import told_format
from stemcache.trace.calls.envelope import BODIES, body_call
from stemcache.trace.calls.fields import decoded
from stemcache.trace.calls.format import Record
from stemcache.trace.calls.open import CallLog, open_calls
from stemcache.trace.calls.pointer import follow, parsed_pointer
from stemcache.trace.lines import MAX_LINE_BYTES, EndlessLineError, numbered_lines
from stemcache.trace.problem import BadLineError
from stemcache.trace.source import BrokenStreamError, open_source

__all__ = ["ReadAs", "Reference", "missing", "parse_reference", "read_requests", "with_text"]

_LINE = re.compile(r"(.*):(\d{1,12})", re.DOTALL)
_IDS = ("custom_id", "id", "request_id", "requestId", "uuid")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAs:
    """How logs are read."""

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    mapping_source: str = "--map"
    on_progress: OnProgress | None = None

    def open(self, logs: Sequence[str]) -> CallLog:
        """The calls of logs."""
        return open_calls(
            logs,
            format=self.format,
            mapping=self.mapping or None,
            mapping_source=self.mapping_source,
            on_progress=self.on_progress,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What one argument names. Of a file that is one request, neither line nor id is given."""

    name: str
    logs: tuple[str, ...]
    file: str | None = None
    """Of several logs the one in which the line is."""
    line: int | None = None
    id: str | None = None

    @property
    def in_log(self) -> bool:
        """Whether it is one call of a log."""
        return self.line is not None or self.id is not None

    def names(self, call: Call) -> bool:
        """Whether it is this call, as far as the call tells."""
        if self.line is not None:
            return call.place.line == self.line and self.file in {None, call.place.file}
        return self.id is not None and call.id == self.id


def parse_reference(given: str, logs: tuple[str, ...]) -> Reference:
    """What an argument names; `logs` are those of `--log`. Raises UsageError."""
    if given == "-" or _is_file(given):
        return Reference(name=given, logs=(given,))
    if match := _LINE.fullmatch(given):
        file, line = match[1], int(match[2])
        if file == "-" or _is_file(file):
            return Reference(name=given, logs=(file,), line=line)
    file, sign, name = given.rpartition("#")
    if sign and name and (file == "-" or _is_file(file)):
        return Reference(name=given, logs=(file,), id=name)
    if logs:
        if given.isascii() and given.isdigit() and len(given) <= 12:
            if len(logs) > 1 or _is_folder(logs[0]):
                raise UsageError(
                    f"line {given} is asked for and --log names several files; say which, like "
                    f"FILE:{given}"
                )
            return Reference(name=f"{logs[0]}:{given}", logs=logs, line=int(given))
        return Reference(name=given, logs=logs, id=given)
    for path in (given, match[1] if match else "", file):
        if _is_folder(path):
            raise UsageError(f"{path} is a directory; name one request in it, like FILE:LINE")
    raise UsageError(
        f"{given!r} is no file, nor a place in one; give a file that holds one request body, a "
        "line of a log (calls.jsonl:3), or an id (calls.jsonl#ID, or ID with --log calls.jsonl)"
    )


def read_requests(references: Sequence[Reference], read_as: ReadAs) -> list[Request]:
    """One request for each, a log that several are in read once. Raises UsageError."""
    found: dict[int, Request] = {}
    for number, reference in enumerate(references):
        if not reference.in_log:
            found[number] = _whole(reference, read_as)
    logs = dict.fromkeys(reference.logs for reference in references if reference.in_log)
    for log in logs:
        wanted = {
            number: reference
            for number, reference in enumerate(references)
            if reference.in_log and reference.logs == log
        }
        calls = _found(log, list(wanted.values()), read_as)
        for number, call in zip(wanted, calls, strict=True):
            found[number] = with_text(references[number].name, call)
    return [found[number] for number in range(len(references))]


def with_text(name: str, call: Call) -> Request:
    """A call of a log with the text of its body, where the log's file can be read again for it."""
    return Request(name=name, call=call, text=_text(call, _line_of(call.place)))


def _whole(reference: Reference, read_as: ReadAs) -> Request:
    path = reference.logs[0]
    data = _read(path).removeprefix(_BOM)
    if read_as.format is None and not read_as.mapping:
        try:
            value = decoded(data, "")
        except BadLineError:
            value = None
        if value is not None and told_format((1, data, value)) is BODIES:
            call = body_call(Record(path, 1, value, data, len(data)))
            return Request(name=reference.name, call=call, text=_text(call, data))
    return _only(reference, data, read_as)


def _only(reference: Reference, data: bytes, read_as: ReadAs) -> Request:
    """The one call of a file that is a log."""
    path = reference.logs[0]
    if not data.strip():
        raise UsageError(f"{_said(path)} is empty; give a request body")
    if path == "-":
        raise UsageError(
            "standard input is no single request body; if it is a log, name it with --log - and "
            "give the number of a line in place of -"
        )
    with read_as.open((path,)) as log:
        calls = iter(log)
        first, second = next(calls, None), next(calls, None)
        if first is None:
            raise UsageError(f"{path} holds no request{_reason(log)}; give a file of one body")
    if second is not None:
        raise UsageError(
            f"{path} holds several requests; name one by its line, like {path}:"
            f"{first.place.line} or {path}:{second.place.line}"
        )
    return with_text(reference.name, first)


def _reason(log: CallLog) -> str:
    return f" ({log.problems.examples[0]})" if log.problems.examples else ""


def _found(log: tuple[str, ...], wanted: Sequence[Reference], read_as: ReadAs) -> list[Call]:
    """The calls that are wanted of one log, in one pass that ends when all are found."""
    found: dict[int, Call] = {}
    lines: list[int] = []
    with read_as.open(log) as calls:
        for call in calls:
            lines = [lines[0] if lines else call.place.line, call.place.line]
            for number, reference in enumerate(wanted):
                if number not in found and reference.names(call):
                    found[number] = call
            if len(found) == len(wanted):
                break
        for number, reference in enumerate(wanted):
            if number not in found:
                found[number] = _by_record(reference, read_as) or missing(reference, calls, lines)
    return [found[number] for number in range(len(wanted))]


def _by_record(reference: Reference, read_as: ReadAs) -> Call | None:
    """A call whose record, and not whose answer, has the id: a batch's, a gateway's."""
    if reference.id is None:
        return None
    for path in reference.logs:
        line = None if path == "-" else _line_with_id(path, reference.id)
        if line is not None:
            with read_as.open(reference.logs) as calls:
                for call in calls:
                    if call.place == replace(call.place, file=path, line=line) and call.body:
                        return call
    return None


def _line_with_id(path: str, wanted: str) -> int | None:
    """Number of the first line whose record has the id."""
    needle = wanted.encode("utf-8", "surrogatepass")
    for number, text in _lines(path):
        if needle not in text:
            continue
        try:
            record = decoded(text, "")
        except BadLineError:
            continue
        has_body = isinstance(record, dict) and any(name in record for name in ("body", "params"))
        if isinstance(record, dict) and any(record.get(name) == wanted for name in _IDS):
            if "custom_id" in record and not has_body:
                continue  # an answer of a batch, which asks nothing
            return number
    return None


def missing(reference: Reference, log: CallLog, lines: Sequence[int]) -> Call:
    """Raises the error that says what there is instead."""
    where = ", ".join(map(_said, reference.logs))
    if reference.id is not None:
        raise UsageError(
            f"no call in {where} has the id {reference.id!r}; name it by its line, like "
            f"{reference.logs[0]}:1"
        )
    known = [one for one in log.problems.examples if one.line == reference.line]
    if known:
        raise UsageError(f"{known[0].file}:{known[0].line} cannot be read: {known[0].reason}")
    if not lines:
        raise UsageError(f"no call could be read from {where}{_reason(log)}; give a log of calls")
    raise UsageError(
        f"{where} has no call on line {reference.line}; its calls are on lines {lines[0]} to "
        f"{lines[1]}"
    )


def _text(call: Call, record: bytes | None) -> BodyText | None:
    """Where the body stands in the record; None where it is not there as text."""
    if call.raw is not None:
        return BodyText(text=_decoded(call.raw), first_line=None)
    if record is None:
        return None
    inner = call.place.inner
    if not _holds(record, inner, call.body):
        return None  # a line of an array or of a document, whose calls are no lines
    bare = call.fidelity is Fidelity.WIRE and not inner
    return BodyText(text=_decoded(record), inner=inner, first_line=call.place.line, as_sent=bare)


def _holds(record: bytes, inner: str, body: Mapping[str, Any] | None) -> bool:
    """Whether an object at a pointer has all that the body has."""
    if body is None:
        return False
    try:
        node = decoded(record, "")
    except BadLineError:
        return False
    for part in parsed_pointer(inner, "the body"):
        if not isinstance(node, dict | list):
            return False
        node = follow(node, (part,))
    return isinstance(node, dict) and all(
        name in node and node[name] == value for name, value in body.items()
    )


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _line_of(place: Place) -> bytes | None:
    if place.file == "-":
        return None
    return next((text for number, text in _lines(place.file) if number == place.line), None)


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, as far as it can be read: this is for showing, and for ids."""
    with closing(open_source(path, what="request")) as source:
        try:
            for line in numbered_lines(source.chunks()):
                if line.text is not None:
                    yield line.number, line.text
        except (BrokenStreamError, EndlessLineError):
            return


def _read(path: str) -> bytes:
    held = bytearray()
    with closing(open_source(path, what="request")) as source:
        try:
            for chunk in source.chunks():
                held += chunk
                if len(held) > MAX_LINE_BYTES:
                    break
        except BrokenStreamError as error:
            raise UsageError(f"{_said(path)} cannot be read: {error}; send it again") from None
    return bytes(held)


def _is_file(path: str) -> bool:
    try:
        found = Path(path)
        return bool(path) and found.exists() and not found.is_dir()
    except (OSError, ValueError):
        return False


def _is_folder(path: str) -> bool:
    try:
        return bool(path) and Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _said(path: str) -> str:
    return "standard input" if path == "-" else path
