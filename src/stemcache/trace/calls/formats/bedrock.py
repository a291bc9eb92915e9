"""Bedrock's model invocation logs, as S3 and CloudWatch get them.

```
{"schemaType": "ModelInvocationLog", "timestamp", "accountId", "identity": {"arn"}, "region",
 "requestId", "operation": "Converse", "modelId", "errorCode"?,
 "input":  {"inputBodyJson": {…}, "inputTokenCount", "cacheReadInputTokenCount", …},
 "output": {"outputBodyJson": {…} or [events], "outputTokenCount"}}
```
Exports of CloudWatch wrap the record in `message` or `@message`, as a text. Bodies above 100 KB go
to S3 by themselves and the record has only `inputBodyS3Path`: such a call has usage alone.

Fidelity: unordered. AWS logs the body as an object and does not say whether its keys keep their
order. The cache is the account's, so the account is the scope, and not the ARN, which for roles
names the session too.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from stemcache.trace.calls.answer import answer_of
from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import (
    json_of,
    known_time_s,
    mapping_of,
    name_of,
    nested,
    number_of,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.calls.headers import scope_digest
from stemcache.trace.calls.pointer import pointer
from stemcache.trace.problem import BadLineError
from stemcache.wire.api import Api

__all__ = ["BEDROCK"]

_COUNTS = (
    ("inputTokens", "input", "inputTokenCount"),
    ("cacheReadInputTokens", "input", "cacheReadInputTokenCount"),
    ("cacheWriteInputTokens", "input", "cacheWriteInputTokenCount"),
    ("outputTokens", "output", "outputTokenCount"),
)


def _sniff(value: Any) -> bool:
    return _unwrapped(value) is not None


def _unwrapped(value: Any) -> tuple[tuple[str, ...], Mapping[str, Any]] | None:
    if not isinstance(value, dict):
        return None
    if _is_log(value):
        return (), value
    for name in ("@message", "message"):
        inner = json_of(value[name]) if isinstance(value.get(name), str | dict) else None
        if isinstance(inner, dict) and _is_log(inner):
            return (name,), inner
    return None


def _is_log(value: Mapping[str, Any]) -> bool:
    return value.get("schemaType") == "ModelInvocationLog" or (
        "modelId" in value and "operation" in value and isinstance(value.get("input"), dict)
    )


def _read(record: Record, _shared: Shared) -> Iterable[Call]:
    found = _unwrapped(record.value)
    if found is None:
        raise BadLineError("the record is no model invocation log")
    way, value = found
    body = json_of(nested(value, "input", "inputBodyJson"))
    answer = answer_of(nested(value, "output", "outputBodyJson"))
    operation = text_of(value.get("operation")) or ""
    arn = text_of(nested(value, "identity", "arn"))
    account = name_of(value.get("accountId")) or _account(arn) or arn
    usage = answer.usage if answer is not None else None
    converse = operation.startswith("Converse")
    has_body = is_body(body)
    api = Api.CONVERSE if converse or not (has_body or usage) else None
    return (
        made_call(
            place=record.place(pointer((*way, "input", "inputBodyJson")) if has_body else ""),
            body=body if has_body else None,
            fidelity=Fidelity.UNORDERED,
            size_bytes=record.size_bytes,
            api=api,
            answer=answer,
            usage=usage or _counted(value),
            host="bedrock",
            model=text_of(value.get("modelId")),
            id=text_of(value.get("requestId")),
            failed=text_of(value.get("errorCode")) is not None,
            scope=scope_digest(account) if account else "",
            region=text_of(value.get("inferenceRegion")) or text_of(value.get("region")),
            time_s=known_time_s(value.get("timestamp")),
        ),
    )


def _account(arn: str | None) -> str | None:
    parts = (arn or "").split(":")
    return parts[4] if len(parts) > 5 and parts[4] else None


def _counted(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The counts beside the bodies, under the names that Converse gives them."""
    usage = {}
    for name, side, count in _COUNTS:
        number = mapping_of(value.get(side)).get(count)
        if number_of(number) is not None:
            usage[name] = number
    return usage or None


BEDROCK = CallFormat(
    name="bedrock",
    title="Bedrock's model invocation logs",
    fidelity=Fidelity.UNORDERED,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
)
