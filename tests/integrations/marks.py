"""Where a body that was sent has marks."""

from collections.abc import Iterator
from typing import Any

__all__ = ["marks_of"]


def marks_of(value: Any, pointer: str = "") -> list[str]:
    """Pointers to what is marked, in the order of the body."""
    return list(_marks(value, pointer))


def _marks(value: Any, pointer: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in {"cache_control", "prompt_cache_breakpoint"}:
                yield pointer
            else:
                yield from _marks(inner, f"{pointer}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _marks(inner, f"{pointer}/{number}")
