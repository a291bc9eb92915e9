"""Hash traces of Alibaba's Bailian (`qwen-bailian-usagetraces-anon`).

```
{"chat_id": 159, "parent_chat_id": 55, "timestamp": 61.114, "input_length": 521,
 "output_length": 132, "type": "text", "turn": 2, "hash_ids": [1089, 1090, …]}
```

Times are seconds since the trace's start, blocks have 16 tokens. Its ids are documented as digests
of each block, salted once a trace, not as digests of prefixes: they are chained here, which leaves
the relation as it is if they were chained already. A session is named for its first chat: a chat's
parents are remembered for the last 2¹⁸ chats, and a chat whose parent is older than that begins a
session named for the parent. `type` and `turn` are not kept.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from stemcache.trace.format import Format, LineReader, ReadOptions, Unit
from stemcache.trace.ids import JsonIds, block_ids, chained, check_cover
from stemcache.trace.problem import BadLineError
from stemcache.trace.record import TraceRequest
from stemcache.trace.shape import BlockSize, Decoder, Length, Name, length_of, name_of
from stemcache.trace.times import log_time_s

__all__ = ["BAILIAN"]

_HABIT_BLOCK_TOKENS = 16
_REMEMBERED_CHATS = 2**18
_ROOT = "-1"


class _Record(msgspec.Struct, frozen=True, gc=False):
    chat_id: Name
    input_length: Length
    hash_ids: JsonIds
    timestamp: float | None = None
    output_length: Length | None = None
    parent_chat_id: Name | None = None


class _BailianReader:
    unit: Unit = "tokens"
    joined_lines = 0

    def __init__(self, options: ReadOptions) -> None:
        self._decode = Decoder(_Record)
        self._size = BlockSize(options.block_tokens, habit=_HABIT_BLOCK_TOKENS)
        # By chat, the oldest first; a plain dict looks for its first key through all that are gone.
        self._sessions: OrderedDict[str, str] = OrderedDict()

    def read(self, line: bytes) -> Iterable[TraceRequest]:
        try:
            record = self._decode(line)
        except BadLineError as error:
            if "`chat_id`" in error.reason:
                raise BadLineError(
                    "it has no chat_id, among lines of a Bailian trace",
                    fix="keep one format a file",
                ) from None
            raise
        size = self._size.of(None)
        prompt_tokens = length_of(record.input_length, "input_length")
        output_tokens = length_of(record.output_length, "output_length")
        chat = name_of(record.chat_id, "chat_id")
        parent = name_of(record.parent_chat_id, "parent_chat_id")
        check_cover(len(record.hash_ids), prompt_tokens, size)
        arrival_s = log_time_s(record.timestamp, "timestamp")
        return (
            TraceRequest(
                block_ids=chained(block_ids(record.hash_ids)),
                block_tokens=size,
                prompt_tokens=prompt_tokens,
                output_tokens=output_tokens,
                arrival_s=arrival_s,
                session=self._session(chat, parent),
            ),
        )

    def _session(self, chat: str, parent: str | None) -> str:
        above = _ROOT if parent is None else parent
        session = chat if above == _ROOT else self._sessions.get(above, above)
        self._sessions[chat] = session
        if len(self._sessions) > _REMEMBERED_CHATS:
            self._sessions.popitem(last=False)
        return session


def _sniff(record: Mapping[str, object]) -> bool:
    return "hash_ids" in record and "chat_id" in record


def _reader(options: ReadOptions) -> LineReader:
    return _BailianReader(options)


BAILIAN = Format("bailian", _sniff, _reader)
