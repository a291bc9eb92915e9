"""Two requests to an explanation of what the second could not read of the first. Pure.

```
Request, Request ─► Judged, Judged ─► Case ─► steps, ladder ─► losses ─► Difference …
        │                               └──► changes ─► views (line, column, text)
        └─ texts ─► maps ─► spellings
```
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.explain.compared import case_of, grown, judged_of
from stemcache.lint.explain.diagnosis import Joined, joined, read_diagnosis
from stemcache.lint.explain.explanation import (
    Cache,
    Difference,
    Explanation,
    Keyed,
    Party,
    Refused,
    View,
)
from stemcache.lint.explain.json_map import Paths
from stemcache.lint.explain.kinds import kind_words
from stemcache.lint.explain.markers import furthest_found, markers_of
from stemcache.lint.explain.reading import read_by
from stemcache.lint.explain.request import Request
from stemcache.lint.explain.spelling import Spelling, spellings
from stemcache.lint.explain.views import Side, side_of, views_of
from stemcache.lint.explain_change import explain as explain_change
from stemcache.lint.helped import helped
from stemcache.lint.judge import Case, judge, ladder_of
from stemcache.lint.judged import Judged, routing_values
from stemcache.lint.keys import changed_keys
from stemcache.lint.ladder import Ladder, Step
from stemcache.lint.log import Row
from stemcache.lint.refusals import refusals
from stemcache.lint.say import extended_cause, key_cause, refusal_cause
from stemcache.lint.scale import Scales
from stemcache.provider.book import Book
from stemcache.trace.calls.call import Call
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.wire.section import Section

__all__ = ["How", "explain"]

_MOST_SHOWN = 100
"""Of each sort; finding the line of each costs a pass over the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """What two requests are judged by."""

    book: Book
    provider: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)


