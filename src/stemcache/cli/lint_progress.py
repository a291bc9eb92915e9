"""How far a log was read, on stderr, where that takes long enough to be asked about."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["OnProgress", "reading"]

OnProgress = Callable[[int, int | None], None]
"""Told how many bytes were read so far, and of how many, None where that cannot be known."""

_LARGE_BYTES = 2**25


@contextmanager
def reading(*, wanted: bool | None) -> Iterator[OnProgress | None]:
    """A bar while the block runs; None, and nothing shown, where there is no terminal to see it.

    `wanted` None shows it for logs above 32 MiB and for pipes, True for all, False for none.
    """
    console = Console(stderr=True)
    if wanted is False or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("reading"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None, visible=False)

        def tell(bytes_read: int, bytes_total: int | None) -> None:
            large = bytes_total is None or bytes_total >= _LARGE_BYTES
            progress.update(
                task, completed=bytes_read, total=bytes_total, visible=bool(wanted or large)
            )

        yield tell
