"""All that is known of providers: rules, prices and how calls are told, with a user's on top.

```
rules/*.toml, prices/*.toml ──► files ──► overrides over them, one by one ──► Book
                                                                        rule(name, model)
                                                                        price(provider, model)
```
A book does not change once loaded. Looking up costs a few dictionary reads and is remembered by
`resolve`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from stemcache.errors import UsageError, unknown_choice
from stemcache.provider.book_files import BookFile, read_mapping, read_path, shipped_files
from stemcache.provider.identity import Identity
from stemcache.provider.names import geography, model_names
from stemcache.provider.price import Price
from stemcache.provider.price_file import FactorEntry
from stemcache.provider.rule import Rule
from stemcache.provider.rule_file import RulePart, build, is_model

__all__ = ["Book", "load_book", "shipped_book"]

_OLD_DAYS = 60


class Book:
    """Rules, prices and identities. Made by `load_book`."""

    def __init__(self, files: Sequence[BookFile]) -> None:
        self._files = tuple(files)
        self.memo: dict[object, object] = {}
        """What `resolve` remembers of this book; never a part of what the book says."""
        self._identities: dict[str, Identity] = {}
        self._prices: dict[tuple[str, str], Price] = {}
        self._factors: list[FactorEntry] = []
        self._aliases: dict[str, str] = {}
        parts: dict[str, RulePart] = {}
        for file in self._files:
            if file.identity is not None:
                name = file.identity.name
                known_as = self._identities.get(name)
                self._identities[name] = (
                    file.identity if known_as is None else known_as.with_more(file.identity)
                )
            for part in file.parts:
                known = parts.get(part.name)
                parts[part.name] = part if known is None else part.over(known, patch=True)
            self._prices.update(file.prices)
            self._factors[:0] = file.factors  # a later file's factor is met first
            self._aliases.update(file.aliases)
        self._parts = {name: _whole(part, parts) for name, part in parts.items()}
        self._built: dict[tuple[str, tuple[int, ...]], Rule] = {}
        self.rules: Mapping[str, Rule] = {
            name: self._rule(part, None) for name, part in self._parts.items()
        }
        """By name, as they stand for a model that no table names."""
        self._check_providers()
        for rule in self.rules.values():
            if rule.explicit is not None and rule.explicit not in self.rules:
                where = self._parts[rule.name].where
                raise UsageError(unknown_choice("explicit rule", rule.explicit, where, self.rules))

    @property
    def files(self) -> tuple[BookFile, ...]:
        """What it was made of, the shipped files first."""
        return self._files

    @property
    def identities(self) -> Mapping[str, Identity]:
        """How providers are told, by name."""
        return self._identities

    @property
    def prices(self) -> Mapping[tuple[str, str], Price]:
        """List prices by provider and model in lower case, as they stand in the files."""
        return self._prices

    def rule(self, name: str, model: str | None = None) -> Rule:
        """The rule of a name, with the figures of a model where it has any of its own."""
        part = self._parts.get(name)
        if part is None:
            raise UsageError(unknown_choice("rule", name, "the caller", self._parts))
        return self._rule(part, model)

    def rule_for(self, provider: str, model: str | None, *, marked: bool) -> Rule | None:
        """The provider's rule for a model: the first whose patterns match, else one without."""
        names = model_names(self.alias(model)) if model else ()
        chosen: RulePart | None = None
        for part in self._parts.values():
            if self.rules[part.name].provider != provider or part.name in self._explicit:
                continue
            if is_model(names, part.models):
                chosen = part
                break
            if not part.models and chosen is None:
                chosen = part
        if chosen is None:
            return None
        rule = self._rule(chosen, model)
        if marked and rule.explicit is not None:
            rule = self._rule(self._parts[rule.explicit], model)
        return rule

    def price(self, provider: str, model: str) -> Price | None:
        """The list price of a model, or None. The fullest name that is listed wins.

        Dates, versions, vendors and regions are taken off the name step by step; a geography that
        stands in it, such as `us.`, brings its factor along.
        """
        identity = self._identities.get(provider)
        lists = (provider, *(() if identity is None else identity.price_from))
        for name in model_names(self.alias(model)):
            for listed in lists:
                found = self._prices.get((listed, name))
                if found is not None:
                    return self._whole_price(found, provider, model)
        return None

    def alias(self, model: str) -> str:
        """The name that a model's alias stands for, or the name itself."""
        return self._aliases.get(model.lower(), model)

    def staleness(self, today: date) -> tuple[str, ...]:
        """A sentence for each date on which files were checked that is long ago."""
        by_date: dict[date, list[str]] = {}
        for file in self._files:
            if file.seen is not None and (today - file.seen).days > _OLD_DAYS:
                by_date.setdefault(file.seen, []).append(file.name)
        sentences = []
        for seen, names in sorted(by_date.items()):
            many = f" and {len(names) - 1} more files had their" if len(names) > 1 else " had its"
            sentences.append(
                f"{names[0]}{many} figures checked on {seen.isoformat()}, "
                f"{(today - seen).days} days ago; prices and rules may have changed"
            )
        return tuple(sentences)

    def _check_providers(self) -> None:
        """A price or factor for a provider that there is not would never be found."""
        known = {*self._identities, *(rule.provider for rule in self.rules.values())}
        for file in self._files:
            priced = [provider for provider, _ in file.prices]
            for name in (*priced, *(entry.provider for entry in file.factors)):
                if name not in known:
                    raise UsageError(unknown_choice("provider", name, file.name, known))

    def _rule(self, part: RulePart, model: str | None) -> Rule:
        """One object for all models that differ in nothing: callers may keep state by it."""
        key = part.name, part.variants_for(model)
        if key not in self._built:
            self._built[key] = build(part, model)
        return self._built[key]

    @property
    def _explicit(self) -> frozenset[str]:
        return frozenset(rule.explicit for rule in self.rules.values() if rule.explicit)

    def _whole_price(self, found: Price, provider: str, model: str) -> Price:
        asked = replace(found, provider=provider)
        entries = [entry for entry in self._factors if _bears(entry, asked, found)]
        whole = replace(asked, factors=tuple(entry.factor for entry in entries))
        place = geography(model)
        if place is None or geography(found.model) == place:
            return whole
        for factor in whole.factors:
            if factor.kind == "region" and factor.name == place:
                left = tuple(one for one in whole.factors if one.kind != "region")
                return replace(whole.scaled(factor), model=model, factors=left)
        return whole


