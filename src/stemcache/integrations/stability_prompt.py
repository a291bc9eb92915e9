"""What a builder gave, as the passages of a prompt in the order that a provider reads them.

```
body of an API, as a dictionary, as JSON, or as arguments of its client
list of messages                              ──►  passages │ passages
text, bytes                                        stable   │ free
Layout, Laid, Plan, Conversation                           cut
```
The stable part ends at the last marker; where there is none, before the last message of a user.
Of a layout it is all that is not declared to be of a turn.
"""

import base64
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from stemcache.errors import UsageError
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt, Span
from stemcache.wire.api import Api, api_of

__all__ = ["Passage", "Reading", "Seen", "seen"]

_DEEPEST = 128
_LEFT_OUT = frozenset({"Omit", "NotGiven"})
"""Classes of the official clients' values that mean: not sent."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How what a builder gives is read."""

    until: str | int = "marker"
    api: Api | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """What a provider reads as one piece."""

    section: str
    pointer: str
    """To the string that `text` is. Not compared: equal passages stand at equal places."""
    head: str
    """What is read of it beside its text: role, kind, label."""
    text: str
    marker: str | None = None
    """The lifetime of the marker behind it; `` for the usual one, None without a marker."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A prompt and how much of it has to stay."""

    passages: tuple[Passage, ...]
    cut: int
    """Number of passages that have to stay."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """JSON of what is no passage, by pointer, keys sorted."""
    ids: tuple[int, ...] = ()
    """Numbers in it that `id()` gave to the builder."""

    def rewritten(self, change: Callable[[str], str]) -> "Seen":
        """With every text as a function makes it."""
        passages = tuple(dataclasses.replace(one, text=change(one.text)) for one in self.passages)
        parameters = {pointer: change(text) for pointer, text in self.parameters.items()}
        return dataclasses.replace(self, passages=passages, parameters=parameters)

    def to_json(self) -> str:
        """For another process."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Seen":
        """What `to_json` wrote."""
        fields = json.loads(text)
        passages = tuple(Passage(**one) for one in fields["passages"])
        return cls(passages, fields["cut"], fields["parameters"], tuple(fields["ids"]))


def seen(value: object, reading: Reading) -> Seen:
    """Read what a builder gave. Linear. Raises UsageError for what is no prompt."""
    if _is_ours(value):
        from stemcache.integrations.stability_layout import laid_passages  # noqa: PLC0415 - only if it is in use

        found = laid_passages(value)
        if found is not None:
            return _seen_laid(*found, reading)
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        body = _body_in(value)
        return _seen_text(value, reading) if body is None else _seen_body(body, reading)
    plain = _plain(value, 0)
    if isinstance(plain, list):
        name = _list_name(plain, reading.api)
        return _seen_body({name: plain}, reading, within=f"/{name}")
    if isinstance(plain, dict):
        return _seen_body(_flat(plain), reading)
    raise UsageError(
        f"the builder gave a value of type {type(value).__name__}; it has to return a request "
        "body, a list of messages, a text, bytes, a Layout, or what a layout laid out"
    )


def _is_ours(value: object) -> bool:
    """Whether `stemcache.prompt` made it, which is not loaded for those who do not use it."""
    if isinstance(value, list | tuple) and value:
        value = value[0]
    return any(base.__module__.startswith("stemcache.prompt.") for base in type(value).__mro__)


def _seen_laid(passages: tuple[Passage, ...], stable: int, reading: Reading) -> Seen:
    if reading.until not in {"marker", "all"}:
        raise UsageError(
            f"until={reading.until!r}, and the builder gave a layout, which tells by itself what "
            "stays; leave until out, or use 'all'"
        )
    return Seen(passages, len(passages) if reading.until == "all" else stable)


def _seen_text(text: str, reading: Reading) -> Seen:
    until = reading.until
    if isinstance(until, int):
        text = text[:until]
    elif until not in {"marker", "all"}:
        raise UsageError(
            f"until={until!r}, and the builder gave a text; use 'all', or a number of characters"
        )
    return Seen((Passage("text", "", "", text),), 1)


