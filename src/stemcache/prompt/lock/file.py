"""`stemcache.lock`: pinned prefixes as text, written alike by everybody and read strictly.

```toml
format = 1

[prefix.support]                      # one table a prefix, by name
version = "7"
tokens = 4812
digest = "sha256:9c1f…"
portions = [                          # one line a block, in the order of the prompt
    { name = "tool:search", section = "tools", tokens = 212, chars = 849, digest = "5d…" },
    { name = "rules", section = "system", tokens = 4600, chars = 18400, digest = "…", rungs = "…" },
]
```
Equal prefixes give equal bytes. Branches that change different prefixes merge; where two changed
one, the digests do not add up and reading says so. Every error names file and line.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from stemcache.errors import UsageError, unknown_choice
from stemcache.prompt.lock.lines import line_of
from stemcache.prompt.lock.portions import RUNGS, Pinned, PinnedPortion, whole_digest
from stemcache.wire.section import Section

__all__ = ["FORMAT", "LOCK_NAME", "check_name", "check_version", "lock_text", "read_lock"]

FORMAT = 1
LOCK_NAME = "stemcache.lock"
_HEAD = (
    "# Stable prefixes of prompts, written by `stemcache prefix lock`.\n"
    "# Where two branches meet, take the tables of both and write it again.\n"
)
_AGAIN = "write it again with `stemcache prefix lock --amend`"
_MOST_CHARS = 2**24
_MOST_PREFIXES = 10_000
_LARGEST = 10**12
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PORTION = re.compile(r"[A-Za-z0-9_.:/~-]{1,200}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SHORT = re.compile(r"[0-9a-f]{32}")
_RUNGS = re.compile(rf"[0-9a-f]{{8}}(?: [0-9a-f]{{8}}){{{RUNGS - 2}}}")
_MOST_VERSION = 1_000
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |$)", re.MULTILINE)
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def lock_text(prefixes: Iterable[Pinned]) -> str:
    """The file: sorted by name, one text for equal prefixes, whatever their order."""
    tables = [_table(one) for one in sorted(prefixes, key=lambda one: one.name)]
    return "\n".join([f"{_HEAD}format = {FORMAT}\n", *tables])


def read_lock(text: str, file: str) -> dict[str, Pinned]:
    """The prefixes by name. Linear. Raises UsageError, which names file and line."""
    return _Reader(text, file).prefixes()


def check_name(name: str, where: str) -> None:
    """Raise UsageError for what cannot be a prefix's name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{where}: {name[:80]!r} is no name of a prefix; use 1 to 64 letters, digits, '_', "
            "'.' and '-'"
        )


def check_version(version: str, where: str) -> None:
    """Raise UsageError for what cannot be a version."""
    if not 0 < len(version) <= _MOST_VERSION or not version.isprintable():
        raise UsageError(
            f"{where}: the version {version[:80]!r} cannot be written on a line; give 1 to "
            f"{_MOST_VERSION:,} printable characters, such as '2026-11' or '7'"
        )


def _table(one: Pinned) -> str:
    name = one.name if _BARE.fullmatch(one.name) else _quoted(one.name)
    lines = [f"[prefix.{name}]"]
    if one.version is not None:
        lines.append(f"version = {_quoted(one.version)}")
    lines += [f"tokens = {one.tokens}", f"digest = {_quoted(one.digest)}", "portions = ["]
    lines += [f"    {{ {_members(portion)} }}," for portion in one.portions]
    return "\n".join([*lines, "]\n"])


def _members(one: PinnedPortion) -> str:
    members = [f"name = {_quoted(one.name)}", f"section = {_quoted(one.section)}"]
    if one.version is not None:
        members.append(f"version = {_quoted(one.version)}")
    members += [f"tokens = {one.tokens}", f"chars = {one.chars}", f"digest = {_quoted(one.digest)}"]
    if one.rungs:
        members.append(f"rungs = {_quoted(' '.join(one.rungs))}")
    return ", ".join(members)


