"""Traces of coding sessions, a session a line, with ids run-length encoded.

```
{"id": "trace_0001", "block_size": 64, "hash_id_scope": "local", "requests": [
   {"t": 19.0, "in": 72762, "out": 296, "rle": [1, 1136]},          ids 1 to 1,136
   {"t": 134.2, "type": "subagent", "requests": [{"t": 0.0, …}]}]}  t counts from 134.2
```

`rle` is [start, length, start, length, …]; a plain list in `hash_ids` is read too. Ids are local to
the session unless `hash_id_scope` is another word than `local`. `t` is seconds from the session's
start, and a sub-agent's from its own entry's; all requests of a session are given in time order.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from stemcache.trace.distinct import name_hash
from stemcache.trace.format import Format, LineReader, ReadOptions, Unit
from stemcache.trace.ids import JsonIds, block_ids, chained, check_cover
from stemcache.trace.problem import BadLineError
from stemcache.trace.record import BlockIds, TraceRequest
from stemcache.trace.shape import BlockSize, BlockTokens, Decoder, Length, Name, length_of, name_of
from stemcache.trace.times import MAX_SECONDS

__all__ = ["SESSIONS"]

_HABIT_BLOCK_TOKENS = 64
_MOST_BLOCKS = 2**26
"""Ids of one request that a few bytes of run lengths may ask for: 512 MiB."""
_REMEMBERED_SESSIONS = 2**20
"""Names in which a second line of one session is looked for."""
_INT64 = range(-(2**63), 2**63)


class _Entry(msgspec.Struct, frozen=True):
    t: float | None = None
    in_: Length | None = msgspec.field(default=None, name="in")
    out: Length | None = None
    rle: list[int] | None = None
    hash_ids: JsonIds | None = None
    requests: "list[_Entry] | None" = None


class _Session(msgspec.Struct, frozen=True):
    id: Name
    requests: list[_Entry]
    block_size: BlockTokens | None = None
    hash_id_scope: Any = "local"


class _SessionReader:
    unit: Unit = "tokens"

    def __init__(self, options: ReadOptions) -> None:
        self._decode = Decoder(_Session)
        self._size = BlockSize(options.block_tokens, habit=_HABIT_BLOCK_TOKENS)
        self._chain = options.chain_ids
        self._named: set[int] = set()
        self.joined_lines = 0

    def read(self, line: bytes) -> Iterable[TraceRequest]:
        record = self._decode(line)
        size = self._size.of(record.block_size)
        session = name_of(record.id, "id")
        scope = session if record.hash_id_scope == "local" else ""
        flat = list(_flat(record.requests, 0.0, "requests"))
        # Lines are read whole or not at all, so everything is checked before the first is given.
        for _, entry, where in flat:
            _check(entry, size, where)
        self._size.keep(size)
        if flat:
            self._count(session)
        flat.sort(key=lambda one: one[0])
        return (self._request(at_s, entry, size, session, scope) for at_s, entry, _ in flat)

    def _count(self, session: str) -> None:
        name = name_hash(session)
        if name in self._named:
            self.joined_lines += 1
        elif len(self._named) < _REMEMBERED_SESSIONS:
            self._named.add(name)

    def _request(
        self, arrival_s: float, entry: _Entry, size: int, session: str, scope: str
    ) -> TraceRequest:
        assert entry.in_ is not None, "checked"
        ids = block_ids(entry.hash_ids) if entry.rle is None else _runs(entry.rle)  # type: ignore[arg-type]
        return TraceRequest(
            block_ids=chained(ids) if self._chain else ids,
            block_tokens=size,
            prompt_tokens=length_of(entry.in_, "in"),
            output_tokens=length_of(entry.out, "out"),
            arrival_s=arrival_s,
            scope=scope,
            session=session,
            session_clock=True,
        )


def _flat(entries: list[_Entry], start_s: float, where: str) -> Iterator[tuple[float, _Entry, str]]:
    for i, entry in enumerate(entries):
        here = f"{where}[{i}]"
        if entry.t is None:
            raise BadLineError(f"{here}.t is missing")
        if abs(entry.t) > MAX_SECONDS:
            raise BadLineError(f"{here}.t is too large for a time", fix="mend its unit")
        if entry.requests is None:
            yield start_s + entry.t, entry, here
        else:
            yield from _flat(entry.requests, start_s + entry.t, f"{here}.requests")


def _check(entry: _Entry, size: int, where: str) -> None:
    if entry.in_ is None:
        raise BadLineError(f"{where}.in is missing")
    if entry.rle is None and entry.hash_ids is None:
        raise BadLineError(f"{where}.rle is missing")
    prompt_tokens = length_of(entry.in_, f"{where}.in")
    length_of(entry.out, f"{where}.out")
    count = len(entry.hash_ids or ())
    if entry.rle is not None:
        lengths = entry.rle[1::2]
        if len(entry.rle) % 2:
            raise BadLineError(f"{where}.rle has a start without a length")
        if any(length < 0 for length in lengths):
            raise BadLineError(f"{where}.rle has a negative length")
        count = sum(lengths)
        if count > _MOST_BLOCKS:
            raise BadLineError(f"{where}.rle asks for {count} ids, more than {_MOST_BLOCKS}")
        for start, length in zip(entry.rle[::2], lengths, strict=True):
            if start not in _INT64 or start + length not in _INT64:
                raise BadLineError(f"{where}.rle has ids beyond 64 bits")
    try:
        check_cover(count, prompt_tokens, size)
    except BadLineError as error:
        raise BadLineError(f"{where} has {error.reason}", fix=error.fix) from None


def _runs(rle: list[int]) -> BlockIds:
    runs = [
        np.arange(start, start + length, dtype=np.int64)
        for start, length in zip(rle[::2], rle[1::2], strict=True)
    ]
    if len(runs) == 1:
        return runs[0]
    return np.concatenate(runs) if runs else np.empty(0, np.int64)


def _sniff(record: Mapping[str, object]) -> bool:
    requests = record.get("requests")
    if not isinstance(requests, list):
        return False
    return "hash_id_scope" in record or ("id" in record and all(map(_is_entry, requests[:1])))


def _is_entry(value: object) -> bool:
    """Whether it looks like a request, or like a sub-agent, whose own requests are not asked."""
    return isinstance(value, dict) and bool(
        value.keys() & {"rle", "hash_ids"} or ("t" in value and "requests" in value)
    )


def _reader(options: ReadOptions) -> LineReader:
    return _SessionReader(options)


SESSIONS = Format("sessions", _sniff, _reader)
