"""The files that a book is made of: those shipped in `rules/` and `prices/`, and a user's.

```
seen = "2026-11-30"                       when its figures were looked at last
[source.A1]  text, seen                   where they are from
[provider]   name, names, hosts, models   how its calls are told            (see identity)
[[rule]]     …                            what its cache does               (see rule_file)
[price.X]    …   [[factor]] …             what its tokens cost              (see price_file)
[alias]      my-model = "claude-opus-5"   other names of models
```
All forms may stand in all files; a user's file needs no sources.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from stemcache.errors import UsageError, worded
from stemcache.provider.identity import Identity, read_identity
from stemcache.provider.price import Price
from stemcache.provider.price_file import FactorEntry, read_factors, read_prices
from stemcache.provider.rule import SourceNote
from stemcache.provider.rule_file import RulePart, Sources, read_part
from stemcache.provider.table import Table

__all__ = ["BookFile", "read_mapping", "read_path", "shipped_files"]

_LARGEST_BYTES = 4 * 2**20
_FOLDERS = ("rules", "prices")


@dataclass(frozen=True, slots=True, kw_only=True)
class BookFile:
    """One file, read and checked by itself."""

    name: str
    seen: date | None
    identity: Identity | None
    parts: tuple[RulePart, ...]
    prices: Mapping[tuple[str, str], Price] = field(default_factory=dict)
    """By provider and model in lower case."""
    factors: tuple[FactorEntry, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[SourceNote, ...] = ()


@cache
def shipped_files() -> tuple[BookFile, ...]:
    """All files of this package, in the order of their names. Read once: 30 small files."""
    root = resources.files("stemcache.provider")
    found: list[BookFile] = []
    for folder in _FOLDERS:
        for entry in sorted(root.joinpath(folder).iterdir(), key=lambda one: one.name):
            if entry.name.endswith(".toml"):
                name = f"{folder}/{entry.name}"
                found.append(_read(_decoded(entry.read_bytes(), name), name, strict=True))
    return tuple(found)


def read_path(path: Path) -> BookFile:
    """A user's file. Raises UsageError that names it."""
    name = str(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {name}: {worded(error)}; check the path") from error
    if len(data) > _LARGEST_BYTES:
        raise UsageError(f"{name} has more than {_LARGEST_BYTES} bytes; give a file of rules")
    return _read(_decoded(data, name), name, strict=False)


def read_mapping(values: Mapping[str, Any], name: str) -> BookFile:
    """A decoded table of a user's, such as part of `[tool.stemcache]`."""
    return _read(values, name, strict=False)


def _decoded(data: bytes, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is not TOML: {worded(error)[:200]}; mend it there") from error


def _read(values: Mapping[str, Any], name: str, *, strict: bool) -> BookFile:
    table = Table(values, name)
    seen = _date(table, "seen")
    if strict and seen is None:
        raise UsageError(f"seen is missing from {name}; give the date on which it was checked")
    notes = _notes(table)
    sources = Sources(notes, where=name, strict=strict)
    own = table.table("provider")
    identity = None if own is None else read_identity(own)
    provider = None if identity is None else identity.name
    parts = tuple(read_part(one, sources, provider=provider) for one in table.tables("rule"))
    priced = table.table("price")
    default = _default(table, sources)
    prices = {} if priced is None else read_prices(priced, sources, default)
    factors = tuple(read_factors(table, sources))
    aliases = _aliases(table)
    table.done()
    return BookFile(
        name=name,
        seen=seen,
        identity=identity,
        parts=parts,
        prices=prices,
        factors=factors,
        aliases=aliases,
        sources=tuple(notes.values()),
    )


def _notes(table: Table) -> dict[str, SourceNote]:
    below = table.table("source")
    found: dict[str, SourceNote] = {}
    for name, one in below.named().items() if below is not None else ():
        seen = _date(one, "seen")
        if seen is None:
            raise UsageError(f"seen is missing from {one.where}; give an ISO date")
        found[name] = SourceNote(text=one.needed("text"), seen=seen.isoformat())
        one.done()
    return found


def _default(table: Table, sources: Sources) -> tuple[SourceNote, ...]:
    if not table.has("price_src"):
        return ()
    return sources.taken(Table({"src": table.take("price_src")}, table.where))


def _aliases(table: Table) -> dict[str, str]:
    below = table.table("alias")
    found: dict[str, str] = {}
    for name in () if below is None else below.names():
        assert below is not None, "it has names"
        found[name.lower()] = below.needed(name)
    return found


def _date(table: Table, key: str) -> date | None:
    value = table.take(key)
    if value is None:
        return None
    if type(value) is date:
        return value
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise table.wrong(key, value, "an ISO date such as 2026-11-30")