def load_book(*, overrides: Sequence[Path | Mapping[str, Any] | BookFile] = ()) -> Book:
    """Read the shipped files and a user's over them, the last first. Raises UsageError.

    Errors name a file by its path or the name that it was read under; a mapping by its number.
    """
    files = list(shipped_files())
    for number, given in enumerate(overrides, 1):
        if isinstance(given, BookFile):
            files.append(given)
        elif isinstance(given, Mapping):
            files.append(read_mapping(given, f"override {number}"))
        else:
            files.append(read_path(given))
    return Book(files)


@cache
def shipped_book() -> Book:
    """The book as shipped, read once; only its memo is ever added to."""
    return load_book()


def _bears(entry: FactorEntry, asked: Price, found: Price) -> bool:
    """Tiers and regions are the seller's; what long prompts cost comes with the list price."""
    return entry.holds_for(asked) or (entry.factor.kind == "context" and entry.holds_for(found))


def _whole(part: RulePart, parts: Mapping[str, RulePart]) -> RulePart:
    """The part over all that it is like. A ring of likes is an error."""
    seen = {part.name}
    whole = part
    while whole.like is not None:
        base = parts.get(whole.like)
        if base is None:
            raise UsageError(unknown_choice("rule", whole.like, f"like in {part.where}", parts))
        if base.name in seen:
            raise UsageError(f"like in {part.where} leads back to {base.name!r}; break the ring")
        seen.add(base.name)
        whole = replace(whole.over(base, patch=False), like=base.like)
    return whole
