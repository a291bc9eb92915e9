"""The events of a streamed answer, put together into the object that a plain call would have given.

Texts are collected in lists and joined once, so a long stream costs no more than its length.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stemcache.trace.calls.fields import items_of, json_of, mapping_of, nested, text_of
from stemcache.wire.sse import sse_data
from stemcache.wire.usage_stream import StreamUsage

__all__ = ["events_of_text", "is_event_text", "merged_events"]

_FINAL = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.created"}
)


def is_event_text(text: str) -> bool:
    """Whether a text is server-sent events, by how it begins."""
    return text[:64].lstrip("\ufeff\r\n ").startswith(("data:", "event:", "id:", ":"))


def events_of_text(text: str) -> list[Any]:
    """The decoded data of server-sent events. What is no JSON, such as `[DONE]`, is passed over."""
    found = (
        json_of(data.decode("utf-8", "surrogatepass"))
        for data in sse_data(text.encode("utf-8", "surrogatepass"))
    )
    return [event for event in found if isinstance(event, dict)]


def merged_events(events: Sequence[Any]) -> Mapping[str, Any] | None:
    """One answer out of the events, None where none of them is known."""
    stream = _Stream()
    for event in _unwrapped(events):
        stream.add(event)
    return stream.result()


def _unwrapped(events: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for event in events:
        if isinstance(event, str):
            if is_event_text(event):
                yield from events_of_text(event)
                continue
            event = json_of(event)  # noqa: PLW2901  # the same event, decoded
        if not isinstance(event, dict):
            continue
        data = json_of(event.get("data"))
        yield data if isinstance(data, dict) else event


class _Stream:
    """Follows one stream, of whichever API."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._usage = StreamUsage()
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        self._message: dict[str, Any] | None = None
        """Of Chat: what its deltas said."""
        self._calls: dict[int, dict[str, Any]] = {}
        self._parts: list[Any] | None = None
        self._final: Mapping[str, Any] | None = None

    def add(self, event: Mapping[str, Any]) -> None:
        self._usage.add(event)
        kind = text_of(event.get("type"))
        if kind == "message_start":
            self._keep(mapping_of(event.get("message")))
        elif kind == "content_block_start":
            self._start(event.get("index"), event.get("content_block"))
        elif kind == "content_block_delta":
            self._delta(event.get("index"), mapping_of(event.get("delta")))
        elif kind == "message_delta":
            self._keep({**mapping_of(event.get("delta")), **event, "type": None})
        elif kind in _FINAL:
            self._final = mapping_of(event.get("response"))
        elif kind == "error" or "error" in event:
            self._fields["error"] = event.get("error") or {"type": "error"}
        elif "choices" in event:
            self._keep(event)
            self._chunk(items_of(event["choices"]))
        elif "candidates" in event or "usageMetadata" in event:
            self._keep(event)
            candidate = next(iter(items_of(event.get("candidates"))), None)
            if self._parts is None:
                self._parts = []
            self._parts.extend(items_of(nested(candidate, "content", "parts")))
        elif "contentBlockStart" in event or "contentBlockDelta" in event:
            self._converse(event)

    def _keep(self, event: Mapping[str, Any]) -> None:
        for name in (
            "id",
            "responseId",
            "model",
            "modelVersion",
            "service_tier",
            "diagnostics",
            "prompt_cache_diagnostics",
        ):
            if event.get(name) is not None:
                self._fields[name] = event[name]

    def _start(self, index: object, block: object) -> None:
        if isinstance(index, int) and isinstance(block, dict):
            self._blocks[index] = dict(block)

    def _delta(self, index: object, delta: Mapping[str, Any]) -> None:
        if not isinstance(index, int):
            return
        for name in ("text", "thinking", "signature", "partial_json"):
            piece = text_of(delta.get(name))
            if piece is not None:
                self._blocks.setdefault(index, {"type": "text"})
                self._texts.setdefault((index, name), []).append(piece)

    def _chunk(self, choices: Sequence[Any]) -> None:
        choice = mapping_of(next(iter(choices), None))
        delta = mapping_of(choice.get("delta"))
        if not choice:
            return
        if self._message is None:
            self._message = {"role": "assistant"}
        piece = text_of(delta.get("content")) or text_of(choice.get("text"))
        if piece is not None:
            self._texts.setdefault((-1, "content"), []).append(piece)
        for call in items_of(delta.get("tool_calls")):
            index = nested(call, "index")
            if not isinstance(index, int):
                continue
            made = self._calls.setdefault(index, {"type": "function"})
            if text_of(nested(call, "id")):
                made["id"] = call["id"]
            name = text_of(nested(call, "function", "name"))
            if name is not None:
                made["name"] = name
            piece = text_of(nested(call, "function", "arguments"))
            if piece is not None:
                self._texts.setdefault((index, "arguments"), []).append(piece)

    def _converse(self, event: Mapping[str, Any]) -> None:
        start = mapping_of(event.get("contentBlockStart"))
        if start:
            self._start(start.get("contentBlockIndex"), dict(mapping_of(start.get("start"))))
        delta = mapping_of(event.get("contentBlockDelta"))
        self._delta(delta.get("contentBlockIndex"), mapping_of(delta.get("delta")))

    def result(self) -> Mapping[str, Any] | None:
        if self._final is not None and self._final:
            return self._final
        body = dict(self._fields)
        if self._usage.reported:
            body["usage"] = self._usage.reported
        if self._blocks:
            body["content"] = [self._block(index) for index in sorted(self._blocks)]
        elif self._message is not None:
            body["choices"] = [{"message": self._chat_message(self._message)}]
        elif self._parts is not None:
            body["candidates"] = [{"content": {"parts": self._parts}}]
        return body or None

    def _block(self, index: int) -> dict[str, Any]:
        block = self._blocks[index]
        for name in ("text", "thinking", "signature"):
            if (index, name) in self._texts:
                block[name] = "".join(self._texts[index, name])
        if (index, "partial_json") in self._texts:
            block["input"] = json_of("".join(self._texts[index, "partial_json"]))
        return block

    def _chat_message(self, message: dict[str, Any]) -> dict[str, Any]:
        content = self._texts.get((-1, "content"))
        message["content"] = None if content is None else "".join(content)
        if self._calls:
            message["tool_calls"] = [
                {
                    **{key: value for key, value in call.items() if key != "name"},
                    "function": {
                        "name": call.get("name"),
                        "arguments": "".join(self._texts.get((index, "arguments"), ())),
                    },
                }
                for index, call in sorted(self._calls.items())
            ]
        return message
