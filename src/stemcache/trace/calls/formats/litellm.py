"""LiteLLM: its standard logging payload, and the proxy's table of spend.

```
{"id", "trace_id", "call_type", "model", "model_parameters", "messages", "response",
 "response_cost", "startTime", "endTime", "completionStartTime", "cache_hit", "metadata", …}
{"request_id", "call_type", "spend", "messages", "response", "proxy_server_request", …}
```
The payload is what its loggers (S3, GCS, files, webhooks) write; the table is what `/spend/logs`
answers. Where the body that the proxy received is in it (`proxy_server_request.body`), that is
taken; LiteLLM then translates it for the provider. Else messages and parameters are put together.

Fidelity: reserialised for a received body in a payload; unordered in the table, since its columns
are `jsonb`, which sorts keys; reconstructed from messages and parameters; usage-only where prompts
are not stored. Redacted and cut texts are known by the words that LiteLLM leaves. A call that
LiteLLM answered from a cache of its own never reached a provider and is left out.

A virtual key is a route and no scope: the provider sees the proxy's credential.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stemcache.trace.calls.answer import answer_of, plain_tier
from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.calls.fields import (
    first,
    items_of,
    json_of,
    known_time_s,
    mapping_of,
    nested,
    number_of,
    split_url,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.problem import BadLineError
from stemcache.wire.api import Api

__all__ = ["LITELLM"]

_APIS = {
    "anthropic_messages": Api.MESSAGES,
    "aresponses": Api.RESPONSES,
    "responses": Api.RESPONSES,
    "acompletion": Api.CHAT,
    "completion": Api.CHAT,
    "atext_completion": Api.COMPLETIONS,
    "text_completion": Api.COMPLETIONS,
    "agenerate_content": Api.GENERATE,
    "generate_content": Api.GENERATE,
}
_REDACTED = b"redacted-by-litellm"
_CUT = b"litellm_truncated"


def _sniff(value: Any) -> bool:
    return _payload(value) is not None


def _payload(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    if not isinstance(value, dict):
        return None
    for name in ("standard_logging_object", "standard_logging_payload"):
        inner = json_of(value.get(name))
        if isinstance(inner, dict):
            return f"/{name}", inner
    if "call_type" in value and ("spend" in value or "response_cost" in value):
        return "", value
    if "response_cost" in value and ("model_parameters" in value or "model_group" in value):
        return "", value
    return None


def _read(record: Record, shared: Shared) -> Iterable[Call]:
    found = _payload(record.value)
    if found is None:
        raise BadLineError("the record is neither a logging payload nor a row of spend")
    way, value = found
    if str(value.get("cache_hit")).lower() == "true":
        shared.left_out["answered by LiteLLM's own cache, never sent"] += 1
        return ()
    body, inner, fidelity = _body(value)
    if body is not None:
        fidelity = _marred(record, fidelity)
    metadata = mapping_of(json_of(value.get("metadata")))
    answer = answer_of(value.get("response"))
    usage = (answer.usage if answer is not None else None) or _usage(value, metadata)
    call_type = text_of(value.get("call_type")) or ""
    host, _ = split_url(value.get("api_base"))
    received = inner.startswith("/proxy_server_request/")
    _, path = split_url(nested(json_of(value.get("proxy_server_request")), "url"))
    path = path if received else None
    return (
        made_call(
            place=Place(record.file, record.number, way + inner if body is not None else ""),
            body=body,
            fidelity=fidelity,
            size_bytes=record.size_bytes,
            # The path that the proxy was asked at says more than how it calls the call.
            api=None if path else _APIS.get(call_type) or (Api.CHAT if body is None else None),
            url=path,
            answer=answer,
            usage=usage,
            host=host or text_of(value.get("custom_llm_provider")),
            model=text_of(value.get("model")),
            id=text_of(first(value, ("id", "request_id"))),
            failed=value.get("status") == "failure" or metadata.get("status") == "failure",
            tier=plain_tier(nested(value, "model_parameters", "service_tier")),
            session=text_of(value.get("session_id")) or text_of(value.get("trace_id")),
            route=text_of(
                first(metadata, ("user_api_key_alias", "user_api_key_hash", "user_api_key"))
            ),
            time_s=known_time_s(value.get("startTime")),
            answered_s=known_time_s(value.get("completionStartTime")),
            ended_s=known_time_s(value.get("endTime")),
            billed_usd=number_of(first(value, ("response_cost", "spend"))),
        ),
    )


class _Found(NamedTuple):
    body: Mapping[str, Any] | None
    way: str
    """From the payload to the body, as a JSON pointer."""
    fidelity: Fidelity


def _body(value: Mapping[str, Any]) -> _Found:
    of_table = "spend" in value and "response_cost" not in value
    asked = json_of(value.get("proxy_server_request"))
    received = json_of(nested(asked, "body"))
    for found, inner in (
        (received, "/proxy_server_request/body"),
        (asked, "/proxy_server_request"),
    ):
        if is_body(found):
            return _Found(found, inner, Fidelity.UNORDERED if of_table else Fidelity.RESERIALISED)
    messages = json_of(value.get("messages"))
    if is_body(messages):
        return _Found(messages, "/messages", Fidelity.RECONSTRUCTED)
    parameters = mapping_of(json_of(value.get("model_parameters")))
    if items_of(messages) and isinstance(messages[0], dict):
        body = {"model": value.get("model"), "messages": messages, **parameters}
        return _Found(body, "/messages", Fidelity.RECONSTRUCTED)
    text = text_of(value.get("messages"))
    if text is not None and messages is None:
        body = {"model": value.get("model"), "prompt": text, **parameters}
        return _Found(body, "/messages", Fidelity.RECONSTRUCTED)
    return _Found(None, "", Fidelity.USAGE_ONLY)


def _marred(record: Record, fidelity: Fidelity) -> Fidelity:
    if _REDACTED in record.text:
        return Fidelity.REDACTED
    return Fidelity.TRUNCATED if _CUT in record.text else fidelity


def _usage(value: Mapping[str, Any], metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = json_of(metadata.get("usage_object"))
    if isinstance(found, dict) and found:
        return found
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    usage = {name: value[name] for name in names if number_of(value.get(name)) is not None}
    more = mapping_of(json_of(metadata.get("additional_usage_values")))
    usage.update({name: count for name, count in more.items() if count is not None})
    return usage or None


LITELLM = CallFormat(
    name="litellm",
    title="LiteLLM's logging payloads and rows of spend",
    fidelity=Fidelity.RESERIALISED,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
)
