"""From a `[[rule]]` table to a `Rule`, in two steps: what the table states, then the whole.

```
[[rule]] name, like, minimum, ttl …   ──read_part──►  RulePart(fields, variants)     checked, typed
base part  ◄──over── part of a user's file            ──build──►  Rule for a model
```
A part may state less than a rule needs: `like` takes the rest from another rule, and a user's file
states only what differs. A `[[rule.model]]` table states what differs for some models.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, cast, get_args

from stemcache.errors import UsageError
from stemcache.provider.names import model_names
from stemcache.provider.rule import Key, Kind, Range, Rule, SourceNote, Ttl
from stemcache.provider.table import Table
from stemcache.wire.section import Section

__all__ = ["RulePart", "Sources", "build", "is_model", "read_part"]

_KINDS: tuple[str, ...] = get_args(Kind)
_SECTIONS = tuple(str(section) for section in Section)
_FIRST = "first"


class Sources:
    """The `[source.ID]` tables of one file. `strict` wants a source for every figure."""

    def __init__(self, notes: Mapping[str, SourceNote], *, where: str, strict: bool) -> None:
        self.notes = notes
        self.strict = strict
        self._own = SourceNote(text=f"stated in {where}", seen="")

    def taken(self, table: Table) -> tuple[SourceNote, ...]:
        """Those that the table's `src` names. What a user states needs none."""
        found = []
        for name in table.texts("src"):
            if name not in self.notes:
                raise UsageError(
                    f"src in {table.where} names {name[:40]!r}, which is no [source.…] of the "
                    "file; add that table"
                )
            found.append(self.notes[name])
        if not found and self.strict:
            raise UsageError(f"{table.where} has no src; name the source of its figures")
        return tuple(found) or (self._own,)


@dataclass(frozen=True, slots=True)
class _Variant:
    models: tuple[str, ...]
    fields: Mapping[str, Any]
    sources: tuple[SourceNote, ...]


@dataclass(frozen=True, slots=True)
class RulePart:
    """What one table states of a rule."""

    name: str
    where: str
    like: str | None = None
    models: tuple[str, ...] = ()
    """Patterns of the models that it is chosen for; empty for all."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Values of `Rule`'s fields; keys still with the word `first` for the section."""
    variants: tuple[_Variant, ...] = ()
    sources: tuple[SourceNote, ...] = ()

    def variants_for(self, model: str | None) -> tuple[int, ...]:
        """Numbers of the variants that a model is among."""
        names = model_names(model) if model else ()
        return tuple(
            number
            for number, variant in enumerate(self.variants)
            if is_model(names, variant.models)
        )

    def over(self, base: "RulePart", *, patch: bool) -> "RulePart":
        """Its own statements before those of the base. As a patch it keeps the base's models."""
        left = tuple(
            replace(
                variant,
                fields={k: v for k, v in variant.fields.items() if k not in self.fields},
            )
            for variant in base.variants
        )
        notes = {"notes": (*base.fields.get("notes", ()), *self.fields.get("notes", ()))}
        return RulePart(
            name=self.name,
            where=self.where,
            like=base.like if patch else None,
            models=(self.models or base.models) if patch else self.models,
            fields={**base.fields, **self.fields, **notes},
            variants=(*self.variants, *left),
            sources=tuple(dict.fromkeys((*self.sources, *base.sources))),
        )


def read_part(table: Table, sources: Sources, *, provider: str | None) -> RulePart:
    """Read one `[[rule]]` table. Raises UsageError that names file, rule and key."""
    name = table.needed("name")
    table.where = f"{table.where} ({name[:60]})"
    like = table.text("like")
    models = tuple(pattern.lower() for pattern in table.texts("models"))
    seen: list[SourceNote] = []
    found: dict[str, Any] = {} if provider is None else {"provider": provider}
    for key in ("provider", "isolation", "explicit"):
        if (text := table.text(key)) is not None:
            found[key] = text
    if (kind := table.choice("kind", _KINDS)) is not None:
        found["kind"] = kind
    if table.has("order"):
        found["order"] = _order(table)
    _figures(table, sources, found, seen)
    for key in ("refreshed_by_reads", "ttl_order", "runs_collapse", "keeps_answer", "guaranteed"):
        if (flag := table.flag(key)) is not None:
            found[key] = flag
    after = table.choice("readable_after", ("answer-begins", "answer-ends"))
    if after is not None:
        found["readable_after"] = after
    for key in ("routing_fields", "notes"):
        if table.has(key):
            found[key] = table.texts(key)
    if table.has("key"):
        found["keys"] = tuple(_key(one, sources, seen) for one in table.tables("key"))
    variants = tuple(_variant(one, sources) for one in table.tables("model"))
    if table.has("src"):
        seen.extend(sources.taken(table))
    table.done()
    for variant in variants:
        seen.extend(variant.sources)
    return RulePart(
        name=name,
        where=table.where,
        like=like,
        models=models,
        fields=found,
        variants=variants,
        sources=tuple(dict.fromkeys(seen)),
    )


def build(part: RulePart, model: str | None = None) -> Rule:
    """The rule, with what differs for the model. UsageError where a needed key is missing."""
    values = dict(part.fields)
    # The first that states a field wins: a user's tables stand before those that are shipped.
    for number in reversed(part.variants_for(model)):
        values.update(part.variants[number].fields)
    for need, key in _NEEDED.items():
        if need not in values:
            raise UsageError(f"{key} is missing from {part.where}; add it, or name a rule by like")
    order = values["order"]
    values["keys"] = tuple(
        replace(key, section=order[0]) if cast("str", key.section) == _FIRST else key
        for key in values.get("keys", ())
    )
    return Rule(name=part.name, sources=part.sources, **values)


