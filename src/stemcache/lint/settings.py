"""Settings from a file: `stemcache.toml`, or `[tool.stemcache]` in `pyproject.toml`.

```
/home/me/app/prompts   ◄ current directory      looked at first: neither file here
/home/me/app           ◄ pyproject.toml with [tool.stemcache]: this one, and no other
/home/me               ◄ stemcache.toml         not read
```
In one directory `stemcache.toml` wins. Every key is checked; none is dropped in silence. Paths in a
file are relative to the file.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stemcache.errors import UsageError
from stemcache.lint.setting_values import Table
from stemcache.lint.visible import visible

__all__ = ["Settings", "find_settings", "read_settings"]

_OWN = "stemcache.toml"
_SHARED = "pyproject.toml"
_MOST_BYTES = 2**22
_KEYS = (
    "aliases",
    "baseline",
    "fail-on",
    "fail-on-cost",
    "format",
    "ignore",
    "lock",
    "map",
    "overlap",
    "prefixes",
    "prices",
    "provider",
    "routes",
    "rules",
    "select",
    "subscription",
    "warning-share",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a file says; what it does not say is None or empty."""

    source: str = ""
    """Name of the file, empty where there is none."""
    provider: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    """Provider to model to figures. What is in it, and in `rules`, is for `provider` to check."""
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name of a rule to what differs in it."""
    select: tuple[str, ...] = ()
    """As written: whether rules answer to them is for `select` to check."""
    ignore: tuple[str, ...] = ()
    route_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warning_share: float | None = None
    overlap: float | None = None
    subscription: bool | None = None
    fail_on: tuple[str, ...] = ()
    fail_on_cost_usd: float | None = None
    baseline: Path | None = None
    format: str | None = None
    map: Mapping[str, str] = field(default_factory=dict)
    """Field of a call to JSON pointer."""
    folder: Path | None = None
    """Where the file is; what is relative in it is relative to that. None where there is none."""
    prefixes: Mapping[str, Any] = field(default_factory=dict)
    """Name of a stable prefix to where it is made. What is in it, and in `lock`, is for
    `stemcache prefix` to check."""
    lock: Mapping[str, Any] = field(default_factory=dict)

    @property
    def overrides(self) -> dict[str, Any]:
        """Prices and rules in the form of the files that ship with `provider`.

        There a rule is one of a list, and has its name inside.
        """
        found: dict[str, Any] = {}
        if self.prices:
            found["price"] = dict(self.prices)
        if self.rules:
            found["rule"] = [{**table, "name": name} for name, table in self.rules.items()]
        return found


def find_settings(start: Path) -> Settings:
    """The settings of the nearest file from `start` upward; empty ones where there is none.

    Raises UsageError for a file that cannot be read or says something that there is not.
    """
    for directory in (start, *start.parents):
        own = directory / _OWN
        if own.is_file():
            return read_settings(own)
        shared = directory / _SHARED
        if shared.is_file():
            table = _tool_table(_load(shared))
            if table is not None:
                return _settings(table, shared, prefix="tool.stemcache.")
    return Settings()


def read_settings(path: Path) -> Settings:
    """The settings of this file. Raises UsageError."""
    loaded = _load(path)
    if path.name != _SHARED:
        return _settings(loaded, path, prefix="")
    table = _tool_table(loaded)
    if table is None:
        raise UsageError(f"{visible(str(path))} has no table [tool.stemcache]; add it")
    return _settings(table, path, prefix="tool.stemcache.")


def _tool_table(loaded: Mapping[str, Any]) -> object:
    tool = loaded.get("tool")
    return tool.get("stemcache") if isinstance(tool, dict) else None


def _load(path: Path) -> dict[str, Any]:
    shown = visible(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"no file {shown} from --config; check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot read {shown}: {reason}; check the path, or name another file with --config"
        ) from (None)
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{shown} is larger than {_MOST_BYTES:,} bytes; settings are smaller")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise UsageError(f"{shown} is not UTF-8; save it as UTF-8") from None
    except ValueError as error:  # TOMLDecodeError, and Python's of a number of too many digits
        reason = visible(str(error))
        raise UsageError(
            f"{shown} is not TOML: {reason}; mend it, or name another file with --config"
        ) from None
    except RecursionError:
        raise UsageError(f"{shown} nests too deeply; settings are flat") from None


def _settings(loaded: object, path: Path, *, prefix: str) -> Settings:
    table = Table.of(loaded, visible(str(path)), prefix)
    table.only(_KEYS)
    baseline = table.text("baseline")
    return Settings(
        source=table.file,
        provider=table.text("provider"),
        aliases=table.texts("aliases"),
        prices=table.tables("prices"),
        rules={name: rule.values for name, rule in table.inner("rules").items()},
        select=table.words("select"),
        ignore=table.words("ignore"),
        route_ignores=_routes(table),
        warning_share=table.number("warning-share", most=1),
        overlap=table.number("overlap", most=1),
        subscription=table.flag("subscription"),
        fail_on=table.words("fail-on"),
        fail_on_cost_usd=table.number("fail-on-cost"),
        baseline=None if baseline is None else path.parent / baseline,
        format=table.text("format"),
        map=table.texts("map"),
        folder=path.parent,
        prefixes=table.tables("prefixes"),
        lock=table.tables("lock"),
    )


def _routes(table: Table) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, route in table.inner("routes").items():
        route.only(("ignore",))
        found[name] = route.words("ignore")
    return found
