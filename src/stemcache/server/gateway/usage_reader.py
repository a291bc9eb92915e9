"""What an answer says about tokens, read in passing.

| shape | prompt | cached |
|---|---|---|
| Chat, Completions | `prompt_tokens` | `prompt_tokens_details.cached_tokens` |
| Responses | `input_tokens` | `input_tokens_details.cached_tokens` |
| Messages | `input_tokens` and both cache figures | `cache_read_input_tokens` |
| llama.cpp, beside its usage | `timings.cache_n` and `prompt_n` | `timings.cache_n` |
| SGLang's own | `meta_info.prompt_tokens` | `meta_info.cached_tokens` |

What is not said is None. Answers in a content coding are not read.
"""

from typing import Any

import msgspec

from stemcache.gateway.usage import AnswerUsage

__all__ = ["JsonUsage", "usage_of"]

_MOST_BYTES = 2**20
"""Of a JSON answer; the usage of a larger one is unknown."""
_MOST_TOKENS = 2**40
_NOTHING = AnswerUsage()


class _Answer(msgspec.Struct):
    """What is decoded of a JSON answer; the rest is skipped over."""

    usage: Any = None
    timings: Any = None
    meta_info: Any = None
    id: Any = None


_DECODER = msgspec.json.Decoder(_Answer)


class JsonUsage:
    """One JSON answer's. Keeps the parts until the end, bounded; they are not copied before."""

    __slots__ = ("_bytes", "_parts", "answer_id")

    def __init__(self) -> None:
        self.answer_id: str | None = None
        """Known at the end."""
        self._parts: list[bytes] = []
        self._bytes = 0

    def add(self, data: bytes) -> None:
        """The next part of the body."""
        self._bytes += len(data)
        if self._bytes <= _MOST_BYTES:
            self._parts.append(data)
        else:
            self._parts.clear()

    def finish(self) -> AnswerUsage | None:
        """At the end; None where nothing was said. A few microseconds for a few kilobytes."""
        if not self._parts:
            return None
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        try:
            answer = _DECODER.decode(body)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return None
        self.answer_id = answer.id if isinstance(answer.id, str) else None
        return usage_of(answer.usage, timings=answer.timings, meta_info=answer.meta_info)


def usage_of(
    usage: object, *, timings: object = None, meta_info: object = None
) -> AnswerUsage | None:
    """The counts in a usage object of any of the shapes; None where there is no count."""
    found = _of_usage(usage) if isinstance(usage, dict) else _NOTHING
    if timings is meta_info is None:
        return None if found == _NOTHING else found
    if isinstance(meta_info, dict) and found.prompt_tokens is None:
        found = AnswerUsage(
            _count(meta_info.get("prompt_tokens")),
            _count(meta_info.get("cached_tokens")),
            _count(meta_info.get("completion_tokens")),
        )
    if isinstance(timings, dict) and found.cached_tokens is None:
        cached, computed = _count(timings.get("cache_n")), _count(timings.get("prompt_n"))
        if cached is not None and computed is not None:
            prompt = found.prompt_tokens
            output = found.output_tokens
            found = AnswerUsage(
                cached + computed if prompt is None else prompt,
                cached,
                _count(timings.get("predicted_n")) if output is None else output,
            )
    return None if found == _NOTHING else found


def _of_usage(usage: dict[str, Any]) -> AnswerUsage:
    prompt = usage.get("prompt_tokens")
    if _count(prompt) is not None:
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return AnswerUsage(prompt, _count(cached), _count(usage.get("completion_tokens")))
    given = _count(usage.get("input_tokens"))
    output = _count(usage.get("output_tokens"))
    if "input_tokens_details" in usage:
        return AnswerUsage(given, _cached(usage["input_tokens_details"]), output)
    read = _count(usage.get("cache_read_input_tokens"))
    written = _count(usage.get("cache_creation_input_tokens"))
    prompt = None if given is None else given + (read or 0) + (written or 0)
    return AnswerUsage(prompt, read, output)


def _cached(details: object) -> int | None:
    return _count(details.get("cached_tokens")) if isinstance(details, dict) else None


def _count(value: object) -> int | None:
    if type(value) is int and 0 <= value < _MOST_TOKENS:  # True is none
        return value
    return None
