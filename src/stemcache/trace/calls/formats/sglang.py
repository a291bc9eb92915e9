"""SGLang's log with `--log-requests`: what was asked and what came of it, as text or as JSON.

```
[2026-03-01 08:00:00] Receive: obj=GenerateReqInput(rid='a', text='…', …)
[2026-03-01 08:00:01] Finish: obj=GenerateReqInput(rid='a', text='…', …), out={'meta_info': {…}}
{"timestamp", "event": "request.finished", "rid": "a", "obj": {…}, "out": {…}}
```
`Finish` repeats what `Receive` said and adds usage, so a call is read there; a request that never
finished is given at the end, up to a bound on what waits. `Receive OpenAI` says the same request
once more, before it is rendered, and has no id: it is left out where finished requests follow.

Fidelity: reconstructed, since the text is the rendered prompt. At level 2, the default, texts above
2,048 characters are cut in the middle: truncated. Level 3 cuts nothing; levels 0 and 1 have usage
alone. Request dumps are pickles, which can run anything when they are read, and are not read.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.calls.fields import (
    decoded,
    json_of,
    known_time_s,
    mapping_of,
    nested,
    number_of,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, CallReader, Record, Shared
from stemcache.trace.calls.formats.python_text import named_values, python_value, value_end
from stemcache.trace.problem import BadLineError
from stemcache.wire.api import Api

__all__ = ["SGLANG"]

_LINE = re.compile(rb"(?P<what>Receive OpenAI|Receive|Finish): obj=")
_JSON = re.compile(rb'"event": ?"request\.(?:received|finished)')
_DATE = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_CUT = re.compile(r"(['\"]) \.\.\. \1")
_HEAD_BYTES = 300
_CUT_CHARS = 2048 + 3
_WAITING_BYTES = 2**26


def _sniff(line: Any) -> bool:
    if not isinstance(line, bytes):
        return False
    return _LINE.search(line[:_HEAD_BYTES]) is not None or _is_json(line)


def _is_json(line: bytes) -> bool:
    return line.startswith(b"{") and _JSON.search(line[:_HEAD_BYTES]) is not None


class _Event(NamedTuple):
    what: Literal["received", "finished"]
    name: str
    """By which a request is known again when it is finished."""
    call: Call


class _Reader:
    """Follows one log. Holds requests that have not finished, in all at most a bound of bytes."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._waiting: OrderedDict[str, Call] = OrderedDict()
        self._waiting_bytes = 0
        self._finished = False

    def read(self, record: Record) -> Iterator[Call]:
        event = _event(record)
        if event is None:
            return
        _, name, call = event
        waited = self._waiting.pop(name, None)
        if waited is not None:
            self._waiting_bytes -= waited.size_bytes
        if event.what == "finished":
            self._finished = True
            yield call
            return
        self._waiting[name] = call
        self._waiting_bytes += call.size_bytes
        while self._waiting_bytes > _WAITING_BYTES and self._waiting:
            _, early = self._waiting.popitem(last=False)
            self._waiting_bytes -= early.size_bytes
            yield from self._unfinished(early)

    def finish(self) -> Iterator[Call]:
        for call in self._waiting.values():
            yield from self._unfinished(call)
        self._waiting.clear()

    def again(self, place: Place) -> Call | None:
        """A line is read again instead."""
        del place
        return None

    def _unfinished(self, call: Call) -> Iterable[Call]:
        if self._finished and call.api is not Api.COMPLETIONS:
            self._shared.left_out["requests said twice, before and after they are rendered"] += 1
            return ()
        return (call,)


def _event(record: Record) -> _Event | None:
    if _is_json(record.text):
        return _of_json(record)
    found = _LINE.search(record.text[:_HEAD_BYTES])
    if found is None:
        return None
    try:
        text = record.text.decode()
        start = len(record.text[: found.end()].decode())
    except UnicodeDecodeError:
        raise BadLineError("the text is not UTF-8") from None
    what = found["what"]
    time_s = _date(text[:start])
    end = value_end(text, start)
    if what == b"Receive OpenAI":
        body = python_value(text[start:end])
        return _asked(record, body, time_s)
    values = dict(named_values(text[start:end]))
    obj: dict[str, Any] = {
        name: _value(values[name]) for name in ("rid", "text", "input_ids") if name in values
    }
    at = text.find("out=", end) if what == b"Finish" else -1
    out = python_value(text[at + 4 : value_end(text, at + 4)]) if at >= 0 else None
    return _made(record, obj, out, time_s, finished=what == b"Finish")


