"""The events of a streamed answer as the answer that a plain call would have given. Pure.

```
Messages    message_start  content_block_start/_delta/_stop …  message_stop
Chat        chunks with choices[0].delta …                     finish_reason
Responses   response.output_item.done …                        response.completed │ .incomplete
Gemini      chunks with candidates[0].content.parts …          finishReason
Converse    contentBlockStart/-Delta/-Stop …                   messageStop
```
Events are dictionaries or clients' objects; what clients add between them is passed over. A stream
that broke off is no answer: what is kept of it would not be what the model goes on from. Pieces of
texts are collected and joined once, so a long stream costs no more than its length.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.answer.block import Pieces
from stemcache.prompt.answer.chat import THOUGHTS
from stemcache.prompt.answer.generate import camel
from stemcache.prompt.conversation.native import jsonable, listed, mapped, opened, unreadable
from stemcache.wire.api import Api

__all__ = ["answer_of"]

_WHERE = "the streamed answer"
_PLAIN = frozenset({"text", "thought"})
_INSIDE = frozenset({"custom", "function"})
"""Members of a call that are objects, collected as `function.name`."""


def answer_of(events: Sequence[object], api: Api) -> dict[str, Any]:
    """The answer, as a dictionary of the API's own names.

    Raises UsageError for a stream without its end, one that ended in an error, and one of another
    API.
    """
    return _READERS[api](_decoded(events))


def _decoded(events: Sequence[object]) -> Iterator[dict[str, Any]]:
    for i, event in enumerate(events):
        where = f"event {i} of {_WHERE}"
        yield mapped(jsonable(opened(event, where), where), where)


def _broken_off(missing: str) -> UsageError:
    return UsageError(
        f"{_WHERE} has no {missing}: it broke off, or is of another API; send the request again"
    )


def _failed(event: Mapping[str, Any]) -> UsageError:
    error = event.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    named = f" ({kind})" if isinstance(kind, str) and len(kind) <= 64 else ""
    return UsageError(f"{_WHERE} ended in an error{named}; send the request again")


def _messages(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[int, Pieces] = {}
    for event in events:
        match event:
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                blocks[index] = Pieces(block)
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                if index not in blocks:
                    raise unreadable(_WHERE, f"adds to block {index}, which did not start")
                _add_delta(blocks[index], delta)
            case {"type": "error"}:
                raise _failed(event)
            case {"type": "message_stop"}:
                return {"content": [_messages_block(blocks[index]) for index in sorted(blocks)]}
    raise _broken_off("message_stop")


def _add_delta(block: Pieces, delta: dict[str, Any]) -> None:
    match delta:
        case {"type": "text_delta", "text": str(text)}:
            block.add("text", text)
        case {"type": "thinking_delta", "thinking": str(text)}:
            block.add("thinking", text)
        case {"type": "signature_delta", "signature": str(seal)}:
            block.put("signature", seal)
        case {"type": "input_json_delta", "partial_json": str(text)}:
            block.add("input", text)
        case {"type": "citations_delta", "citation": citation}:
            block.push("citations", citation)
        case _:
            raise unreadable(_WHERE, "has a delta of a kind that is not known")


def _messages_block(block: Pieces) -> dict[str, Any]:
    made = block.made()
    if isinstance(made.get("input"), str):
        made["input"] = _object(made["input"])
    return made


def _object(text: str) -> Any:
    """The arguments of a call, streamed as JSON text."""
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise unreadable(
            _WHERE, "holds a call whose arguments break off", "raise max_tokens and ask again"
        ) from None


def _chat(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    message = Pieces({"role": "assistant"})
    calls: dict[int | str | None, Pieces] = {}
    ended = False
    for event in events:
        if event.get("error"):
            raise _failed(event)
        for choice in listed(event.get("choices") or [], f"choices of {_WHERE}"):
            given = mapped(choice, f"a choice of {_WHERE}")
            if given.get("index") not in (None, 0):
                raise unreadable(_WHERE, "has several choices", "keep the events of one of them")
            ended = ended or given.get("finish_reason") is not None
            delta = given.get("delta")
            _add_message(message, calls, delta if isinstance(delta, dict) else {})
    if not ended:
        raise _broken_off("finish_reason")
    made = message.made()
    if calls:
        made["tool_calls"] = [_chat_call(call) for call in calls.values()]
    return {"choices": [{"message": made}]}


def _add_message(
    message: Pieces, calls: dict[int | str | None, Pieces], delta: dict[str, Any]
) -> None:
    for name in ("content", "refusal", *THOUGHTS):
        value = delta.get(name)
        if isinstance(value, str):
            message.add(name, value)
        elif isinstance(value, list):
            for one in value:
                message.push(name, one)
    for name in ("audio", "function_call"):
        if delta.get(name) is not None:
            message.put(name, delta[name])
    for given in listed(delta.get("tool_calls") or [], f"tool_calls of {_WHERE}"):
        call = mapped(given, f"a call of {_WHERE}")
        # Without an index, a call that brings its id is the next one.
        key: int | str | None = next(reversed(calls), None)
        for named in (call.get("index"), call.get("id") or None):
            if isinstance(named, int | str):
                key = named
                break
        _add_call(calls.setdefault(key, Pieces({})), call)


def _add_call(pieces: Pieces, call: dict[str, Any]) -> None:
    for name, value in call.items():
        if name in _INSIDE and isinstance(value, dict):
            for inner, text in value.items():
                if isinstance(text, str) and inner in {"arguments", "input"}:
                    pieces.add(f"{name}.{inner}", text)
                elif text:
                    pieces.put(f"{name}.{inner}", text)
        elif name != "index" and value is not None and value != "":
            pieces.put(name, value)


def _chat_call(pieces: Pieces) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pieces.made().items():
        outer, dot, inner = name.partition(".")
        if dot and outer in _INSIDE:
            inside = made.get(outer)
            made[outer] = {**(inside if isinstance(inside, dict) else {}), inner: value}
        else:
            made[name] = value
    return made


def _responses(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    items: dict[int, dict[str, Any]] = {}
    for event in events:
        match event:
            case {"type": "response.output_item.done", "output_index": int(i), "item": dict(item)}:
                items[i] = item
            case {"type": "response.failed" | "error"}:
                raise _failed(event.get("response") or event)
            case {
                "type": "response.completed" | "response.incomplete",
                "response": dict(response),
            }:
                # The items by themselves are the whole ones, seals included; some servers leave
                # the list at the end empty.
                if items:
                    return {"output": [items[index] for index in sorted(items)]}
                return response
    raise _broken_off("response.completed")


def _generate(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    made: list[dict[str, Any]] = []
    texts: list[str] = []
    ended = False

    def flush() -> None:
        if texts:
            made.append({"text": "".join(texts)})
            texts.clear()

    for event in events:
        if event.get("error"):
            raise _failed(event)
        for candidate in listed(event.get("candidates") or [], f"candidates of {_WHERE}"):
            given = mapped(candidate, f"a candidate of {_WHERE}")
            if given.get("index") not in (None, 0):
                raise unreadable(_WHERE, "has several candidates", "ask for one")
            ended = ended or (given.get("finishReason") or given.get("finish_reason")) is not None
            content = given.get("content") or {}
            for one in listed(mapped(content, f"content of {_WHERE}").get("parts") or [], _WHERE):
                part = camel(mapped(one, f"a part of {_WHERE}"))
                # A part with a seal stays a part of its own, as its makers ask.
                text = part.get("text")
                if isinstance(text, str) and part.keys() <= _PLAIN and not part.get("thought"):
                    texts.append(text)
                else:
                    flush()
                    made.append(part)
    if not ended:
        raise _broken_off("finishReason")
    flush()
    return {"candidates": [{"content": {"role": "model", "parts": made}}]}


def _converse(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[int, Pieces] = {}
    ended = False
    for event in events:
        match event:
            case {"contentBlockStart": {"contentBlockIndex": int(index), "start": dict(start)}}:
                blocks[index] = Pieces(start)
            case {"contentBlockDelta": {"contentBlockIndex": int(index), "delta": dict(delta)}}:
                _add_converse(blocks.setdefault(index, Pieces({})), delta)
            case {"messageStop": _}:
                ended = True
            case _ if any(name.endswith("Exception") for name in event):
                raise _failed({"error": {"type": next(iter(event))}})
    if not ended:
        raise _broken_off("messageStop")
    content = [_converse_block(blocks[index].made()) for index in sorted(blocks)]
    return {"output": {"message": {"role": "assistant", "content": content}}}


def _add_converse(block: Pieces, delta: dict[str, Any]) -> None:
    match delta:
        case {"text": str(text)}:
            block.add("text", text)
        case {"toolUse": {"input": str(text)}}:
            block.add("input", text)
        case {"reasoningContent": {"text": str(text)}}:
            block.add("reasoning", text)
        case {"reasoningContent": {"signature": str(seal)}}:
            block.add("signature", seal)
        case {"reasoningContent": {"redactedContent": str(data)}}:
            if "redacted" in block:
                raise unreadable(_WHERE, "has a hidden thought in pieces", "ask without streaming")
            block.put("redacted", data)
        case {"citation": dict(citation)}:
            block.push("citations", citation)
        case _:
            raise unreadable(
                _WHERE, "has a delta of a kind that is not known", "ask without streaming"
            )


def _converse_block(made: dict[str, Any]) -> dict[str, Any]:
    if "toolUse" in made:
        call = mapped(made["toolUse"], f"a call of {_WHERE}")
        return {"toolUse": {**call, "input": _object(made.get("input", ""))}}
    if "redacted" in made:
        return {"reasoningContent": {"redactedContent": made["redacted"]}}
    if "reasoning" in made or "signature" in made:
        thought = {"text": made.get("reasoning", "")}
        if "signature" in made:
            thought["signature"] = made["signature"]
        return {"reasoningContent": {"reasoningText": thought}}
    if "citations" in made:
        cited = {"content": [{"text": made.get("text", "")}], "citations": made["citations"]}
        return {"citationsContent": cited}
    if made.keys() == {"text"}:
        return made
    raise unreadable(_WHERE, "has a block of a kind that is not known", "ask without streaming")


_READERS: Mapping[Api, Callable[[Iterator[dict[str, Any]]], dict[str, Any]]] = {
    Api.MESSAGES: _messages,
    Api.CHAT: _chat,
    Api.RESPONSES: _responses,
    Api.GENERATE: _generate,
    Api.CONVERSE: _converse,
}
