"""Claude Code's transcripts: `~/.claude/projects/DIRECTORY/SESSION.jsonl`, a line a message.

```
user u1 ── assistant a1 (id m1) ── assistant a2 (id m1) ── user u3 ── assistant a4 (id m2)
                    └── user u2, the result of a1's tool
call m1: [u1]            answer a1 + a2            usage once, of the last line
call m2: [u1, a1 + a2, u2 + u3]
```
Lines are joined by `parentUuid`. An answer is written one content block a line, each line with the
id and the usage of the whole, so lines of one `message.id` are one call, and the last one has the
final usage. The results of tools that ran side by side hang on the line that called them, not on
the chain; they are put back. A compaction starts a chain of its own, with the summary as its first
message. Sub-agents (`isSidechain`) have chains of their own too, in the file or in one beside it.
Lines that Claude Code made up itself, such as errors, have the model `<synthetic>`: no calls.

Fidelity: reconstructed. The transcript has no system prompt, no tools, no markers, no parameters,
and attachments are put into messages on the way out. Times are those of lines: a request is taken
to begin with the last line before its answer. Whether the caller has a subscription is not said.
A request of very many lines has usage alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stemcache.trace.calls.answer import answer_of
from stemcache.trace.calls.body import made_call
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.calls.fields import items_of, known_time_s, mapping_of, name_of, text_of
from stemcache.trace.calls.format import CallFormat, Record, Shared
from stemcache.trace.problem import BadLineError
from stemcache.wire.api import Api

__all__ = ["CLAUDE_CODE", "MAX_LINES"]

_KINDS = frozenset({"user", "assistant", "system", "summary", "attachment", "progress"})
_MARKS = ("sessionId", "leafUuid", "parentUuid", "isSidechain")
_MAX_CHAINS = 16
MAX_LINES = 20_000
"""Of one request. Each call has a list of all that was said before it, so that without a bound a
transcript of many lines would cost the square of them."""
_FREE_LINES = 1_000_000
_LINES_AGAIN = 20
"""How often, on the average, a line may be gone through again because of forks."""
_PLATFORMS = (("msg_bdrk_", "bedrock"), ("msg_vrtx_", "vertex"))


def _sniff(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] == "file-history-snapshot":
        return "snapshot" in value
    return value["type"] in _KINDS and any(mark in value for mark in _MARKS)


@dataclass(slots=True)
class _Line:
    """What is kept of a line."""

    number: int
    kind: str
    parent: str | None
    content: Any
    size_bytes: int
    time_s: float | None
    session: str | None = None
    message: Mapping[str, Any] = field(default_factory=dict)
    """Of an assistant's line."""
    request: str | None = None
    error: bool = False