def explain(old: Request, new: Request, *, how: How, row: Row | None = None) -> Explanation:
    """Explain the second request by the first. Linear in both bodies, but for what they differ in.

    `row` is what the analysis of a whole log says of the second request, where it stands in one:
    then time, races and routes are told by all earlier calls, else by the first request alone.
    Raises UsageError for requests that cannot be compared.
    """
    scales = Scales()
    one, other = (
        judged_of(each, book=how.book, provider=how.provider, aliases=how.aliases, scales=scales)
        for each in (old, new)
    )
    case = case_of(one, other)
    if not case.divergence.changes:
        other = grown(one, other, case.divergence.shared_bytes)
        case = replace(case, shape=other.shape, scale=other.scale)
    steps, ladder = ladder_of(case)
    reading = read_by(one, other, case, ladder, row)
    paths = Paths()
    sides = side_of(old, paths), side_of(new, paths)
    told = _Telling(case, steps, ladder, sides)
    read = max(reading.predicted_tokens, reading.reported_tokens or 0)
    found = told.all(read, markers=new.call.fidelity.keeps_parameters)
    losses = [each for each in found if each.high > each.low]
    rest = [each for each in found if each.high <= each.low]
    first = next((each.step for each in found if each.step is not None), None)
    return Explanation(
        old=_party(old, one),
        new=_party(new, other),
        lost_tokens=sum(each.high - each.low for each in losses),
        differences=tuple(map(told.difference, losses[:_MOST_SHOWN])),
        uncosted=tuple(map(told.difference, rest[:_MOST_SHOWN])),
        more_differences=max(len(losses) - _MOST_SHOWN, 0) + max(len(rest) - _MOST_SHOWN, 0),
        unkeyed=_unkeyed(one, other),
        refusals=tuple(_refused(other)),
        cache=_cache(one, other, None if first is None else _pointer(first)),
        reading=reading,
        diagnosis=_diagnosis(one, other, case),
        spellings=_spellings(sides, other),
        spelling_known=_spelling_known(sides),
        remarks=tuple(_remarks(one, other)),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """One difference, and the tokens between two levels that are lost to it."""

    step: Step | None
    """None for where a marker stands, which is a cause at once."""
    low: int = 0
    high: int = 0
    joint: int = 0
    needed: bool = False
    cause: Cause | None = None


class _Telling:
    """Steps to differences.

    ```
    level       0 ─────── 0 ─────── 0 ─────── 900            step 3 brings back what 1 to 3 lost:
    step             1         2         3         4         900 to step 1, jointly with two others
    ```
    """

    def __init__(
        self, case: Case, steps: Sequence[Step], ladder: Ladder, sides: tuple[Side, Side]
    ) -> None:
        self._case = case
        self._steps = steps
        self._ladder = ladder
        self._old, self._new = sides
        self._first_in: dict[str, int] = {}
        for change in case.divergence.changes:
            self._first_in.setdefault(change.pointer, id(change))

    def all(self, read_tokens: int, *, markers: bool) -> list[_Found]:
        """In prefix order, what is lost to markers last."""
        levels = self._ladder.levels
        rises: dict[int, tuple[int, int]] = {}
        for level, step in enumerate(self._steps, start=1):
            low = max(levels[level - 1], read_tokens)
            if levels[level] > low:
                rises[id(step)] = low, levels[level]
        found: list[_Found] = []
        waiting: list[Step] = []
        for step in self._in_order():
            waiting.append(step)
            if id(step) in rises:
                low, high = rises[id(step)]
                found.append(_Found(waiting[0], low, high, joint=len(waiting) - 1))
                found += [_Found(each, needed=True) for each in waiting[1:]]
                waiting.clear()
        found += [_Found(each) for each in waiting]
        low = max(levels[-1], read_tokens)
        rest = judge(self._case, (), self._ladder, read_tokens=read_tokens, markers=markers)
        return found + [_Found(None, low, low + loss.tokens, cause=loss.cause) for loss in rest]

    def _in_order(self) -> list[Step]:
        """All steps, and changes so near to another's that they are no step of their own."""
        own = {id(step.change): step for step in self._steps if step.change is not None}
        found = [step for step in self._steps if step.key is not None]
        found += [
            own.get(id(change)) or Step(change.after_index, change.shared_before, change=change)
            for change in self._case.divergence.changes
        ]
        return sorted(found, key=lambda step: (step.span, step.key is None))

    def difference(self, found: _Found) -> Difference:
        """What is said of it."""
        step, cause = found.step, found.cause
        old: View | None = None
        if step is None:
            assert cause is not None, "what is no step is a cause"
            new = self._new.view(cause.pointer, None)
        elif step.key is not None:
            cause = key_cause(step.key, self._case.rule)
            pointer = step.key.before.pointer
            old = self._old.view(pointer, None, shape=cause.old, text=cause.old_text)
            pointer = step.key.after.pointer
            new = self._new.view(pointer, None, shape=cause.new, text=cause.new_text)
        else:
            assert step.change is not None, "a step is a change or a parameter"
            cause = self._cause(step.change, step.span)
            first = self._first_in[step.change.pointer] == id(step.change)
            old, new = views_of(step.change, cause, self._old, self._new, first=first)
        return Difference(
            code=cause.rule.code,
            name=cause.rule.name,
            kind=cause.kind,
            message=cause.message,
            help=helped(cause),
            old=old,
            new=new,
            lost_tokens=found.high - found.low,
            by_section=self._by_section(found.low, found.high),
            joint=found.joint,
            needed=found.needed,
            content=step is not None,
        )

    def _cause(self, change: Change, span: int) -> Cause:
        case = self._case
        if change.kind is ChangeKind.EXTENDED and not case.parent.held.everywhere:
            return extended_cause(case.prompt, span, case.rule)
        assert case.parent_prompt is not None, "two requests are compared by their texts"
        pair = Pair(
            child=case.prompt,
            parent=case.parent_prompt,
            divergence=case.divergence,
            child_call=case.call,
            parent_call=case.parent.call,
        )
        return explain_change(change, pair)

    def _by_section(self, low: int, high: int) -> dict[Section, int]:
        """How the tokens between two levels divide; they add up to what lies between."""
        found = dict.fromkeys(self._case.prompt.order, 0)
        before, last = 0, self._case.prompt.order[0]
        for span, end in zip(self._case.prompt.spans, self._ladder.within, strict=True):
            both = min(end, high) - max(before, low)
            if both > 0:
                found[span.section] += both
                last = span.section
            before = end
        # Levels that are rounded, or counted within a span, end elsewhere than spans do.
        found[last] += max(high - low - sum(found.values()), 0)
        return found


def _party(request: Request, one: Judged) -> Party:
    return Party(
        name=request.name,
        file=one.call.place.file,
        line=one.call.place.line,
        fidelity=one.call.fidelity,
        api=str(one.prompt.api),
        model=one.call.model,
        tokens=one.shape.tokens,
        tokens_reported=one.scale.reported,
        read_tokens=one.usage.read_tokens,
        written_tokens=one.usage.written_tokens,
        time_s=one.call.time_s,
    )


def _pointer(step: Step) -> str:
    if step.change is not None:
        return step.change.pointer
    assert step.key is not None, "a step is a change or a parameter"
    return step.key.pointer


def _unkeyed(old: Judged, new: Judged) -> tuple[str, ...]:
    """Parameters of the first level that differ and neither key nor route."""
    keyed = {pointer for key in new.rule.keys for pointer in key.pointers}
    keyed |= {"/model", *new.rule.routing_fields}
    before, after = old.prompt.parameters, new.prompt.parameters
    names = sorted({name for name in (*before, *after) if name.count("/") == 1})
    return tuple(
        name
        for name in names
        if before.get(name) != after.get(name)
        and not any(one == name or one.startswith(f"{name}/") for one in keyed)
    )[:_MOST_SHOWN]


def _refused(one: Judged) -> Iterator[Refused]:
    if not one.call.fidelity.keeps_parameters:
        return
    for refusal in refusals(one.rule, one.prompt):
        cause = refusal_cause(refusal, one.rule)
        yield Refused(
            code=cause.rule.code,
            name=cause.rule.name,
            message=cause.message,
            pointer=cause.pointer,
            help=helped(cause),
        )


def _cache(old: Judged, new: Judged, first_change: str | None) -> Cache:
    rule = new.rule
    before = {value.key.name: value.spelt for value in old.keys}
    here = routing_values(old.call, rule, old.prompt)
    there = routing_values(new.call, rule, new.prompt)
    return Cache(
        rule=rule.name,
        kind=rule.kind,
        words=kind_words(rule),
        minimum_tokens=rule.minimum_tokens.likely,
        minimum_contested=rule.minimum_tokens.contested,
        unit_tokens=rule.unit_tokens,
        look_back=rule.look_back if rule.kind == "markers" else None,
        ttls=tuple(ttl.name for ttl in rule.ttls if ttl.name),
        guaranteed=rule.guaranteed,
        markers=markers_of(old, new, first_change=first_change),
        found=furthest_found(old, new),
        keys=tuple(
            Keyed(
                name=value.key.name,
                pointer=value.pointer,
                section=value.key.section,
                same=before.get(value.key.name, b"") == value.spelt,
                present=bool(value.spelt),
            )
            for value in new.keys
        ),
        routing=tuple((name.lstrip("/"), here.get(name) == said) for name, said in there.items()),
        notes=rule.notes,
    )


def _diagnosis(old: Judged, new: Judged, case: Case) -> Joined | None:
    said = read_diagnosis(new.call.diagnostics)
    if said is None:
        return None
    return joined(
        said,
        old=old.call,
        new=new.call,
        prompts=(old.prompt, new.prompt),
        places=[(change.section, change.pointer) for change in case.divergence.changes],
        keys=[change.pointer for change in changed_keys(old.keys, new.keys, new.prompt)],
    )


def _spelling_known(sides: Iterable[Side]) -> bool:
    return all(
        side.map is not None
        and side.request.text is not None
        and side.request.text.as_sent
        and not side.request.text.inner
        for side in sides
    )


def _spellings(sides: tuple[Side, Side], new: Judged) -> tuple[Spelling, ...]:
    if not _spelling_known(sides):
        return ()
    one, other = sides[0].map, sides[1].map
    assert one is not None and other is not None, "their spelling is known"
    rendered = [
        number
        for span in new.prompt.spans
        if span.text_pointer == span.pointer and not isinstance(span.value, str)
        if (number := other.paths.find(span.pointer)) is not None
    ]
    return tuple(spellings(one, other, rendered=rendered))


def _remarks(old: Judged, new: Judged) -> Iterator[str]:
    if not new.rule.name:
        yield (
            "nothing tells the provider, so a cache of the longest common prefix without a minimum "
            "is assumed; name it with --provider"
        )
    if old.rule.provider != new.rule.provider:
        yield (
            f"the first goes to {old.rule.provider or 'an unknown provider'}, the second to "
            f"{new.rule.provider or 'an unknown provider'}: they share no cache"
        )
    if old.call.scope != new.call.scope:
        yield "they were sent under different credentials or tenants, which share no cache"
    if old.call.failed:
        yield "the first request failed, so that it left nothing in the cache"
    if new.call.failed:
        yield "the second request failed, so that it read nothing"
    early, late = old.call.time_s, new.call.time_s
    if early is not None and late is not None and early > late:
        yield "the first request was sent after the second; swap them to explain the later one"
    yield from _of_fidelity(old.call, new.call)


def _of_fidelity(old: Call, new: Call) -> Iterator[str]:
    for fidelity in dict.fromkeys((old.fidelity, new.fidelity)):
        both = old.fidelity is new.fidelity
        which = "both are" if both else f"{(old if fidelity is old.fidelity else new).place} is"
        if not fidelity.keeps_parameters:
            yield (
                f"{which} {fidelity.value}: tools, markers and parameters may be missing, so all "
                "that both share is taken to be readable"
            )
        elif not fidelity.keeps_key_order:
            yield f"{which} {fidelity.value}: the order of keys is not known"
