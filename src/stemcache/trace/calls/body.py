"""Whether a decoded value is a request body, and what a body says beside its prompt."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from stemcache.trace.calls.answer import Answer, plain_tier
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.calls.fields import nested, split_url, text_of
from stemcache.wire.api import Api, api_of

__all__ = ["is_body", "made_call", "previous_id_of"]

_PREVIOUS = frozenset({"previous_response_id", "diagnostics", "prompt_cache_options"})
_NOTHING = Answer()
_NAMES = ("session", "scope", "route")
_LONGEST_NAME = 512
_BEGINNING = 64


def is_body(value: object) -> bool:
    """Whether it looks like the body of a request to one of the APIs."""
    if not isinstance(value, dict):
        return False
    messages = value.get("messages")
    if isinstance(messages, list):
        return not messages or isinstance(messages[0], dict)
    contents = value.get("contents")
    if isinstance(contents, list):
        return not contents or isinstance(contents[0], dict)
    if isinstance(value.get("prompt"), str | list):
        return True
    return isinstance(value.get("input"), str | list) and (
        "model" in value or "previous_response_id" in value
    )


def previous_id_of(body: Mapping[str, Any] | None) -> str | None:
    """Id of the response that a request says it goes on from, or asks to be compared with."""
    if body is None or _PREVIOUS.isdisjoint(body):
        return None
    return (
        text_of(body.get("previous_response_id"))
        or text_of(nested(body, "diagnostics", "previous_message_id"))
        or text_of(nested(body, "prompt_cache_options", "comparison_response_id"))
    )


def made_call(
    *,
    place: Place,
    body: Mapping[str, Any] | None,
    fidelity: Fidelity,
    size_bytes: int,
    answer: Answer | None = None,
    api: Api | None = None,
    url: object = None,
    host: str | None = None,
    model: str | None = None,
    id: str | None = None,  # noqa: A002  # as the field is called
    status: int | None = None,
    failed: bool = False,
    tier: str | None = None,
    region: str | None = None,
    usage: Mapping[str, Any] | None = None,
    **more: Any,
) -> Call:
    """A call from what a format found: what it does not say is taken from body and answer.

    `failed` is also set by a status of 400 or more and by an error in place of an answer. Of names
    that are too long to be names the beginning stays, and a digest: tables are kept by them.
    """
    url_host, path = (None, None) if url is None else split_url(url)
    if answer is None:
        answer = _NOTHING
    if status is None:
        status = answer.status
    if body is not None:
        api = api or api_of(body, path)
        model = text_of(body.get("model")) or text_of(body.get("modelId")) or model
        if tier is None and "service_tier" in body:
            tier = plain_tier(body["service_tier"])
    if model is None:
        model = answer.model or _model_of(path)
    for name in _NAMES:
        if name in more:
            more[name] = _bounded(more[name])
    return Call(
        place=place,
        api=api,
        body=body,
        fidelity=fidelity if body is not None else Fidelity.USAGE_ONLY,
        size_bytes=size_bytes if body is not None else 0,
        model=_bounded(model),
        id=_bounded(answer.id or id),
        previous_id=_bounded(previous_id_of(body)),
        host=_bounded(host or url_host),
        path=_bounded(path),
        status=status,
        failed=failed or answer.failed or (status is not None and status >= 400),
        usage=usage if usage is not None else answer.usage,
        answer=answer.content,
        diagnostics=answer.diagnostics,
        # What the provider did counts, and only where it did not say what it was asked for.
        tier=_bounded(answer.tier or tier),
        region=_bounded(answer.region or region),
        **more,
    )


def _bounded(name: str | None) -> str | None:
    if name is None or len(name) <= _LONGEST_NAME:
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{name[:_BEGINNING]}~{digest}"


def _model_of(path: str | None) -> str | None:
    """The model that Gemini, Bedrock and Vertex name in the path."""
    if path is None:
        return None
    for before in ("/models/", "/model/"):
        _, found, rest = path.partition(before)
        if found:
            name = rest.partition("/")[0]
            return name.partition(":")[0] if before == "/models/" else name or None
    return None