def _quoted(text: str) -> str:
    """A basic string of TOML, which is JSON's but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class _Reader:
    """One file being read. Where something stands is looked for only when it is wrong."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file

    def prefixes(self) -> dict[str, Pinned]:
        loaded = self._loaded()
        made = loaded.get("format")
        if made is None:
            self._fail((), "it has no `format`", f"put `format = {FORMAT}` at its beginning")
        if made != FORMAT or isinstance(made, bool):
            self._fail(
                ("format",),
                f"its format is {_kind(made)}, and this stemcache reads {FORMAT}",
                f"use the stemcache that wrote it, or {_AGAIN}",
            )
        self._only((), loaded, ("format", "prefix"))
        tables = loaded.get("prefix", {})
        if not isinstance(tables, dict):
            self._fail(("prefix",), f"prefix is {_kind(tables)}", "make it tables, [prefix.NAME]")
        if len(tables) > _MOST_PREFIXES:
            self._fail(("prefix",), f"it has {len(tables):,} prefixes", "lock fewer in one file")
        return {name: self._prefix(name, table) for name, table in tables.items()}

    def _loaded(self) -> dict[str, Any]:
        if len(self._text) > _MOST_CHARS:
            raise UsageError(
                f"{self._file} is longer than {_MOST_CHARS:,} characters; it is no lock, so name "
                "another file"
            )
        conflict = _CONFLICT.search(self._text)
        if conflict is not None:
            line = self._text.count("\n", 0, conflict.start()) + 1
            raise UsageError(
                f"{self._file}:{line}: a conflict of two branches stands there; take the tables "
                "of both, one of a prefix that both changed, then run `stemcache prefix lock`"
            )
        try:
            return tomllib.loads(self._text)
        except RecursionError:
            raise UsageError(f"{self._file} nests too deeply; {_AGAIN}") from None
        except ValueError as error:  # TOMLDecodeError, and Python's of a number of too many digits
            said = str(error)
            place = _PLACE.search(said)
            line = int(place[1]) if place and place[1] else self._text.count("\n") + 1
            said = said[: place.start()] if place else said
            raise UsageError(
                f"{self._file}:{line}: this is not TOML: {said[:200]!r}; mend it, or {_AGAIN}"
            ) from None

    def _prefix(self, name: str, table: object) -> Pinned:
        at = ("prefix", name)
        if not isinstance(table, dict):
            self._fail(at, f"prefix {name[:80]!r} is {_kind(table)}", "make it a table")
        self._check(check_name, name, at)
        self._only(at, table, ("digest", "portions", "tokens", "version"))
        listed = table.get("portions")
        if not isinstance(listed, list) or not listed:
            self._fail((*at, "portions"), "portions is no list of tables", "write it again")
        portions = tuple(
            self._portion((*at, "portions", number), one) for number, one in enumerate(listed)
        )
        digest = self._matching((*at, "digest"), table, _DIGEST, "sha256: and 64 digits")
        tokens = self._count((*at, "tokens"), table)
        if digest != whole_digest(portions) or tokens != sum(one.tokens for one in portions):
            key = "digest" if digest != whole_digest(portions) else "tokens"
            self._fail(
                (*at, key),
                f"the {key} of prefix {name!r} does not fit its portions, as when two versions of "
                "it were merged",
                _AGAIN,
            )
        return Pinned(
            name=name,
            digest=digest,
            tokens=tokens,
            portions=portions,
            version=self._version((*at, "version"), table),
        )

    def _portion(self, at: tuple[str | int, ...], table: object) -> PinnedPortion:
        if not isinstance(table, dict):
            self._fail(at, f"a portion is {_kind(table)}", "make it a table")
        keys = ("chars", "digest", "name", "rungs", "section", "tokens", "version")
        self._only(at, table, keys)
        section = table.get("section")
        if section not in tuple(Section):
            self._fail(at, f"section is {_kind(section)}", f"give one of {', '.join(Section)}")
        rungs = ""
        if "rungs" in table:
            rungs = self._matching((*at, "rungs"), table, _RUNGS, f"{RUNGS - 1} times 8 digits")
        return PinnedPortion(
            name=self._matching((*at, "name"), table, _PORTION, "a name of a block"),
            section=Section(section),
            tokens=self._count((*at, "tokens"), table),
            chars=self._count((*at, "chars"), table),
            digest=self._matching((*at, "digest"), table, _SHORT, "32 hexadecimal digits"),
            version=self._version((*at, "version"), table),
            rungs=tuple(rungs.split()),
        )

    def _version(self, at: tuple[str | int, ...], table: Mapping[str, Any]) -> str | None:
        version = table.get("version")
        if version is None:
            return None
        if not isinstance(version, str):
            self._fail(at, f"version is {_kind(version)}", 'put it in quotes: version = "7"')
        self._check(check_version, version, at)
        return version

    def _matching(
        self,
        at: tuple[str | int, ...],
        table: Mapping[str, Any],
        pattern: re.Pattern[str],
        wanted: str,
    ) -> str:
        value = table.get(str(at[-1]))
        if not isinstance(value, str) or not pattern.fullmatch(value):
            self._fail(at, f"{at[-1]} is {_kind(value)}", f"give {wanted}")
        return value

    def _count(self, at: tuple[str | int, ...], table: Mapping[str, Any]) -> int:
        value = table.get(str(at[-1]))
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
            self._fail(at, f"{at[-1]} is {_kind(value)}", "give a whole number from 0 on")
        return value

    def _only(
        self, at: tuple[str | int, ...], table: Mapping[str, Any], keys: tuple[str, ...]
    ) -> None:
        for key in table:
            if key not in keys:
                place = f"{self._file}:{self._line((*at, key))}"
                raise UsageError(unknown_choice("key", key[:80], place, keys))

    def _check(
        self, check: Callable[[str, str], None], value: str, at: tuple[str | int, ...]
    ) -> None:
        try:
            check(value, self._file)
        except UsageError:
            check(value, f"{self._file}:{self._line(at)}")

    def _line(self, at: tuple[str | int, ...]) -> int:
        return line_of(self._text, at)

    def _fail(self, at: tuple[str | int, ...], what: str, advice: str) -> NoReturn:
        raise UsageError(f"{self._file}:{self._line(at)}: {what}; {advice}")


def _kind(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"the number {value}" if abs(value) <= _LARGEST else "a very large number"
    if isinstance(value, float):
        return f"the number {value:g}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, list):
        return "a list"
    return "a table" if isinstance(value, dict) else "a date"
