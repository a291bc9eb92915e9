"""What a page is made of, before it is markup."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cell", "Column", "Piece", "Plot", "Table"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a sentence; what a reader should take away is strong."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column."""

    name: str
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as text; a share, 0 to 1, also draws a bar."""

    text: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, as many a row as there are columns. The first cell of a row names it."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure, what it shows in words, and its numbers."""

    name: str
    title: str
    caption: str
    alternative: str
    """For who cannot see it."""
    svg: str
    """Markup; empty where there is nothing to draw, and the caption says why."""
    table: Table | None = None
