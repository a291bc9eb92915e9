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
from stemcache.trace.calls.fields import decoded
from stemcache.trace.calls.formats.batch import is_batch_answer
from stemcache.trace.lines import EndlessLineError, numbered_lines
from stemcache.trace.problem import BadLineError
from stemcache.trace.source import BrokenStreamError, open_source

__all__ = ["LogFile", "answers_first", "found_files"]

_SUFFIXES = (".jsonl", ".json", ".har", ".ndjson", ".log", ".gz", ".zst")
_MAX_FILES = 1_000_000
_HEAD_BYTES = 4096
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


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


def answers_first(files: Sequence[LogFile]) -> Sequence[LogFile]:
    """The same files, those of answers to a batch before the others.

    Costs a look at the head of each; standard input and pipes are left where they are.
    """
    if len(files) < 2:
        return files
    answers = {file.path for file in files if _is_of_answers(file.path)}
    return sorted(files, key=lambda file: file.path not in answers) if answers else files


def _is_of_answers(path: str) -> bool:
    try:
        if path == "-" or not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head.startswith(_COMPRESSED):
            source = open_source(path, what="log")
            head = next(source.chunks(), b"")
            source.close()
        if b'"custom_id"' not in head[:_HEAD_BYTES]:
            return False
        source = open_source(path, what="log")
        try:
            line = next(numbered_lines(source.chunks()), None)
        finally:
            source.close()
        if line is None or line.text is None:
            return False
        return is_batch_answer(decoded(line.text, ""))
    except (OSError, ValueError, UsageError, BrokenStreamError, EndlessLineError, BadLineError):
        return False  # reading it says what is wrong


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
