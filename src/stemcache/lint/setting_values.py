"""One table of a settings file: values of known keys and types, errors that name file and key."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stemcache.errors import UsageError, unknown_choice
from stemcache.lint.visible import visible

__all__ = ["Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is read key by key. Every method raises UsageError for a value of another type.

    A key that is not there gives None, or something empty.
    """

    values: Mapping[str, Any]
    file: str
    """Name of the file, safe to show."""
    prefix: str
    """What stands before a key for whoever looks for it, e.g. `tool.stemcache.`."""

    @classmethod
    def of(cls, value: object, file: str, prefix: str) -> "Table":
        """The value as a table."""
        if not isinstance(value, dict):
            raise UsageError(f"{prefix.rstrip('.')} in {file} is {_kind(value)}; make it a table")
        return cls(value, file, prefix)

    def only(self, keys: Iterable[str]) -> None:
        """Raise UsageError, with the nearest key, for one that there is not."""
        known = tuple(keys)
        for key in self.values:
            if key not in known:
                place = f"{self.file}, {self.prefix}{visible(key)}"
                raise UsageError(unknown_choice("setting", visible(key), place, known))

    def text(self, key: str) -> str | None:
        """A string that is not empty."""
        value = self.values.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        raise self._wrong(key, value, "a string that is not empty")

    def words(self, key: str) -> tuple[str, ...]:
        """A list of strings; one string is a list of one."""
        value = self.values.get(key)
        if value is None:
            return ()
        if isinstance(value, str) and value:
            return (value,)
        if isinstance(value, list) and all(isinstance(each, str) and each for each in value):
            return tuple(value)
        raise self._wrong(key, value, "a list of strings")

    def number(self, key: str, *, most: float = math.inf) -> float | None:
        """A finite number from 0 to `most`."""
        value = self.values.get(key)
        if value is None:
            return None
        wish = "a number from 0" if math.isinf(most) else f"a number from 0 to {most:g}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, value, wish)
        if not 0 <= value <= min(most, 1e15):  # NaN is refused here too
            raise self._wrong(key, value, wish)
        return float(value)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self._wrong(key, value, "true or false")

    def texts(self, key: str) -> dict[str, str]:
        """A table of strings."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, value, "a table of strings")
        for name, each in value.items():
            if not isinstance(each, str) or not each:
                raise self._wrong(f"{key}.{visible(name)}", each, "a string")
        return dict(value)

    def tables(self, key: str) -> dict[str, Any]:
        """A table whose content is for others to check."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, value, "a table")
        return dict(value)

    def inner(self, key: str) -> dict[str, "Table"]:
        """A table of tables."""
        return {
            name: Table.of(each, self.file, f"{self.prefix}{key}.{visible(name)}.")
            for name, each in self.tables(key).items()
        }

    def _wrong(self, key: str, value: object, wish: str) -> UsageError:
        return UsageError(f"{self.prefix}{key} in {self.file} is {_kind(value)}; make it {wish}")


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the string {visible(value, most_characters=60)!r}"
    if isinstance(value, int | float):
        return visible(f"{value:.6g}" if isinstance(value, float) else _digits(value))
    if isinstance(value, list):
        return "a list that holds something else" if value else "an empty list"
    return "a table" if isinstance(value, dict) else "a date"


def _digits(value: int) -> str:
    # Python refuses to write out integers of thousands of digits.
    return str(value) if abs(value) < 10**20 else "a very large number"