def _value(text: str) -> Any:
    """An argument; of one that was cut, what is left with the dots between."""
    cut = _CUT.search(text)
    if cut is None or python_value(text) is not None:
        return python_value(text)
    head, tail = python_value(text[: cut.start() + 1]), python_value(text[cut.end() - 1 :])
    both = isinstance(head, str) and isinstance(tail, str)
    return {"cut": f"{head}...{tail}"} if both else None


def _of_json(record: Record) -> _Event | None:
    value = mapping_of(decoded(record.text, ""))
    event = text_of(value.get("event"))
    time_s = known_time_s(value.get("timestamp"))
    obj = mapping_of(value.get("obj"))
    if event == "request.received.openai":
        return _asked(record, json_of(value.get("obj")), time_s)
    if event not in {"request.received", "request.finished"}:
        return None
    obj = {"rid": value.get("rid"), **obj}
    text = obj.get("text")
    if isinstance(text, str) and len(text) == _CUT_CHARS and text[1024:1027] == "...":
        obj["text"] = {"cut": text}
    return _made(record, obj, value.get("out"), time_s, finished=event == "request.finished")


def _asked(record: Record, body: Any, time_s: float | None) -> _Event | None:
    if not is_body(body):
        return None
    cut = b"'...'" in record.text or b" ... " in record.text or b'..."' in record.text
    call = made_call(
        place=record.place(),
        body=body,
        fidelity=Fidelity.TRUNCATED if cut else Fidelity.RESERIALISED,
        size_bytes=record.size_bytes,
        host="sglang",
        time_s=time_s,
    )
    return _Event("received", f"\0{record.number}", call)


def _made(
    record: Record, obj: Mapping[str, Any], out: Any, time_s: float | None, *, finished: bool
) -> _Event:
    text = obj.get("text")
    cut = text_of(nested(text, "cut"))
    ids = obj.get("input_ids")
    asked: Any = cut or text_of(text) or (ids if isinstance(ids, list) and ids else None)
    name = text_of(obj.get("rid")) or f"\0{record.number}"
    info = mapping_of(nested(out, "meta_info"))
    wait = number_of(info.get("e2e_latency"))
    started = time_s
    if finished and time_s is not None:
        started = None if wait is None else time_s - wait
    call = made_call(
        place=record.place(),
        body=None if asked is None else {"prompt": asked},
        fidelity=Fidelity.TRUNCATED if cut else Fidelity.RECONSTRUCTED,
        size_bytes=record.size_bytes,
        api=Api.COMPLETIONS,
        usage=_usage(info),
        host="sglang",
        id=text_of(obj.get("rid")),
        failed=nested(info, "finish_reason", "type") == "abort",
        time_s=started,
        ended_s=time_s if finished else None,
    )
    return _Event("finished" if finished else "received", name, call)


def _usage(info: Mapping[str, Any]) -> dict[str, Any] | None:
    names = ("prompt_tokens", "completion_tokens")
    usage: dict[str, Any] = {
        name: info[name] for name in names if number_of(info.get(name)) is not None
    }
    if number_of(info.get("cached_tokens")) is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": info["cached_tokens"]}
    return usage or None


def _date(text: str) -> float | None:
    found = _DATE.search(text)
    return None if found is None else known_time_s(found.group(1))


def _made_reader(shared: Shared) -> CallReader:
    return _Reader(shared)


SGLANG = CallFormat(
    name="sglang",
    title="SGLang's log of requests",
    fidelity=Fidelity.RESERIALISED,
    sniff=_sniff,
    reader=_made_reader,
    text=True,
)
