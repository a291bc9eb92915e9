"""A table that leaves out what can be spared before it cuts a digit.

```
    120 cells   policy  blocks  tokens  hit rate  ━━━━━━  of ideal
     50 cells   policy  blocks  hit rate  of ideal           the bar went first, then tokens
```
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Column", "fitting_table"]


@dataclass(frozen=True, slots=True)
class Column:
    """A title and its cells."""

    title: str
    cells: Sequence[str]
    left: bool = False
    """Aligned to the left, as words are."""
    spare: int = 0
    """How well the table does without it: the largest goes first, 0 never goes."""


def fitting_table(out: Console, columns: Sequence[Column]) -> None:
    """Print the columns, without those that can be spared where the console is narrow.

    What cannot be spared is printed in full, beyond the console's width if need be.
    """
    kept = list(columns)
    table = _table(kept)
    while _width(out, table) > out.width and any(column.spare for column in kept):
        kept.remove(max(kept, key=lambda column: column.spare))
        table = _table(kept)
    width, needed = out.width, _width(out, table)
    try:
        out.width = max(width, needed)
        out.print(table)
    finally:
        out.width = width


def _table(columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            Text(column.title), justify="left" if column.left else "right", no_wrap=True
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, row))
    return table


def _width(out: Console, table: Table) -> int:
    return out.measure(table, options=out.options.update(max_width=100_000)).maximum
