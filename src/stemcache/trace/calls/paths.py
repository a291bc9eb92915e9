"""Which files a user's paths stand for: files, standard input, and directories searched for logs.

A directory is searched to the bottom for the suffixes that logs have, in the order of their names,
so that `~/.claude/projects`, `~/.codex/sessions` and a bucket's folders by date come in order of
time. Links to directories are not followed: a loop would not end.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stemcache.errors import UsageError

__all__ = ["LogFile", "found_files"]

_SUFFIXES = (".jsonl", ".json", ".har", ".ndjson", ".log", ".gz", ".zst")
_MAX_FILES = 1_000_000


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file to read."""

    path: str
    named: bool
    """Whether the user named it, rather than a directory that it is in."""


def found_files(paths: Sequence[str]) -> list[LogFile]:
    """The files, each once, in the order of the paths. Raises UsageError where there are none."""
    if not paths:
        raise UsageError("no log was given; give a file, a directory, or - for standard input")
    found: dict[str, LogFile] = {}
    for path in paths:
        if path != "-" and os.path.isdir(path):  # noqa: PTH112  # names stay as they were given
            inside = list(_inside(path))
            if not inside:
                raise UsageError(
                    f"no log in {path}: it has no file that ends in {', '.join(_SUFFIXES)}; "
                    "give the files by name"
                )
            for name in inside:
                found.setdefault(name, LogFile(name, named=False))
        else:
            found[path] = LogFile(path, named=True)
    return list(found.values())


def _inside(directory: str) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(_SUFFIXES) and path.is_file():
                count += 1
                if count > _MAX_FILES:
                    raise UsageError(
                        f"{directory} holds more than {_MAX_FILES:,} logs; give some of them"
                    )
                yield str(path)
