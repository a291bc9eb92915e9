"""One block of a stream in the making: members that come whole, and texts that come in pieces."""

from collections.abc import Mapping
from typing import Any

__all__ = ["Pieces"]


class Pieces:
    """Collects what a stream says of one block. `made` joins; the cost is the length of all."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._members: dict[str, Any] = dict(start)
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, list[Any]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._members or name in self._texts or name in self._lists

    def put(self, name: str, value: Any) -> None:
        """A member as a whole; the last one counts."""
        self._members[name] = value

    def add(self, name: str, text: str) -> None:
        """A piece of a text, behind what the block started with."""
        if name not in self._texts:
            begun = self._members.get(name)
            self._texts[name] = [begun] if isinstance(begun, str) else []
        self._texts[name].append(text)

    def push(self, name: str, value: Any) -> None:
        """An item of a list, behind what the block started with."""
        if name not in self._lists:
            begun = self._members.get(name)
            self._lists[name] = list(begun) if isinstance(begun, list) else []
        self._lists[name].append(value)

    def made(self) -> dict[str, Any]:
        """The block."""
        joined = {name: "".join(texts) for name, texts in self._texts.items()}
        return {**self._members, **joined, **self._lists}