def _seen_body(body: Mapping[str, Any], reading: Reading, *, within: str = "") -> Seen:
    api = reading.api or api_of(body)
    if api is None:
        text = json.dumps(body, ensure_ascii=False)
        passage = Passage("text", "", "JSON", text)
        if reading.until not in {"marker", "all"}:
            raise UsageError(
                f"until={reading.until!r}, and nothing tells for which API the dictionary is that "
                f"the builder gave; name it: api='messages' ({', '.join(Api)})"
            )
        return Seen((passage,), 1)
    try:
        prompt = prompt_of(body, api)
    except BadBodyError as error:
        raise UsageError(
            f"the builder gave no request for {api}: {error}; name the API that it is for, "
            f"api='messages' ({', '.join(Api)})"
        ) from None
    passages = tuple(
        Passage(
            str(span.section),
            span.text_pointer.removeprefix(within),
            "; ".join(part for part in (span.role, span.kind, span.label) if part),
            span.text,
            None if span.marker is None else span.marker.ttl or "",
        )
        for span in prompt.spans
    )
    parameters = {
        pointer: json.dumps(value, ensure_ascii=False, sort_keys=True)
        for pointer, value in prompt.parameters.items()
    }
    cut = _cut(prompt, reading.until, within)
    if not cut:
        raise UsageError(
            f"nothing of the prompt has to stay under until={reading.until!r}: there is no marker, "
            "and no tool, system prompt or message before that place; use until='all'"
        )
    return Seen(passages, cut, parameters)


def _cut(prompt: Prompt, until: str | int, within: str) -> int:
    spans = prompt.spans
    if isinstance(until, int):
        count = max((span.message for span in spans), default=-1) + 1
        first = until if until >= 0 else max(0, count + until)
        return _before(spans, first)
    if until == "all":
        return len(spans)
    if until == "marker":
        if prompt.api is Api.COMPLETIONS:
            return len(spans)
        marked = [number for number, span in enumerate(spans) if span.marker is not None]
        if marked:
            return marked[-1] + 1
    if until in {"marker", "last-user"}:
        users = [span.message for span in spans if span.role == "user" and span.message >= 0]
        return _before(spans, users[-1]) if users else len(spans)
    if until.startswith("/"):
        at = within + until
        for number, span in enumerate(spans):
            if f"{span.text_pointer}/".startswith(f"{at}/"):
                return number
        raise UsageError(f"until={until!r}, and no piece of the prompt stands there; look it up")
    raise UsageError(
        f"until={until!r}; use 'marker', 'last-user', 'all', a number of messages, or a JSON "
        "pointer to the first piece that may change"
    )


def _before(spans: Sequence[Span], message: int) -> int:
    """How many spans stand before a message."""
    for number, span in enumerate(spans):
        if span.message >= message:
            return number
    return len(spans)


def _list_name(items: list[Any], api: Api | None) -> str:
    if api is Api.RESPONSES:
        return "input"
    parts = any(isinstance(item, dict) and "parts" in item for item in items)
    return "contents" if api is Api.GENERATE or (api is None and parts) else "messages"


def _flat(body: dict[str, Any]) -> dict[str, Any]:
    """Arguments of Google's client as the body that it sends: its `config` is no level of that."""
    config = body.get("config")
    if "contents" in body and isinstance(config, dict):
        flat = {**{key: value for key, value in body.items() if key != "config"}, **config}
        contents = flat["contents"]
        return {**flat, "contents": contents if isinstance(contents, list) else [contents]}
    return body


def _body_in(text: str) -> dict[str, Any] | None:
    """The request that a text is, if it is one."""
    if text.lstrip()[:1] != "{":
        return None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and api_of(body) is not None else None


def _plain(value: Any, depth: int) -> Any:
    """As JSON has it, in the order that it has."""
    if depth > _DEEPEST:
        raise UsageError(f"the builder gave a value that nests more than {_DEEPEST} deep")
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {
            str(key): _plain(item, depth + 1)
            for key, item in value.items()
            if type(item).__name__ not in _LEFT_OUT
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump):  # pydantic's, and so the official clients'
        return _plain(dump(mode="json", by_alias=True, exclude_unset=True), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {one.name: _plain(getattr(value, one.name), depth + 1) for one in fields}
    raise UsageError(
        f"the builder gave a value of type {type(value).__name__} in its prompt, which no client "
        "sends; give what is sent"
    )
