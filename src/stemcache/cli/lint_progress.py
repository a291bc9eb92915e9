"""How far a log was read, on stderr, where that takes long enough to be asked about."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

__all__ = ["OnProgress", "reading"]

OnProgress = Callable[[int], None]
"""Told how many bytes of all files were read so far."""

_LARGE_BYTES = 2**25


@contextmanager
def reading(logs: tuple[str, ...], *, wanted: bool | None) -> Iterator[OnProgress | None]:
    """A bar while the block runs; None, and nothing shown, where nobody would see or need it.

    `wanted` None shows it on a terminal for logs above 32 MiB in all, True on any terminal.
    """
    console = Console(stderr=True)
    total = _bytes(logs)
    large = total is None or total >= _LARGE_BYTES
    if wanted is False or not console.is_terminal or not (wanted or large):
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(binary_units=True))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda bytes_read: progress.update(task, completed=bytes_read)


def _bytes(logs: tuple[str, ...]) -> int | None:
    """Size of all, None where it cannot be known without reading."""
    total = 0
    for log in logs:
        path = Path(log)
        try:
            if log == "-" or not path.is_file():
                return None
            total += path.stat().st_size
        except (OSError, ValueError):
            return None
    return total
