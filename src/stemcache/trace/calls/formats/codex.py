"""Codex's transcripts: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, a line an event.

```
session_meta    id, instructions
turn_context    model, effort                       history   input of call 1 │ answer │ output …
response_item   message, function_call, …           ───────────────────────────┴────────┴────────►
event_msg       token_count: usage of one response               call 2 asks with all of this
compacted       history replaced
```
Each `token_count` that adds to the total is one response; repetitions, which only tell of rate
limits, are passed over. What the model made since the count before is the answer, and what was
there before that is the input.

Fidelity: reconstructed. Tools and most parameters are not in the transcript, instructions not
always. Usage is put into the names of the Responses API. A request of very many items has usage
alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stemcache.trace.calls.answer import Answer, plain_tier
from stemcache.trace.calls.body import made_call
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.calls.fields import (
    first,
    items_of,
    known_time_s,
    mapping_of,
    nested,
    number_of,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, Record, Shared
from stemcache.trace.problem import BadLineError
from stemcache.wire.api import Api

__all__ = ["CODEX", "MAX_ITEMS"]

_KINDS = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"}
)
MAX_ITEMS = 20_000
"""Of one request: each call has a list of all items before it."""
_MADE = frozenset(
    {
        "reasoning",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "image_generation_call",
        "tool_search_call",
    }
)
_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")


def _sniff(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _KINDS
        and isinstance(value.get("payload"), dict)
    )


@dataclass(frozen=True, slots=True)
class _Item:
    value: Mapping[str, Any]
    size_bytes: int
    time_s: float | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is kept to make a call: how much of which history was its input."""

    line: int
    history: list[_Item]
    until: int
    answer: tuple[Mapping[str, Any], ...]
    head: Mapping[str, Any]
    usage: Mapping[str, Any]
    ended_s: float | None
    begun_s: float | None
    tier: str | None


class _Reader:
    """Follows one transcript. Holds its items once."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._file = ""
        self._session: str | None = None
        self._host: str | None = None
        self._instructions: str | None = None
        self._context: Mapping[str, Any] = {}
        self._history: list[_Item] = []
        self._boundary = 0
        self._total: object = None
        self._counted: dict[str, float] = {}
        self._begun_s: float | None = None
        self._asked: dict[int, _Asked] = {}

    def read(self, record: Record) -> Iterable[Call]:
        value = record.value
        if not isinstance(value, dict):
            raise BadLineError("the line is no object")
        self._file = record.file
        payload = mapping_of(value.get("payload"))
        time_s = known_time_s(value.get("timestamp"))
        kind = value.get("type")
        if kind == "session_meta":
            self._begin(payload)
        elif kind == "turn_context":
            self._context = payload
            self._begun_s = time_s
        elif kind == "response_item":
            self._history.append(_Item(payload, record.size_bytes, time_s))
        elif kind == "compacted":
            self._compact(payload, record.size_bytes, time_s)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            asked = self._count(record, mapping_of(payload.get("info")), time_s)
            if asked is not None:
                self._asked[record.number] = asked
                yield self._call(asked)

    def finish(self) -> Iterator[Call]:
        """Nothing waits: an answer without a count was broken off, and its usage is unknown."""
        yield from ()

    def again(self, place: Place) -> Call | None:
        asked = self._asked.get(place.line)
        return None if asked is None else self._call(asked)

    def _begin(self, payload: Mapping[str, Any]) -> None:
        self._session = text_of(payload.get("id")) or self._session
        self._host = text_of(payload.get("model_provider")) or self._host
        said = first(payload, ("base_instructions", "instructions"))
        self._instructions = text_of(nested(said, "text")) or text_of(said) or self._instructions

    def _compact(self, payload: Mapping[str, Any], size_bytes: int, time_s: float | None) -> None:
        put = payload.get("replacement_history")
        items = [item for item in items_of(put) if isinstance(item, dict)]
        if not isinstance(put, list):
            # Older transcripts have the summary alone, which becomes a message of the user's.
            summary = text_of(payload.get("message")) or ""
            content = [{"type": "input_text", "text": summary}]
            items = [{"type": "message", "role": "user", "content": content}]
        share = size_bytes // max(1, len(items))
        self._history = [_Item(item, share, time_s) for item in items]
        self._boundary = len(self._history)

    def _count(
        self, record: Record, info: Mapping[str, Any], time_s: float | None
    ) -> _Asked | None:
        total = mapping_of(info.get("total_token_usage"))
        usage = mapping_of(info.get("last_token_usage"))
        if not usage and total:
            usage = {
                name: number - self._counted.get(name, 0)
                for name in _COUNTS
                if (number := number_of(total.get(name))) is not None
            }
        spelt = repr(sorted((str(name), repr(count)) for name, count in (total or usage).items()))
        if not usage or spelt == self._total or not any(usage.values()):
            return None
        self._total = spelt
        self._counted = {
            name: number for name in _COUNTS if (number := number_of(total.get(name))) is not None
        }
        history = self._history
        until = self._boundary
        while until < len(history) and not _is_made(history[until].value):
            until += 1
        answer = tuple(item.value for item in history[until:] if _is_made(item.value))
        self._boundary = len(history)
        begun = self._begun_s
        if until and history[until - 1].time_s is not None:
            begun = max(history[until - 1].time_s or 0.0, begun or 0.0)
        return _Asked(
            line=record.number,
            history=history,
            until=until,
            answer=answer,
            head=self._head(),
            usage=_usage(usage),
            ended_s=time_s,
            begun_s=begun,
            tier=plain_tier(self._context.get("service_tier")),
        )

    def _head(self) -> dict[str, Any]:
        head: dict[str, Any] = {"model": text_of(self._context.get("model"))}
        if self._instructions is not None:
            head["instructions"] = self._instructions
        effort = text_of(self._context.get("effort"))
        if effort is not None:
            head["reasoning"] = {"effort": effort}
        return head

    def _call(self, asked: _Asked) -> Call:
        items = asked.history[: asked.until] if asked.until <= MAX_ITEMS else []
        body = {**asked.head, "input": [item.value for item in items]}
        return made_call(
            place=Place(self._file, asked.line),
            api=Api.RESPONSES,
            body=body if asked.until <= MAX_ITEMS else None,
            model=text_of(asked.head.get("model")),
            fidelity=Fidelity.RECONSTRUCTED,
            size_bytes=sum(item.size_bytes for item in items),
            answer=Answer(content=list(asked.answer) or None),
            usage=asked.usage,
            host=self._host,
            session=self._session,
            time_s=asked.begun_s,
            ended_s=asked.ended_s,
            tier=asked.tier,
        )


def _is_made(item: Mapping[str, Any]) -> bool:
    """Whether the model made an item, rather than the client."""
    kind = text_of(item.get("type"))
    return item.get("role") == "assistant" if kind == "message" else kind in _MADE


def _usage(counts: Mapping[str, Any]) -> dict[str, Any]:
    usage: dict[str, Any] = {}
    for name in ("input_tokens", "output_tokens", "total_tokens"):
        if number_of(counts.get(name)) is not None:
            usage[name] = counts[name]
    details = {}
    for name, theirs in (
        ("cached_tokens", "cached_input_tokens"),
        ("cache_write_tokens", "cache_write_input_tokens"),
    ):
        if number_of(counts.get(theirs)) is not None:
            details[name] = counts[theirs]
    if details:
        usage["input_tokens_details"] = details
    return usage


CODEX = CallFormat(
    name="codex",
    title="Codex's transcripts",
    fidelity=Fidelity.RECONSTRUCTED,
    sniff=_sniff,
    reader=_Reader,
    stateless=False,
)
