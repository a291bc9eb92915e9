"""Portions as a prompt's spans, so that what compares requests compares prefixes."""

import json
from collections.abc import Sequence

from stemcache.prompt.lock.portions import Portion
from stemcache.trace.spans.prompt import ORDER
from stemcache.trace.spans.span import Prompt, Span, SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["as_prompt"]

_PLAIN = frozenset({SpanKind.TEXT, SpanKind.THINKING, SpanKind.TOKENS})


def as_prompt(portions: Sequence[Portion], order: Sequence[Section]) -> Prompt:
    """The portions, which stand in that order, with pointers of a section and a number each.

    A text is at `/system/0/text`, a structure at `/tools/3`. Linear.
    """
    numbers = dict.fromkeys(Section, 0)
    spans: list[Span] = []
    for one in portions:
        pointer = f"/{one.section}/{numbers[one.section]}"
        value = _value(one)
        is_text = isinstance(value, str)
        spans.append(
            Span(
                section=one.section,
                pointer=pointer,
                text_pointer=f"{pointer}/text" if is_text else pointer,
                role=one.role,
                kind=one.kind,
                text=one.text,
                value={"text": value} if is_text else value,
                message=numbers[one.section] if one.section is Section.MESSAGES else -1,
                ends_message=True,
                label=one.label,
            )
        )
        numbers[one.section] += 1
    return Prompt(
        api=Api.CHAT,
        spans=tuple(spans),
        order=tuple(dict.fromkeys((*order, *ORDER))),
        parameters={},
    )


def _value(one: Portion) -> object:
    """A structure as it was before it was written as JSON; else the text."""
    if one.kind in _PLAIN:
        return one.text
    try:
        found: object = json.loads(one.text)
    except (ValueError, RecursionError):
        return one.text
    return found if isinstance(found, dict) else one.text
