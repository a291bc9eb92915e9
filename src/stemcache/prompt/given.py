"""What an application gives, looked at where it comes in: a UsageError in place of a TypeError.

```
what           is a …           what to do
the history    is a str;        give a Conversation, or a list of Messages
history[2]     is a dict;       make it a Message, or use Conversation.extend_from for an API's list
```
Constructors and front doors look once; what is behind them trusts its types. Values are never
shown, for a prompt may be in them: only what they are.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from math import inf
from numbers import Integral, Real
from types import UnionType
from typing import Any, TypeVar

from stemcache.errors import UsageError, unknown_choice

__all__ = ["check_callable", "check_each", "check_number", "check_type", "chosen", "listed"]

E = TypeVar("E", bound=StrEnum)
Kinds = type[Any] | UnionType


def check_type(value: object, kinds: Kinds, what: str, use: str) -> None:
    """Raise UsageError for another type. `what` is its name, `use` what to give. O(1)."""
    if not isinstance(value, kinds):
        raise UsageError(f"{what} is {_kind(value)}; {use}")


def check_callable(value: object, what: str, use: str) -> None:
    """Raise UsageError for what cannot be called. O(1)."""
    if not callable(value):
        raise UsageError(f"{what} is {_kind(value)}; {use}")


def check_each(values: Iterable[object], kinds: Kinds, what: str, use: str) -> None:
    """Raise UsageError, with its number, for the first value of another type. Linear."""
    for at, value in enumerate(values):
        if not isinstance(value, kinds):
            raise UsageError(f"{what}[{at}] is {_kind(value)}; {use}")


def listed(values: object, kinds: Kinds, what: str, use: str) -> tuple[Any, ...]:
    """What is in a list, or comes of an iterator, all of these types. Raises UsageError. Linear.

    A text and a dictionary are no lists, though Python can go through them.
    """
    if isinstance(values, str | bytes | bytearray | Mapping) or not isinstance(values, Iterable):
        raise UsageError(f"{what} is {_kind(values)}; {use}")
    found = tuple(values)
    check_each(found, kinds, what, use)
    return found


def check_number(
    value: object, what: str, *, low: float, high: float | None = None, whole: bool = False
) -> None:
    """Raise UsageError for what is no number, not finite, or not from `low` to `high`. O(1)."""
    kind = "a whole number" if whole else "a finite number"
    use = f"give {kind} from {low:g} {'on' if high is None else f'to {high:g}'}"
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
        raise UsageError(f"{what} is {_kind(value)}; {use}")
    number: Any = value
    if not low <= number < inf or (high is not None and number > high):
        raise UsageError(f"{what} is {number}; {use}")


def chosen(value: object, kind: type[E], what: str, source: str) -> E:
    """The member of a closed set, also by its plain text. Raises UsageError with the nearest."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in tuple(kind):
        return kind(value)
    if isinstance(value, str):
        raise UsageError(unknown_choice(what, value[:80], source, [str(one) for one in kind]))
    raise UsageError(
        f"{what} of {source} is {_kind(value)}; "
        f"give one of {', '.join(f'{kind.__name__}.{one.name}' for one in kind)}"
    )


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
