"""Which stable prefixes a project has, as its settings file says: `[prefixes]` and `[lock]`.

```toml
[tool.stemcache.prefixes]
support = "app.prompts:support"             # a Layout, a body, a text, or a function that makes one
triage = { path = "prompts/triage.md", version = "3" }
agent = { object = "app.agent:body", api = "messages", version = "2026-11", live = 40 }

[tool.stemcache.lock]
models = ["anthropic/claude-opus-4-5"]      # what a change is priced for
```
Paths are relative to the settings file. Every key is checked; none is dropped in silence.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stemcache.errors import UsageError, unknown_choice
from stemcache.lint.setting_values import Table
from stemcache.lint.settings import Settings
from stemcache.lint.visible import visible
from stemcache.prompt.lock.file import LOCK_NAME, check_name, check_version
from stemcache.wire.api import Api

__all__ = ["PrefixSpec", "Project", "chosen", "project_of"]

_OBJECT = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_KEYS = ("api", "live", "models", "object", "path", "version")
_LOCK_KEYS = ("file", "live", "models", "source", "timeout")
_TIMEOUT_S = 60.0
_MOST_LIVE = 10**9
_SHARED = "pyproject.toml"
"""Where tables of many programs stand, ours under `tool.stemcache`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixSpec:
    """One prefix of a project. Exactly one of `object` and `path` is given."""

    name: str
    where: str
    """The key of the settings that says it, for messages."""
    object: str | None = None
    """`module:attribute`."""
    path: str | None = None
    """Relative to the project's folder."""
    api: Api | None = None
    """Of a plain body."""
    version: str | None = None
    live: int | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """All that the settings say about prefixes."""

    folder: Path
    prefixes: tuple[PrefixSpec, ...]
    lock: Path
    """The lock file."""
    sources: tuple[str, ...]
    """Folders that modules are looked for in, relative to `folder`."""
    models: tuple[str, ...]
    live: int | None
    timeout_s: float
    """For each of the two runs of all builders."""


def project_of(settings: Settings) -> Project:
    """The settings, checked. Raises UsageError where they name no prefix, or something unusable."""
    folder = settings.folder
    if folder is None:
        raise UsageError(
            "no stemcache.toml and no pyproject.toml with [tool.stemcache] is here or above; name "
            f"the prefixes of the project in pyproject.toml: {_example(_SHARED)}"
        )
    source = visible(Path(settings.source).name)
    table = Table.of(dict(settings.prefixes), source, "prefixes.")
    if not table.values:
        raise UsageError(
            f"{settings.source} names no prefix; add a table such as {_example(source)}"
        )
    lock = Table.of(dict(settings.lock), source, "lock.")
    lock.only(_LOCK_KEYS)
    timeout_s = lock.number("timeout", most=86_400)
    if timeout_s == 0:
        raise UsageError(f"lock.timeout in {source} is 0; give seconds, such as 60")
    prefixes = [_spec(name, value, table) for name, value in table.values.items()]
    return Project(
        folder=folder,
        prefixes=tuple(sorted(prefixes, key=lambda one: one.name)),
        lock=folder / (lock.text("file") or LOCK_NAME),
        sources=lock.words("source") or (".", "src"),
        models=lock.words("models"),
        live=_live(lock, source),
        timeout_s=timeout_s or _TIMEOUT_S,
    )


def chosen(project: Project, names: tuple[str, ...]) -> tuple[PrefixSpec, ...]:
    """The prefixes of those names; all where none is given. Raises UsageError."""
    known = {one.name: one for one in project.prefixes}
    for name in names:
        if name not in known:
            said = unknown_choice("prefix", visible(name), "the command line", known)
            raise UsageError(said)
    return tuple(one for one in project.prefixes if not names or one.name in names)


def _example(file: str) -> str:
    """A line of the table as that file has it."""
    table = "tool.stemcache.prefixes" if file == _SHARED else "prefixes"
    return f'[{table}] support = "app.prompts:support"'


def _spec(name: str, value: object, table: Table) -> PrefixSpec:
    where = f"{table.file}, prefixes.{visible(name)}"
    check_name(name, table.file)
    values = {"object": value} if isinstance(value, str) else value
    if not isinstance(values, Mapping):
        raise UsageError(
            f"{where} is neither a text nor a table; write it like {_example(table.file)}, or "
            "give a table with `object` or `path`"
        )
    own = Table.of(dict(values), table.file, f"prefixes.{visible(name)}.")
    own.only(_KEYS)
    target, path = own.text("object"), own.text("path")
    if (target is None) == (path is None):
        there = "neither `object` nor `path`" if target is None else "both `object` and `path`"
        raise UsageError(f"{where} has {there}; give one of them")
    if target is not None and not _OBJECT.fullmatch(target):
        raise UsageError(
            f"{where} is {visible(target, most_characters=80)!r}, which is no module:attribute; "
            'write it like "app.prompts:support", or give `path` for a file'
        )
    version = own.text("version")
    if version is not None:
        check_version(version, where)
    return PrefixSpec(
        name=name,
        where=where,
        object=target,
        path=path,
        api=_api(own.text("api"), where),
        version=version,
        live=_live(own, where),
        models=own.words("models"),
    )


def _api(name: str | None, where: str) -> Api | None:
    if name is None:
        return None
    if name not in tuple(Api):
        raise UsageError(unknown_choice("api", visible(name), where, Api))
    return Api(name)


def _live(table: Table, where: str) -> int | None:
    number = table.number("live", most=_MOST_LIVE)
    if number is not None and not number.is_integer():
        raise UsageError(f"live in {where} is {number:g}; give a whole number of caches")
    return None if number is None else int(number)