class _Reader:
    """Holds one transcript, since any line may go on from any earlier one."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._lines: dict[str, _Line] = {}
        self._answers: dict[str, list[str]] = {}
        """Uuids of the lines of an answer, by its id."""
        self._results: dict[str, list[str]] = {}
        """Uuids of the lines with results of tools, by the line that called."""
        self._file = ""
        self._followed = 0
        self._chains: dict[str, _Chain] = {}
        """Those that may go on, by the line that they end with; the latest few."""

    def read(self, record: Record) -> Iterable[Call]:
        value = record.value
        if not isinstance(value, dict):
            raise BadLineError("the line is no object")
        self._file = record.file
        kind = text_of(value.get("type")) or ""
        uuid = text_of(value.get("uuid"))
        if uuid is None or uuid in self._lines:
            return ()
        message = mapping_of(value.get("message"))
        line = _Line(
            number=record.number,
            kind=kind if kind in {"user", "assistant"} else "",
            parent=text_of(value.get("parentUuid")),
            content=message.get("content"),
            size_bytes=record.size_bytes,
            time_s=known_time_s(value.get("timestamp")),
        )
        hidden = value.get("isVisibleInTranscriptOnly") and not value.get("isCompactSummary")
        if not isinstance(line.content, str | list) or hidden:
            line.kind = ""
        self._lines[uuid] = line
        if line.kind == "user":
            self._note_result(uuid, line, value)
        elif line.kind == "assistant":
            self._note_answer(uuid, line, value, message)
        return ()

    def _note_result(self, uuid: str, line: _Line, value: Mapping[str, Any]) -> None:
        caller = text_of(value.get("sourceToolAssistantUUID")) or line.parent
        blocks = items_of(line.content)
        if caller is not None and any(
            isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks
        ):
            self._results.setdefault(caller, []).append(uuid)

    def _note_answer(
        self, uuid: str, line: _Line, value: Mapping[str, Any], message: Mapping[str, Any]
    ) -> None:
        made_up = value.get("isApiErrorMessage") or message.get("model") == "<synthetic>"
        if made_up:
            self._shared.left_out["lines that Claude Code made up itself"] += 1
            line.kind = ""
            return
        line.message = message
        line.request = text_of(value.get("requestId"))
        line.session = name_of(value.get("sessionId"))
        agent = text_of(value.get("agentId"))
        if line.session and agent:
            line.session = f"{line.session}/{agent}"
        self._answers.setdefault(text_of(message.get("id")) or uuid, []).append(uuid)

    def finish(self) -> Iterator[Call]:
        for uuids in self._answers.values():
            yield self._call(uuids)

    def again(self, place: Place) -> Call | None:
        for uuids in self._answers.values():
            if self._lines[uuids[0]].number == place.line:
                return self._call(uuids)
        return None

    def _call(self, uuids: list[str]) -> Call:
        first = self._lines[uuids[0]]
        last = self._lines[uuids[-1]]
        chain = self._conversation(first.parent, first.number)
        body = None
        if chain is not None:
            body = {"model": text_of(first.message.get("model")), "messages": chain.messages()}
        usages = [line.message.get("usage") for line in map(self._lines.__getitem__, uuids)]
        content = [block for uuid in uuids for block in _blocks(self._lines[uuid].content)]
        usage = next((usage for usage in reversed(usages) if isinstance(usage, dict)), None)
        answer = answer_of({**first.message, "usage": usage, "content": content})
        model = text_of(first.message.get("model"))
        id_ = text_of(first.message.get("id"))
        return made_call(
            place=Place(self._file, first.number),
            api=Api.MESSAGES,
            body=body,
            fidelity=Fidelity.RECONSTRUCTED,
            size_bytes=0 if chain is None else chain.size_bytes,
            answer=answer,
            model=model,
            id=id_ or first.request,
            host=next((name for mark, name in _PLATFORMS if (id_ or "").startswith(mark)), None),
            session=first.session,
            time_s=first.time_s if chain is None or chain.time_s is None else chain.time_s,
            ended_s=last.time_s,
        )

    def _conversation(self, uuid: str | None, before: int) -> "_Chain | None":
        """The chain up to a line, one that was built before where that ends on the way.

        None where it is too long, or where the transcript has forked too often.
        """
        if self._followed > _FREE_LINES + _LINES_AGAIN * len(self._lines):
            return None
        tail: list[str] = []
        seen: set[str] = set()
        while uuid in self._lines and uuid not in seen and uuid not in self._chains:
            assert uuid is not None, "None is no line"
            seen.add(uuid)
            tail.append(uuid)
            uuid = self._lines[uuid].parent
        self._followed += len(tail)
        chain = self._chains.pop(uuid, None) if uuid is not None else None
        if chain is None:
            chain = _Chain(self._lines, self._results)
        tail.reverse()
        chain.extend(tail, before=before)
        if chain.tip is not None:
            self._chains[chain.tip] = chain
            if len(self._chains) > _MAX_CHAINS:
                del self._chains[next(iter(self._chains))]
        return chain if chain.lines <= MAX_LINES else None


class _Chain:
    """One line of talk from its root, as the messages that the API saw.

    Grows at its end only; a fork is built anew. Messages that were handed out are not changed.
    """

    def __init__(self, lines: Mapping[str, _Line], results: Mapping[str, list[str]]) -> None:
        self.tip: str | None = None
        self.lines = 0
        self.size_bytes = 0
        self.time_s: float | None = None
        self._lines = lines
        self._results = results
        self._messages: list[dict[str, Any]] = []
        self._on_it: set[str] = set()
        self._waiting: list[str] = []
        self._group = ""
        self._own_last = False
        """Whether the last message's list of blocks belongs to nobody else."""

    def messages(self) -> list[dict[str, Any]]:
        """What was said so far."""
        self._own_last = False
        return list(self._messages)

    def extend(self, uuids: list[str], *, before: int) -> None:
        """Go on with lines, and with results of tools that hang beside them."""
        self._on_it.update(uuids)
        for uuid in uuids:
            self.tip = uuid
            line = self._lines[uuid]
            if line.kind == "assistant":
                self._say(line)
                for result in self._results.get(uuid, ()):
                    if result not in self._on_it and self._lines[result].number < before:
                        self._on_it.add(result)
                        self._waiting.append(result)
            elif line.kind == "user":
                self._flush()
                self._say(line)
        self._flush()

    def _flush(self) -> None:
        for uuid in self._waiting:
            self._say(self._lines[uuid])
        self._waiting.clear()

    def _say(self, line: _Line) -> None:
        self.lines += 1
        self.size_bytes += line.size_bytes
        if line.time_s is not None:
            self.time_s = line.time_s
        group = text_of(line.message.get("id")) or "" if line.kind == "assistant" else "user"
        if group and group == self._group:
            last = self._messages[-1]
            if not self._own_last:
                last = {**last, "content": _blocks(last["content"])}
                self._messages[-1] = last
                self._own_last = True
            last["content"] += _blocks(line.content)
        else:
            self._messages.append({"role": line.kind, "content": line.content})
            self._own_last = False
        self._group = group


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


CLAUDE_CODE = CallFormat(
    name="claude-code",
    title="Claude Code's transcripts",
    fidelity=Fidelity.RECONSTRUCTED,
    sniff=_sniff,
    reader=_Reader,
    stateless=False,
)
