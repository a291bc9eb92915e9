r"""What came back, as logs record it: an object, a stream of events, or an error.

```
{"id", "usage", "content" …}                  one object, of any of the APIs
[{"type": "message_start", …}, …]             the events of a stream, decoded or as texts
"event: message_start\ndata: {…}\n\n…"        the same as it came over the wire
{"error": {…}}                                refused: no answer
```
`content` is Anthropic's list of blocks, Responses' list of output items, Gemini's parts, Converse's
blocks; of Chat it is a list with the one message.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stemcache.trace.calls.fields import (
    first,
    items_of,
    json_of,
    mapping_of,
    nested,
    status_of,
    text_of,
)
from stemcache.trace.calls.stream import events_of_text, is_event_text, merged_events

__all__ = ["Answer", "answer_of", "plain_tier"]

_WRAPPERS = ("body", "response", "response_body", "data", "parsed", "json")
_MAX_WRAPPERS = 4
_STANDARD = frozenset({"standard", "default", "auto", "on_demand", "standard_only"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, or the refusal of one."""

    id: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    content: Sequence[Any] | None = None
    diagnostics: Mapping[str, Any] | None = None
    tier: str | None = None
    region: str | None = None
    status: int | None = None
    failed: bool = False


def plain_tier(value: object) -> str | None:
    """A service tier; the standard one, by whatever name, is None."""
    tier = text_of(value)
    return None if tier is None or tier.lower() in _STANDARD else tier.lower()


def answer_of(value: object) -> Answer | None:
    """Read an answer, None where there is none that can be read. Linear in its size."""
    status = None
    for _ in range(_MAX_WRAPPERS):
        if isinstance(value, str):
            value = events_of_text(value) if is_event_text(value) else json_of(value)
        if isinstance(value, list):
            return _with_status(_of_body(merged_events(value)), status)
        if not isinstance(value, dict):
            break
        if status is None:
            status = status_of(first(value, ("status_code", "statusCode", "status")))
        if _is_answer(value):
            return _with_status(_of_body(value), status)
        inner = first(value, _WRAPPERS)
        if inner is None or not isinstance(inner, dict | list | str):
            return _with_status(_of_body(value), status)
        value = inner
    return None if status is None else Answer(status=status, failed=status >= 400)


def _is_answer(value: Mapping[str, Any]) -> bool:
    return (
        any(
            name in value for name in ("usage", "choices", "content", "candidates", "usageMetadata")
        )
        or bool(value.get("error"))
        or ("output" in value and not isinstance(value["output"], str))
    )


def _with_status(answer: Answer | None, status: int | None) -> Answer | None:
    if status is None:
        return answer
    if answer is None:
        return Answer(status=status, failed=status >= 400)
    return Answer(
        id=answer.id,
        model=answer.model,
        usage=answer.usage,
        content=answer.content,
        diagnostics=answer.diagnostics,
        tier=answer.tier,
        region=answer.region,
        status=status,
        failed=answer.failed or status >= 400,
    )


def _of_body(body: Mapping[str, Any] | None) -> Answer | None:
    if body is None:
        return None
    usage = first(body, ("usage", "usageMetadata"))
    usage = usage if isinstance(usage, dict) and usage else None
    content = _content(body)
    # Anthropic writes {"type": "error", "error": {…}}; Responses has `error: null` when all is well
    # and an error with whatever came before it when not.
    refused = bool(body.get("error")) or body.get("type") == "error"
    if usage is None and content is None and not refused and text_of(body.get("id")) is None:
        return None
    diagnostics = first(body, ("diagnostics", "prompt_cache_diagnostics"))
    return Answer(
        id=text_of(first(body, ("id", "responseId"))),
        model=text_of(first(body, ("model", "modelVersion"))),
        usage=usage,
        content=content,
        diagnostics=diagnostics if isinstance(diagnostics, dict) and diagnostics else None,
        tier=plain_tier(first(body, ("service_tier", "serviceTier")))
        or plain_tier(nested(usage, "service_tier")),
        region=_region(nested(usage, "inference_geo")),
        failed=refused and not content and usage is None,
    )


def _region(value: object) -> str | None:
    region = text_of(value)
    return None if region in {None, "not_available", "global"} else region


def _content(body: Mapping[str, Any]) -> Sequence[Any] | None:
    if isinstance(body.get("content"), list):
        return list(body["content"])
    if isinstance(body.get("output"), list):
        return list(body["output"])
    message = nested(body, "output", "message")
    if isinstance(message, dict):
        return list(items_of(message.get("content")))
    choice = mapping_of(next(iter(items_of(body.get("choices"))), None))
    if isinstance(choice.get("message"), dict):
        return [choice["message"]]
    if isinstance(choice.get("text"), str):
        return [{"type": "text", "text": choice["text"]}]
    candidate = mapping_of(next(iter(items_of(body.get("candidates"))), None))
    if candidate:
        return list(items_of(nested(candidate, "content", "parts")))
    return None
