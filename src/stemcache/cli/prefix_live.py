"""Which caches hold a pinned prefix, as a log of calls shows: how many, and what stands behind it.

```
call ─► begins with the prefix? ─► place: provider, model, whose cache, server    ─► live caches
                               └─► leaf: a prompt that no later one goes on from  ─► conversations
```
Live is what was used within its time to live before the log's end. A call begins with a prefix when
the portions of its system prompt are there, in blocks of their own or joined in one text; tools are
not looked at, since each API has another form for them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stemcache.lint.intake import taken_in, usage_of
from stemcache.lint.judged import routing_values
from stemcache.prompt.lock.portions import Pinned, PinnedPortion, Portion, digest_of
from stemcache.provider.book import Book
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule
from stemcache.trace.calls.call import Call
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.sketch import TextMemo, sketch
from stemcache.trace.spans.span import Prompt, Span, SpanKind
from stemcache.wire.section import Section

__all__ = ["Live", "live_caches", "matches"]

_BYTES_PER_TOKEN = 4
_GAPS = (0, 1, 2)
"""Characters between two portions that were joined in one text: none, or ends of lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """Of one prefix, at one provider and model."""

    provider: str
    model: str
    rule: Rule
    price: Price | None
    caches: int
    conversations: int
    """That could go on."""
    history_tokens: int
    """Behind the prefix, of all these conversations."""


@dataclass(slots=True)
class _Leaf:
    time_s: float | None
    tokens: int


@dataclass(slots=True)
class _Place:
    """One cache."""

    rule: Rule
    price: Price | None
    ttl_s: float | None
    last_s: float | None = None
    leaves: dict[int, _Leaf] = field(default_factory=dict)
    """By the identity of the whole prompt."""


def live_caches(
    calls: Iterable[Call],
    prefixes: Mapping[str, Pinned],
    *,
    book: Book,
    provider: str | None,
    aliases: Mapping[str, str],
) -> dict[str, tuple[Live, ...]]:
    """By name of prefix, by provider and model. One pass; memory by conversation, not by call."""
    places: dict[str, dict[tuple[str, ...], _Place]] = {name: {} for name in prefixes}
    texts = TextMemo()
    end_s: float | None = None
    for call in calls:
        if call.failed:
            continue
        if call.time_s is not None:
            end_s = call.time_s if end_s is None else max(end_s, call.time_s)
        try:
            taken = taken_in(call, book=book, provider=provider, aliases=aliases)
        except BadBodyError:
            continue
        if taken.prompt is None:
            continue
        for name, pinned in prefixes.items():
            if not matches(taken.prompt, pinned):
                continue
            model = taken.price.model if taken.price is not None else call.model or ""
            routing = routing_values(call, taken.rule, taken.prompt).values()
            key = (taken.rule.provider, model, call.scope, *routing)
            place = places[name].setdefault(key, _Place(taken.rule, taken.price, None))
            _use(place, call, taken.prompt, texts)
    return {name: _summed(found, prefixes[name], end_s) for name, found in places.items()}


def matches(prompt: Prompt, pinned: Pinned) -> bool:
    """Whether the prompt has the portions of the prefix's system prompt, in order and at its start.

    Of a prefix without a system prompt, those of its messages. False for one of tools alone.
    """
    wanted = [one for one in pinned.portions if one.section is Section.SYSTEM]
    wanted = wanted or [one for one in pinned.portions if one.section is Section.MESSAGES]
    spans = [one for one in prompt.spans if one.section is not Section.TOOLS]
    if not wanted or not spans:
        return False
    number, at = 0, 0
    for index, portion in enumerate(wanted):
        places = [(number, at + gap) for gap in _GAPS] if index else [(0, 0)]
        places += [(number + 1, 0)] if index else []
        for number, at in places:  # where it is found is where to go on
            if number < len(spans) and _stands(portion, spans[number], at):
                break
        else:
            return False
        at += portion.chars
    return True


def _stands(portion: PinnedPortion, span: Span, at: int) -> bool:
    text = span.text[at : at + portion.chars]
    if len(text) != portion.chars:
        return False
    forms = {("", "", SpanKind.TEXT), (span.role, span.label, span.kind)}
    return any(
        digest_of(
            Portion(
                name="",
                section=portion.section,
                kind=kind,
                text=text,
                tokens=0,
                role=role,
                label=label,
            )
        )
        == portion.digest
        for role, label, kind in forms
    )


def _use(place: _Place, call: Call, prompt: Prompt, texts: TextMemo) -> None:
    if call.time_s is not None:
        place.last_s = call.time_s if place.last_s is None else max(place.last_s, call.time_s)
    ttl_s = _ttl_s(place.rule, prompt)
    if ttl_s is not None:
        place.ttl_s = ttl_s if place.ttl_s is None else max(place.ttl_s, ttl_s)
    drawn = sketch(prompt, texts)
    chains = drawn.span_chain.tolist()
    for chain in chains[:-1]:
        place.leaves.pop(chain, None)
    reported = usage_of(call, place.rule).prompt_tokens
    estimated = int(drawn.span_bytes.sum()) // _BYTES_PER_TOKEN
    tokens = estimated if reported is None else reported
    place.leaves[chains[-1]] = _Leaf(call.time_s, tokens)


def _ttl_s(rule: Rule, prompt: Prompt) -> float | None:
    """How long the prefix is kept; None where the provider does not say."""
    if not rule.ttls:
        return None
    marked = [one.marker.ttl for one in prompt.spans if one.marker is not None]
    if prompt.automatic is not None:
        marked.append(prompt.automatic.ttl)
    named = [ttl.high_s for ttl in rule.ttls if ttl.name and ttl.name in marked]
    return max(named, default=rule.ttls[0].high_s)


def _summed(
    places: Mapping[tuple[str, ...], _Place], pinned: Pinned, end_s: float | None
) -> tuple[Live, ...]:
    groups: dict[tuple[str, str], list[_Place]] = {}
    for key, place in places.items():
        if _is_live(place.last_s, place.ttl_s, end_s):
            groups.setdefault((key[0], key[1]), []).append(place)
    found: list[Live] = []
    for (provider, model), group in sorted(groups.items()):
        leaves = _live_leaves(group, end_s)
        found.append(
            Live(
                provider=provider,
                model=model,
                rule=group[0].rule,
                price=group[0].price,
                caches=len(group),
                conversations=len(leaves),
                history_tokens=sum(max(0, leaf.tokens - pinned.tokens) for leaf in leaves),
            )
        )
    return tuple(found)


def _live_leaves(group: Sequence[_Place], end_s: float | None) -> list[_Leaf]:
    return [
        leaf
        for place in group
        for leaf in place.leaves.values()
        if _is_live(leaf.time_s, place.ttl_s, end_s)
    ]


def _is_live(last_s: float | None, ttl_s: float | None, end_s: float | None) -> bool:
    """What has no time may be live."""
    return last_s is None or ttl_s is None or end_s is None or end_s - last_s <= ttl_s
