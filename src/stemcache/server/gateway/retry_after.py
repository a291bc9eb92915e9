"""How long a replica says that it is to be left alone, by its answer's head. Pure."""

from collections.abc import Sequence
from http import HTTPStatus

__all__ = ["busy_s"]

_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS.value, HTTPStatus.SERVICE_UNAVAILABLE.value})
_MOST_DIGITS = 9


def busy_s(status: int, headers: Sequence[tuple[bytes, bytes]]) -> float | None:
    """Seconds, of a 429 or 503 with `Retry-After`; None for any other answer.

    A date says nothing here, as clocks differ, and is taken for none.
    """
    if status not in _BUSY:
        return None
    for name, value in headers:
        if len(name) == 11 and name.lower() == b"retry-after":
            said = value.strip()
            return float(said) if said.isdigit() and len(said) <= _MOST_DIGITS else None
    return None
