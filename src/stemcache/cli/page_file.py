"""A page written beside an answer: the path looked at first, the file whole or not at all."""

import os
from pathlib import Path

from stemcache.errors import UsageError
from stemcache.replay.save import write_bytes

__all__ = ["check_page", "write_page"]

_BEGINNING = b"<!doctype html"


def check_page(path: Path, *, flag: str, source: str) -> None:
    """Raise UsageError where a page must not or cannot be written, before anything long is begun.

    An earlier page is written over; `source`, which is read, and other files are not.
    """
    name = str(path)
    if name in {"-", "."}:
        raise UsageError(f"{flag} needs the name of a file, such as report.html")
    if path.is_dir():
        raise UsageError(f"{flag} {name} is a directory; give the name of a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{flag} {name} is in a directory that does not exist; make it first")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{flag} {name} is in a directory that cannot be written; give another")
    if not path.exists():
        return
    if source != "-" and Path(source).exists() and path.samefile(source):
        raise UsageError(f"{flag} {name} is the file that is read; give another name")
    if path.is_file() and path.stat().st_size and not _is_page(path):
        raise UsageError(f"{flag} {name} exists and is no HTML page; give another name")


def write_page(path: Path, page: str, *, flag: str) -> None:
    """Write it. Raises UsageError, and leaves nothing half written."""
    write_bytes(path, page.encode(), flag)


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)).lower() == _BEGINNING
