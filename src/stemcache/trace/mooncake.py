"""Mooncake's hash traces, and stemcache's own form, which is Mooncake's with more fields.

```
{"timestamp": 27482, "input_length": 1100, "output_length": 52, "hash_ids": [46, 47, 2353]}
```

| field | meaning |
|---|---|
| `timestamp` | milliseconds since the trace's zero, with or without a fraction |
| `input_length`, `output_length` | tokens of the prompt and of the answer |
| `hash_ids` | one chained id a block, with or without a partial last one |
| `block_size` | tokens in a block; 512 where it is left out |
| `session_id`, `tenant`, `scope` | as `TraceRequest` has them |
| `session_timestamp` | milliseconds since the session's start, in place of `timestamp` |
| `unit` | `"characters"` where lengths count characters |

Only `input_length` and `hash_ids` must be there. Other fields are not looked at; of a field that
stands twice the last one counts.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from stemcache.trace.format import Format, LineReader, ReadOptions, Unit
from stemcache.trace.ids import JsonIds, block_ids, chained, check_cover
from stemcache.trace.problem import BadLineError
from stemcache.trace.record import TraceRequest
from stemcache.trace.shape import BlockSize, BlockTokens, Decoder, Length, Name, length_of, name_of
from stemcache.trace.times import seconds

__all__ = ["HABIT_BLOCK_TOKENS", "MOONCAKE"]

HABIT_BLOCK_TOKENS = 512


class _Record(msgspec.Struct, frozen=True, gc=False):
    input_length: Length
    hash_ids: JsonIds
    timestamp: msgspec.Raw = msgspec.Raw()
    output_length: Length | None = None
    block_size: BlockTokens | None = None
    session_id: Name | None = None
    session_timestamp: msgspec.Raw = msgspec.Raw()
    tenant: Name | None = None
    scope: Name = ""
    unit: str = "tokens"  # a Literal's message would say back what the file says
    chat_id: Any | UnsetType = UNSET  # not of this format, but of one that looks like it


class _MooncakeReader:
    joined_lines = 0

    def __init__(self, options: ReadOptions) -> None:
        self._decode = Decoder(_Record)
        self._size = BlockSize(options.block_tokens, habit=HABIT_BLOCK_TOKENS)
        self._chain = options.chain_ids
        self._unit: Unit | None = None
        self._own_clocks: bool | None = None

    @property
    def unit(self) -> Unit:
        return self._unit or "tokens"

    def read(self, line: bytes) -> Iterable[TraceRequest]:
        record = self._decode(line)
        if record.chat_id is not UNSET:
            raise BadLineError(
                "it has a chat_id, so it is of a Bailian trace, among lines of a Mooncake trace",
                fix="keep one format a file",
            )
        unit = _unit(record.unit)
        if unit != (self._unit or unit):
            raise BadLineError(
                f"it counts {unit}, but those before count {self._unit}",
                fix="keep one unit a file",
            )
        own_clock = len(bytes(record.session_timestamp)) > 0
        arrival_s = self._time(record, own_clock=own_clock)
        size = self._size.of(record.block_size)
        prompt_tokens = length_of(record.input_length, "input_length")
        check_cover(len(record.hash_ids), prompt_tokens, size)
        output_tokens = length_of(record.output_length, "output_length")
        scope = name_of(record.scope, "scope")
        session = name_of(record.session_id, "session_id")
        tenant = name_of(record.tenant, "tenant")
        ids = block_ids(record.hash_ids)
        self._unit = unit
        self._size.keep(size)
        if arrival_s is not None:
            self._own_clocks = own_clock
        return (
            TraceRequest(
                block_ids=chained(ids) if self._chain else ids,
                block_tokens=size,
                prompt_tokens=prompt_tokens,
                output_tokens=output_tokens,
                arrival_s=arrival_s,
                scope=scope,
                session=session,
                session_clock=own_clock,
                tenant=tenant,
            ),
        )

    def _time(self, record: _Record, *, own_clock: bool) -> float | None:
        if own_clock and record.session_id is None:
            raise BadLineError("session_timestamp stands without session_id")
        name = "session_timestamp" if own_clock else "timestamp"
        arrival_s = seconds(record.session_timestamp if own_clock else record.timestamp, name)
        if arrival_s is not None and self._own_clocks not in {None, own_clock}:
            before = "timestamp" if own_clock else "session_timestamp"
            raise BadLineError(
                f"it has a {name}, but those before have a {before}", fix="keep one clock a file"
            )
        return arrival_s


def _unit(name: str) -> Unit:
    if name == "tokens":
        return "tokens"
    if name == "characters":
        return "characters"
    raise BadLineError("unit is neither tokens nor characters")


def _sniff(record: Mapping[str, object]) -> bool:
    return "hash_ids" in record and "input_length" in record and "chat_id" not in record


def _reader(options: ReadOptions) -> LineReader:
    return _MooncakeReader(options)


MOONCAKE = Format("mooncake", _sniff, _reader)
