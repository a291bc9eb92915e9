"""OpenTelemetry: spans with the GenAI conventions, and those of OpenInference and OpenLLMetry.

```
gen_ai.input.messages, gen_ai.system_instructions      [{"role", "parts": [{"type", "content"}]}]
llm.input_messages.0.message.role, …                   OpenInference, one attribute a field
gen_ai.prompt.0.role, …                                OpenLLMetry, likewise
input.value                                            OpenInference: what was called, as JSON
```
Fidelity: reconstructed. Messages are put together from their parts and have no markers; tools and
parameters are there as far as they were logged. Where `input.value` is a whole request, that is
taken: reserialised. Contents are off by default in most instrumentations: such a span has usage
alone. Usage is given under the names of its attributes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stemcache.trace.calls.answer import Answer, plain_tier
from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import first, items_of, json_of, mapping_of, number_of, text_of
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.calls.formats.spans import Span, spans_of
from stemcache.trace.problem import BadLineError

__all__ = ["OTEL"]

_PREFIXES = ("gen_ai.", "llm.", "openinference.")
_OPERATIONS = frozenset({"chat", "text_completion", "generate_content", "completion"})
_LISTS = ("llm.input_messages.", "gen_ai.prompt.")
_MAX_LISTED = 100_000
_USAGE = ("gen_ai.usage.", "llm.token_count.", "llm.usage.")
_PARAMETERS = ("temperature", "top_p", "max_tokens", "seed", "stop_sequences")


def _sniff(value: Any) -> bool:
    if isinstance(value, dict) and isinstance(value.get("resourceSpans"), list):
        return True
    return any(_of_model(span) or _named(span) for span in spans_of(value))


def _named(span: Span) -> bool:
    return any(name.startswith(_PREFIXES) for name in span.attributes)


def _of_model(span: Span) -> bool:
    attributes = span.attributes
    kind = attributes.get("openinference.span.kind")
    if kind is not None:
        return bool(kind == "LLM")
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return isinstance(operation, str) and operation in _OPERATIONS
    return (
        first(attributes, ("gen_ai.request.model", "llm.model_name", "llm.request.type"))
        is not None
    )


def _read(record: Record, shared: Shared) -> Iterator[Call]:
    spans = list(spans_of(record.value))
    if not spans and "resourceSpans" not in mapping_of(record.value):
        raise BadLineError("the record is no span")
    for span in spans:
        if _of_model(span):
            yield _call(record, span)
        else:
            shared.left_out["spans that call no model"] += 1


def _call(record: Record, span: Span) -> Call:
    found = span.attributes
    whole = json_of(found.get("input.value"))
    parameters = _parameters(found)
    fidelity = Fidelity.RECONSTRUCTED
    body: Mapping[str, Any] | None
    if is_body(whole) and isinstance(whole, dict):
        body = whole if "model" in whole else {**parameters, **whole}
        fidelity = Fidelity.RESERIALISED
    else:
        messages = _messages(found)
        body = {**parameters, "messages": messages} if messages else None
    usage = _usage(found)
    size = record.size_bytes
    return made_call(
        place=record.place(span.way),
        body=body,
        fidelity=fidelity,
        size_bytes=size,
        answer=Answer(
            id=text_of(found.get("gen_ai.response.id")),
            model=text_of(first(found, ("gen_ai.response.model", "llm.model_name"))),
        ),
        usage=usage,
        host=text_of(
            first(
                found,
                (
                    "server.address",
                    "gen_ai.provider.name",
                    "gen_ai.system",
                    "llm.provider",
                    "llm.system",
                ),
            )
        ),
        model=text_of(first(found, ("gen_ai.request.model", "llm.model_name"))),
        failed=usage is None and (span.failed or found.get("error.type") is not None),
        tier=plain_tier(
            first(
                found,
                (
                    "openai.response.service_tier",
                    "gen_ai.openai.response.service_tier",
                    "openai.request.service_tier",
                ),
            )
        ),
        session=text_of(first(found, ("gen_ai.conversation.id", "session.id"))) or span.trace,
        route=text_of(first(found, ("gen_ai.agent.name", "gen_ai.prompt.name"))) or span.name,
        time_s=span.started_s,
        answered_s=_answered(span),
        ended_s=span.ended_s,
    )


def _answered(span: Span) -> float | None:
    wait = number_of(
        first(
            span.attributes,
            ("gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token"),
        )
    )
    return None if wait is None or span.started_s is None or wait < 0 else span.started_s + wait


def _parameters(found: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": first(found, ("gen_ai.request.model", "llm.model_name"))}
    asked = json_of(found.get("llm.invocation_parameters"))
    body.update(
        (name, value)
        for name, value in mapping_of(asked).items()
        if name not in {"messages", "model"}
    )
    for name in _PARAMETERS:
        value = found.get(f"gen_ai.request.{name}")
        if value is not None:
            body[name] = value
    tools = json_of(found.get("gen_ai.tool.definitions"))
    if not isinstance(tools, list):
        tools = [
            schema
            for tool in _listed(found, "llm.tools.")
            if isinstance(schema := json_of(tool.get("tool.json_schema")), dict)
        ]
    if tools:
        body["tools"] = tools
    return body


def _messages(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    system = json_of(found.get("gen_ai.system_instructions"))
    said = [text for part in items_of(system) if (text := _part_text(part)) is not None]
    if said:
        messages.append(
            {"role": "system", "content": [{"type": "text", "text": text} for text in said]}
        )
    told = json_of(first(found, ("gen_ai.input.messages", "gen_ai.prompt")))
    for message in items_of(told):
        if isinstance(message, dict):
            messages += _of_parts(message)
    if messages:
        return messages
    for prefix in _LISTS:
        messages = [_of_attributes(fields) for fields in _listed(found, prefix) if fields]
        if messages:
            return messages
    return []


def _part_text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    return text_of(first(mapping_of(part), ("content", "text")))


def _of_parts(message: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """A message of the conventions as messages of Chat: results of tools are their own."""
    role = text_of(message.get("role")) or "user"
    parts = message.get("parts")
    if not isinstance(parts, list):
        return [{"role": role, "content": message.get("content"), **_calls(message)}]
    blocks: list[Any] = []
    calls: list[dict[str, Any]] = []
    made: list[dict[str, Any]] = []
    for part in parts:
        kind = mapping_of(part).get("type")
        if kind == "tool_call":
            arguments = part.get("arguments")
            calls.append(_tool_call(part.get("id"), part.get("name"), arguments))
        elif kind == "tool_call_response":
            answer = first(part, ("response", "result"))
            made.append({"role": "tool", "tool_call_id": part.get("id"), "content": answer})
        elif kind == "text":
            blocks.append({"type": "text", "text": _part_text(part) or ""})
        elif isinstance(part, dict):
            blocks.append(part)
    if blocks or calls or not made:
        made.insert(
            0, {"role": role, "content": blocks, **({"tool_calls": calls} if calls else {})}
        )
    return made


def _tool_call(id_: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _calls(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("tool_calls", "tool_call_id") if name in message}


def _of_attributes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A message of OpenInference or OpenLLMetry as one of Chat."""

    def at(name: str) -> Any:
        return first(fields, (f"message.{name}", name))

    message: dict[str, Any] = {"role": text_of(at("role")) or "user", "content": at("content")}
    contents = _listed(fields, "message.contents.")
    if contents:
        message["content"] = [
            {
                "type": part.get("message_content.type"),
                "text": part.get("message_content.text"),
            }
            if "message_content.text" in part
            else dict(part)
            for part in contents
        ]
    calls = [
        _tool_call(
            first(call, ("tool_call.id", "id")),
            first(call, ("tool_call.function.name", "name")),
            first(call, ("tool_call.function.arguments", "arguments")),
        )
        for prefix in ("message.tool_calls.", "tool_calls.")
        for call in _listed(fields, prefix)
    ]
    if calls:
        message["tool_calls"] = calls
    answered = at("tool_call_id")
    if answered is not None:
        message["tool_call_id"] = answered
    return message


def _listed(found: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Objects out of attributes that are numbered, `PREFIX0.name`, in the order of numbers."""
    rows: dict[int, dict[str, Any]] = {}
    for name, value in found.items():
        if not name.startswith(prefix):
            continue
        number, _, rest = name[len(prefix) :].partition(".")
        if number.isascii() and number.isdigit() and len(number) < 7 and rest:
            rows.setdefault(int(number), {})[rest] = value
    return [rows[number] for number in sorted(rows)[:_MAX_LISTED]]


def _usage(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Counts under the names of their attributes."""
    counts = {
        name: count
        for name, count in found.items()
        if name.startswith(_USAGE) and number_of(count) is not None
    }
    return counts or None


OTEL = CallFormat(
    name="otel",
    title="spans of OpenTelemetry: GenAI, OpenInference, OpenLLMetry",
    fidelity=Fidelity.RESERIALISED,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
)
