"""Strict reading of one decoded TOML table: every key is taken once, what is left is an error.

```
{"name": "x", "minimm": 512} ──Table(…, "mine.toml: rule 'x'")──► text("name") ──► done()
                           unknown key 'minimm' from mine.toml: rule 'x'; did you mean …
```
All errors are UsageError and name file, table and key. Values are checked for type and range here,
so that whoever asks gets what it asked for.
"""

import math
from collections.abc import Mapping
from typing import Any

from stemcache.errors import UsageError, unknown_choice

__all__ = ["Table"]

_LARGEST = 10**12
"""No token count, second or price is larger; more is a slip of the hand."""


class Table:
    """One table being read. `where` is what messages call it: the file and the way down to it."""

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, Mapping):
            raise UsageError(f"{where} is {_kind(values)}; give a table of keys and values")
        self.where = where
        self._left = {str(key): value for key, value in values.items()}
        self._asked: set[str] = set()

    def has(self, key: str) -> bool:
        """Whether the key is there and was not taken."""
        self._asked.add(key)
        return key in self._left

    def take(self, key: str) -> Any:
        """The value as it stands; None where there is none."""
        self._asked.add(key)
        return self._left.pop(key, None)

    def rest(self) -> dict[str, Any]:
        """All that was not taken, for tables whose keys are names of the user's."""
        left, self._left = self._left, {}
        return left

    def names(self) -> tuple[str, ...]:
        """Keys that were not taken."""
        return tuple(self._left)

    def done(self) -> None:
        """Raise for the first key that nobody asked for."""
        for key in self._left:
            raise UsageError(unknown_choice("key", key, self.where, self._asked))

    def wrong(self, key: str, value: object, wanted: str) -> UsageError:
        """The error for a value that cannot be used."""
        return UsageError(f"{key} in {self.where} is {_kind(value)}; give {wanted}")

    def text(self, key: str) -> str | None:
        """A string that is not empty."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise self.wrong(key, value, "a text")
        return value

    def needed(self, key: str) -> str:
        """A string that must be there."""
        value = self.text(key)
        if value is None:
            raise UsageError(f"{key} is missing from {self.where}; add it")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str | None:
        """One word of a closed set."""
        value = self.text(key)
        if value is not None and value not in choices:
            raise UsageError(unknown_choice(key, value, self.where, choices))
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty where there is none."""
        value = self.take(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise self.wrong(key, value, "a list of texts")
        return tuple(value)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self.take(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def count(self, key: str) -> int | None:
        """A whole number that is not negative."""
        value = self.take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
            raise self.wrong(key, value, "a whole number from 0 on")
        return value

    def number(self, key: str) -> float | None:
        """A finite number that is not negative."""
        value = self.take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, value, "a number from 0 on")
        if not math.isfinite(value) or not 0 <= value <= _LARGEST:
            raise self.wrong(key, value, "a number from 0 on")
        return float(value)

    def tables(self, key: str) -> tuple["Table", ...]:
        """A list of tables; empty where there is none."""
        value = self.take(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self.wrong(key, value, f"[[{key}]] tables")
        return tuple(
            Table(one, f"{self.where}, {key} {number}") for number, one in enumerate(value, 1)
        )

    def named(self) -> "dict[str, Table]":
        """All that was not taken, as tables by their names; whatever is no table is an error."""
        return {name: Table(value, f"{self.where}, {name}") for name, value in self.rest().items()}

    def table(self, key: str) -> "Table | None":
        """A table below this one."""
        value = self.take(key)
        return None if value is None else Table(value, f"{self.where}, {key}")


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"the whole number {value}" if abs(value) < _LARGEST else "a huge number"
    if isinstance(value, float):
        return f"the number {value:g}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}" if value else "an empty text"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    return f"a {type(value).__name__}"
