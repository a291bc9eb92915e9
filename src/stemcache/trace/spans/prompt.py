"""Bodies of every API as prompts: taken apart by the API's own file, put in a provider's order."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.chat import chat_parts
from stemcache.trace.spans.completions import completions_parts
from stemcache.trace.spans.converse import converse_parts
from stemcache.trace.spans.draft import Parts
from stemcache.trace.spans.generate import generate_parts
from stemcache.trace.spans.messages import messages_parts
from stemcache.trace.spans.parameters import parameters_of
from stemcache.trace.spans.responses import responses_parts
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["ORDER", "prompt_of"]

ORDER = (Section.TOOLS, Section.SYSTEM, Section.MESSAGES)
"""The order of most providers."""

_MOST_BLOCKS = 200_000
"""More than any API takes. A span takes 300 bytes, its JSON as few as two."""
_READERS: Mapping[Api, Callable[[Mapping[str, Any]], Parts]] = {
    Api.CHAT: chat_parts,
    Api.RESPONSES: responses_parts,
    Api.COMPLETIONS: completions_parts,
    Api.MESSAGES: messages_parts,
    Api.CONVERSE: converse_parts,
    Api.GENERATE: generate_parts,
}


def prompt_of(body: Mapping[str, Any], api: Api, order: tuple[Section, ...] = ORDER) -> Prompt:
    """All spans of a body in the order of sections given. The body's strings are not copied.

    Linear in the body: about 5 µs a span, and a pass over what is compared as JSON. Sections that
    `order` does not name stand behind it. Raises BadBodyError for what is no request of that API,
    or has more than 200,000 blocks; blocks of unknown types are spans of the kind OTHER.
    """
    if not isinstance(body, Mapping):
        raise BadBodyError("the request is no object")
    _check_size(body)
    parts = _READERS[api](body)
    sections = tuple(dict.fromkeys(order + ORDER))
    return Prompt(
        api=api,
        spans=tuple(span for section in sections for span in parts.spans.get(section, ())),
        order=sections,
        parameters={**parameters_of(body, parts.taken), **parts.stray},
        automatic=parts.automatic,
    )


def _check_size(body: Mapping[str, Any]) -> None:
    """Refuse what would become too many spans, before any are made."""
    blocks = 0
    for name, value in body.items():
        items: Iterable[Any] = ()
        if isinstance(value, dict):  # toolConfig, systemInstruction
            items = value.values()
        elif isinstance(value, list):
            if name == "prompt" and all(type(item) is int for item in value):
                continue  # token ids, one span
            items = value
            blocks += len(value)
        for item in items:
            if isinstance(item, list):
                blocks += len(item)
            elif isinstance(item, dict):
                blocks += sum(len(inner) for inner in item.values() if isinstance(inner, list))
        if blocks > _MOST_BLOCKS:
            raise BadBodyError(
                f"the request has more than {_MOST_BLOCKS:,} blocks", fix="check what was logged"
            )