def is_model(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    """Whether one of a model's names matches one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


_NEEDED = {
    "provider": "provider",
    "kind": "kind",
    "order": "order",
    "minimum_tokens": "minimum",
    "write_factor": "write_factor",
    "read_factor": "read_factor",
}


def _order(table: Table) -> tuple[Section, ...]:
    names = table.texts("order")
    if sorted(names) != sorted(_SECTIONS):
        raise UsageError(
            f"order in {table.where} is not each of {', '.join(_SECTIONS)} once; list all three"
        )
    return tuple(Section(name) for name in names)


def _figures(table: Table, sources: Sources, found: dict[str, Any], seen: list[SourceNote]) -> None:
    if table.has("minimum"):
        found["minimum_tokens"] = _range(table, "minimum", sources, seen)
    for key, name in (
        ("unit", "unit_tokens"),
        ("most_markers", "most_markers"),
        ("look_back", "look_back"),
    ):
        if table.has(key):
            inner = _figure(table, key)
            value = inner.count("value")
            if not value:
                raise UsageError(f"{key} in {table.where} is no count from 1 on; give one")
            found[name] = value
            _finish(inner, sources, seen)
    if table.has("ttl"):
        found["ttls"] = tuple(_ttl(one, sources, seen) for one in table.tables("ttl"))
    if table.has("read_factor"):
        inner = _figure(table, "read_factor")
        found["read_factor"] = inner.number("value")
        if found["read_factor"] is None:
            raise UsageError(f"read_factor in {table.where} has no value; give a number")
        _finish(inner, sources, seen)
    if table.has("write_factor"):
        found["write_factor"] = _write_factor(table, sources, seen)


def _figure(table: Table, key: str) -> Table:
    """The table of a figure; a bare number stands for one with a value."""
    value = table.take(key)
    where = f"{table.where}, {key}"
    if isinstance(value, Mapping):
        return Table(value, where)
    return Table({"value": value}, where)


def _finish(inner: Table, sources: Sources, seen: list[SourceNote]) -> tuple[SourceNote, ...]:
    notes = sources.taken(inner)
    seen.extend(notes)
    inner.done()
    return notes


def _range(table: Table, key: str, sources: Sources, seen: list[SourceNote]) -> Range:
    inner = _figure(table, key)
    value = inner.count("value")
    low, high, likely = (inner.count(name) for name in ("low", "high", "likely"))
    notes = _finish(inner, sources, seen)
    if value is not None and low is high is likely is None:
        return Range(low=value, high=value, likely=value, sources=notes)
    if value is not None or low is None or high is None or likely is None:
        low = high = likely = -1
    if 0 <= low <= likely <= high:
        return Range(low=low, high=high, likely=likely, sources=notes)
    raise UsageError(f"{key} in {table.where} is no figure; give value, or low <= likely <= high")


def _ttl(table: Table, sources: Sources, seen: list[SourceNote]) -> Ttl:
    name = table.take("name") or ""
    if not isinstance(name, str):
        raise table.wrong("name", name, "a text such as 5m")
    same = table.number("s")
    low, high = table.number("low_s"), table.number("high_s")
    _finish(table, sources, seen)
    if same is not None and low is high is None:
        return Ttl(name=name, low_s=same, high_s=same)
    if same is None and low is not None:
        # A lifetime that is stated as a minimum only has no end that could be told.
        high = math.inf if high is None else high
        if low <= high:
            return Ttl(name=name, low_s=low, high_s=high)
    raise UsageError(
        f"{table.where} has no time; give s, or low_s and what high_s there is, in seconds"
    )


def _write_factor(table: Table, sources: Sources, seen: list[SourceNote]) -> Mapping[str, float]:
    inner = _figure(table, "write_factor")
    plain = inner.number("value")
    notes = sources.taken(inner)
    seen.extend(notes)
    found: dict[str, float] = {} if plain is None else {"": plain}
    by_ttl = Table(inner.rest(), inner.where)
    for ttl in by_ttl.names():
        factor = by_ttl.number(ttl)
        if factor is not None:
            found[ttl] = factor
    if not found:
        raise UsageError(f"write_factor in {table.where} is empty; give a factor by TTL name")
    return found


def _key(table: Table, sources: Sources, seen: list[SourceNote]) -> Key:
    name = table.needed("name")
    pointers = table.texts("pointers")
    if not pointers or not all(pointer.startswith("/") for pointer in pointers):
        raise UsageError(f"pointers in {table.where} are no JSON pointers; give such as /model")
    section = table.choice("section", (_FIRST, *_SECTIONS)) or _FIRST
    absent = table.take("equal_to_absent")
    if absent is not None and not isinstance(absent, list | tuple):
        raise table.wrong("equal_to_absent", absent, "a list of values")
    _finish(table, sources, seen)
    where = cast("Section", section) if section == _FIRST else Section(section)
    return Key(pointers=pointers, name=name, section=where, equal_to_absent=tuple(absent or ()))


def _variant(table: Table, sources: Sources) -> _Variant:
    models = tuple(pattern.lower() for pattern in table.texts("models"))
    if not models:
        raise UsageError(f"models is missing from {table.where}; list names or patterns")
    found: dict[str, Any] = {}
    seen: list[SourceNote] = []
    _figures(table, sources, found, seen)
    for key in ("keeps_answer", "guaranteed"):
        if (flag := table.flag(key)) is not None:
            found[key] = flag
    table.done()
    return _Variant(models=models, fields=found, sources=tuple(seen))
