"""Lists on the command line: values with commas between them."""

from typing import Generic, TypeVar

import click

__all__ = ["CommaList"]

T = TypeVar("T")


class CommaList(click.ParamType[tuple[T, ...]], Generic[T]):
    """Values of one type, separated by commas; none may be empty or come twice."""

    def __init__(self, item: click.ParamType[T]) -> None:
        self._item = item
        self.name = f"{item.name},…"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[T, ...]:
        """The values, in the order given."""
        if isinstance(value, tuple):
            return value
        items: list[T] = []
        for part in str(value).split(","):
            item = self._item.convert(part.strip(), param, ctx)
            if item in items:
                self.fail(f"{part.strip()!r} is there twice; leave one out", param, ctx)
            items.append(item)
        return tuple(items)
