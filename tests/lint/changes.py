"""Spans, changes and pairs made by hand, for tests of what reads them."""

from collections.abc import Sequence

from stemcache.lint.cause import Pair
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.divergence.change import Change, ChangeKind, Divergence
from stemcache.trace.spans.span import Prompt, Span, SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section

ORDER = (Section.TOOLS, Section.SYSTEM, Section.MESSAGES)


def span(
    text: str,
    message: int = -1,
    *,
    role: str = "user",
    section: Section = Section.MESSAGES,
    kind: SpanKind = SpanKind.TEXT,
    pointer: str = "",
    value: object = None,
    ends_message: bool = True,
) -> Span:
    """A message of one block, unless said otherwise."""
    at = pointer or (f"/messages/{message}" if section is Section.MESSAGES else f"/{section}/0")
    return Span(
        section=section,
        pointer=at,
        text_pointer=f"{at}/content" if section is Section.MESSAGES else f"{at}/text",
        role=role,
        kind=kind,
        text=text,
        value=text if value is None else value,
        message=message,
        ends_message=ends_message,
    )


def edited(old: Span, new: Span, *, old_text: str, new_text: str, char: int) -> Change:
    """One window of a text."""
    return Change(
        kind=ChangeKind.EDITED,
        section=new.section,
        before=(old,),
        after=(new,),
        before_index=0,
        after_index=0,
        pointer=new.text_pointer,
        char=char,
        old=old_text,
        new=new_text,
        shared_before=0,
        shared_behind=10,
    )


def pair_of(parent: Sequence[Span], child: Sequence[Span], *changes: Change) -> Pair:
    """A pair in which no span is said to be the same."""
    call = Call(place=Place("log.jsonl", 1), api=Api.CHAT, body={}, fidelity=Fidelity.WIRE)
    divergence = Divergence(
        changes=changes,
        prefix_bytes=0,
        shared_bytes=0,
        child_bytes=sum(len(each.text) for each in child),
        parent_bytes=sum(len(each.text) for each in parent),
        aligned=(-1,) * len(child),
    )
    prompts = [
        Prompt(api=Api.CHAT, spans=tuple(spans), order=ORDER, parameters={})
        for spans in (child, parent)
    ]
    return Pair(
        child=prompts[0],
        parent=prompts[1],
        divergence=divergence,
        child_call=call,
        parent_call=call,
    )
