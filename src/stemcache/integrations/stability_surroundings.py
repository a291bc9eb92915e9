"""Another user on another machine: name, folders, process, terminal, locale, variables.

Folders that are only read through are kept usable: the home and the working directory have another
name that leads to the same place, so that a builder which reads its files there still can.
"""

import getpass
import locale
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from stemcache.integrations.stability_machine import change_machine
from stemcache.integrations.stability_patch import Patches, called_by_library
from stemcache.integrations.stability_world import Perturbation, World

__all__ = ["change_locale", "change_surroundings", "installed_locale", "note_variables"]

_LOCALES = (
    ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8"),
    ("hi_IN.UTF-8", "en_IN.UTF-8", "de_CH.UTF-8", "pl_PL.UTF-8", "en_US.UTF-8"),
)
_CATEGORIES = (locale.LC_COLLATE, locale.LC_MONETARY, locale.LC_NUMERIC, locale.LC_TIME)
"""Not LC_CTYPE, by which files are decoded: that is a perturbation of its own."""
_CONVENTIONS: dict[str, Any] = {
    "decimal_point": ",",
    "thousands_sep": ".",
    "grouping": [3, 3, 0],
    "mon_decimal_point": ",",
    "mon_thousands_sep": ".",
    "mon_grouping": [3, 3, 0],
    "currency_symbol": "€",
    "int_curr_symbol": "EUR ",
}


def change_surroundings(patches: Patches, world: World, scratch: Path) -> None:
    """All that says where a program runs, from level 1 on. `scratch` is a folder of our own."""
    for name, value in world.variables.items():
        patches.variable(name, value)
    level = world.level(Perturbation.ENVIRONMENT)
    if not level:
        return
    user, host = f"someone{level}", f"elsewhere-{level}"
    here = scratch / f"machine-{level}"
    temporary = here / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    folder = _also_called(here / "work", Path.cwd())
    home = _also_called(here / user, Path.home())
    patches.function(os, "getcwd", lambda: folder)
    patches.function(os, "getcwdb", lambda: os.fsencode(folder))
    for name, value in (
        ("USER", user),
        ("LOGNAME", user),
        ("USERNAME", user),
        ("HOME", home),
        ("HOSTNAME", host),
        ("PWD", folder),
        ("TMPDIR", str(temporary)),
        ("SHELL", "/bin/other"),
        ("TERM", "dumb"),
        ("COLUMNS", str(61 + level)),
        ("LINES", str(17 + level)),
    ):
        patches.variable(name, value)
    patches.attribute(tempfile, "tempdir", str(temporary))
    patches.function(getpass, "getuser", lambda: user)
    patches.function(os, "getlogin", lambda: user)
    change_machine(patches, level, host)
    size = os.terminal_size((61 + level, 17 + level))
    patches.function(os, "get_terminal_size", lambda *_file: size)
    for name in ("getpid", "getppid"):
        patches.function(os, name, _shifted(getattr(os, name), 10_007 * level))


def _also_called(name: Path, place: Path) -> str:
    if not name.is_symlink():
        name.symlink_to(place, target_is_directory=True)
    return str(name)


def _shifted(real: Callable[[], int], by: int) -> Callable[[], int]:
    """The standard library finds by the process's number whether it was forked."""

    def shifted() -> int:
        return real() if called_by_library() else real() + by

    return shifted


def installed_locale(level: int) -> str | None:
    """One that writes numbers and dates in another way, or None where there is none."""
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        for name in _LOCALES[(level - 1) % len(_LOCALES)] + _LOCALES[level % len(_LOCALES)]:
            try:
                locale.setlocale(locale.LC_NUMERIC, name)
            except locale.Error:
                continue
            return name
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
    return None


def change_locale(patches: Patches, world: World) -> None:
    """Numbers, dates and sorting, from level 1 on.

    Where no other locale is installed the conventions that `locale` formats by are made up; formats
    of C's own (`f"{n:n}"`, `%B`) stay then as they are.
    """
    level = world.level(Perturbation.LOCALE)
    if not level:
        return
    name = installed_locale(level)
    patches.variable("LANGUAGE", (name or "de_DE").partition(".")[0])
    if name is None:
        conventions: Any = locale
        patches.attribute(conventions, "_override_localeconv", _CONVENTIONS)
        return
    for category in _CATEGORIES:
        patches.undo(partial(locale.setlocale, category, locale.setlocale(category)))
        locale.setlocale(category, name)
    patches.variable("LC_ALL", name)
    patches.variable("LANG", name)


def note_variables(patches: Patches, names: set[str]) -> None:
    """Add the names of all environment variables that are read, set or not, to a set."""
    kind: Any = type(os.environ)
    real = kind.__getitem__

    def noted(self: Any, key: Any) -> Any:
        if isinstance(key, str):
            names.add(key)
        return real(self, key)

    patches.attribute(kind, "__getitem__", noted)
