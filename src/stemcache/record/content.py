"""Content blocks of an answer, put together again where it came as a stream.

| API | whole answer | stream |
|---|---|---|
| Anthropic Messages | `content` | `content_block_start`, `content_block_delta` |
| OpenAI Chat, Completions | `choices` | deltas of each choice, concatenated |
| OpenAI Responses | `output` | `response.completed` |
| Bedrock Converse | `output.message.content` | `contentBlockStart`, `contentBlockDelta` |
| Gemini | `candidates` | parts of each chunk, in order |

Only for who asked for answers. Blocks keep the fields that were sent; texts that came in pieces
are joined.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["ContentFolder"]

_MOST_BLOCKS = 4096
_JOINED = frozenset(
    {
        "arguments",
        "content",
        "input",
        "partial_json",
        "reasoning",
        "reasoning_content",
        "refusal",
        "signature",
        "text",
        "thinking",
    }
)
"""Fields whose pieces belong together; of others the last value counts."""


class ContentFolder:
    """One answer. `add` takes decoded events in order; anything may be in them."""

    def __init__(self) -> None:
        self._whole: list[Any] | None = None
        self._blocks: dict[tuple[str, int], dict[str, Any]] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in one event, or a whole answer."""
        message = event.get("message")
        response = event.get("response")
        for source in (event, response):
            if isinstance(source, Mapping):
                self._take_whole(source)
        if isinstance(message, Mapping) and message.get("content"):
            self._take_whole(message)
        self._take_anthropic(event)
        self._take_converse(event)
        self._take_choices(event)

    def blocks(self) -> list[Any] | None:
        """All of it, None where there is nothing."""
        if self._whole is not None:
            return self._whole
        if not self._blocks:
            return None
        return [self._blocks[key] for key in sorted(self._blocks)]

    def _take_whole(self, source: Mapping[str, Any]) -> None:
        output = source.get("output")
        if isinstance(output, Mapping) and isinstance(output.get("message"), Mapping):
            output = output["message"].get("content")
        for value in (source.get("content"), output):
            if isinstance(value, list) and value:
                self._whole = value
        choices = source.get("choices")
        if isinstance(choices, list) and any(
            isinstance(each, Mapping) and "message" in each for each in choices
        ):
            self._whole = choices
        candidates = source.get("candidates")
        if isinstance(candidates, list) and len(self._whole or ()) < _MOST_BLOCKS:
            self._whole = [*(self._whole or []), *candidates]

    def _take_anthropic(self, event: Mapping[str, Any]) -> None:
        kind, index = event.get("type"), event.get("index")
        if not isinstance(index, int):
            return
        block = event.get("content_block")
        if kind == "content_block_start" and isinstance(block, Mapping):
            self._merge(("block", index), block)
        delta = event.get("delta")
        if kind == "content_block_delta" and isinstance(delta, Mapping):
            self._merge(("block", index), delta, without=("type",))

    def _take_converse(self, event: Mapping[str, Any]) -> None:
        for name, inner in (("contentBlockStart", "start"), ("contentBlockDelta", "delta")):
            part = event.get(name)
            if isinstance(part, Mapping) and isinstance(part.get(inner), Mapping):
                index = part.get("contentBlockIndex")
                if isinstance(index, int):
                    self._merge(("block", index), part[inner])

    def _take_choices(self, event: Mapping[str, Any]) -> None:
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, Mapping) or not isinstance(choice.get("index", 0), int):
                continue
            part = {name: value for name, value in choice.items() if value is not None}
            if "message" not in part and ("delta" in part or "text" in part):
                self._merge(("choice", choice.get("index", 0)), part)

    def _merge(
        self, key: tuple[str, int], part: Mapping[str, Any], *, without: tuple[str, ...] = ()
    ) -> None:
        if key not in self._blocks and len(self._blocks) >= _MOST_BLOCKS:
            return
        _merge_into(self._blocks.setdefault(key, {}), part, without)


def _merge_into(block: dict[str, Any], part: Mapping[str, Any], without: tuple[str, ...]) -> None:
    for name, value in part.items():
        if name in without or value is None:
            continue
        old = block.get(name)
        if name in _JOINED and isinstance(old, str) and isinstance(value, str):
            block[name] = old + value
        elif isinstance(old, dict) and isinstance(value, Mapping):
            _merge_into(old, value, ())
        elif name == "tool_calls" and isinstance(old, list) and isinstance(value, list):
            _merge_calls(old, value)
        elif isinstance(value, Mapping):
            block[name] = dict(value)
        else:
            block[name] = value


def _merge_calls(old: list[Any], parts: list[Any]) -> None:
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        same = [c for c in old if isinstance(c, dict) and c.get("index") == part.get("index")]
        if same:
            _merge_into(same[0], part, ())
        elif len(old) < _MOST_BLOCKS:
            old.append(dict(part))
