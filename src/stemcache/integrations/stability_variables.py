"""Other values for the environment variables that a builder reads.

A number stays one and gets another value, a text becomes longer, and what is not set is set. Where
a program or the interpreter itself would not start or find its files, they stay as they are.
"""

import os
from collections.abc import Iterable

__all__ = ["changed_values"]

_MOST = 24
"""A builder that reads more reads all that there are."""
_KEPT = frozenset(
    {
        "COLUMNS",
        "DISPLAY",
        "HOME",
        "HOSTNAME",
        "LANG",
        "LANGUAGE",
        "LINES",
        "LOGNAME",
        "PATH",
        "PWD",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "USERNAME",
        "VIRTUAL_ENV",
    }
)
"""Changed by perturbations of their own, or not to be changed."""
_KEPT_BEGINNINGS = ("LC_", "LD_", "DYLD_", "PYTHON", "PYTEST_", "COV_", "XDG_")


def changed_values(read: Iterable[str], allowed: frozenset[str]) -> dict[str, str]:
    """Values by name, sorted; of more than 24 names the first."""
    names = sorted(
        name
        for name in read
        if name not in _KEPT and name not in allowed and not name.startswith(_KEPT_BEGINNINGS)
    )
    return {name: _changed(os.environ.get(name)) for name in names[:_MOST]}


def _changed(value: str | None) -> str:
    if value is None:
        return "7"
    return str(int(value) + 1) if value.isdecimal() else f"{value}x"
