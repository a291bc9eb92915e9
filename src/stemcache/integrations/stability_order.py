"""Orders that nobody promises: of directories, and of keys in the dictionaries that are given.

```
level 0    sorted, or as given
level 1    turned round, so that two of a kind change places for certain
level 2 …  shuffled
```
"""

import glob
import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Self

from stemcache.integrations.stability_patch import Patches
from stemcache.integrations.stability_world import Perturbation, World

__all__ = ["shuffle_directories", "shuffled"]

_DEEPEST = 64


def shuffle_directories(patches: Patches, world: World) -> None:
    """What `os.listdir` and `os.scandir` give, and so `Path.iterdir`, `glob` and `os.walk`."""
    level, rng = world.level(Perturbation.DIRECTORY), world.rng(Perturbation.DIRECTORY)
    list_directory, scan_directory = os.listdir, os.scandir

    def listdir(path: Any = None) -> list[Any]:
        return _ordered(sorted(list_directory(path)), level, rng)

    def scandir(path: Any = None) -> "_Entries":
        with scan_directory(path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        return _Entries(_ordered(found, level, rng))

    patches.function(os, "listdir", listdir)
    patches.function(os, "scandir", scandir)
    globber: Any = getattr(glob, "_StringGlobber", None)
    if globber is not None and hasattr(globber, "scandir"):  # from Python 3.13 on
        patches.attribute(globber, "scandir", staticmethod(scandir))


class _Entries:
    """What `os.scandir` gives: an iterator that can be closed."""

    def __init__(self, entries: list["os.DirEntry[Any]"]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator["os.DirEntry[Any]"]:
        return self

    def __next__(self) -> "os.DirEntry[Any]":
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """All was read when it was made."""


def shuffled(value: Any, world: World) -> Any:
    """A copy of plain containers, in which the keys of dictionaries stand in another order.

    Lists keep theirs, which has a meaning. What is no plain container is passed on as it is.
    """
    level, rng = world.level(Perturbation.ARGUMENTS), world.rng(Perturbation.ARGUMENTS)
    return _copied(value, lambda items: _ordered(items, level, rng), 0)


def _copied(value: Any, order: Callable[[list[Any]], list[Any]], depth: int) -> Any:
    kind = type(value)
    if depth >= _DEEPEST:
        return value
    if kind is dict:
        items = order(list(value.items()))
        return {key: _copied(item, order, depth + 1) for key, item in items}
    if kind is list or kind is tuple:
        return kind(_copied(item, order, depth + 1) for item in value)
    if kind is set:
        return set(value)
    return value


def _ordered(items: list[Any], level: int, rng: Random) -> list[Any]:
    if level == 1:
        return items[::-1]
    if level > 1:
        rng.shuffle(items)
    return items
