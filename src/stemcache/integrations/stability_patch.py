"""Functions of the standard library with others in their place, for one run; always undone.

```
time.time  ──►  ours          and in every module that did `from time import time`
     ▲── back, in reverse order, whatever the run raised
```
Modules that wait (event loops, queues, test runners) keep the real ones wherever they can be told:
a loop whose clock stands still never wakes up. Not for several threads at once.
"""

import os
import sys
from collections.abc import Callable, MutableMapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

__all__ = ["Patches", "called_by_library", "called_by_waiting"]

_WAITING = frozenset(
    {
        "_pytest",
        "anyio",
        "asyncio",
        "concurrent",
        "execnet",
        "faulthandler",
        "hypothesis",
        "multiprocessing",
        "pluggy",
        "pytest",
        "pytest_asyncio",
        "pytest_timeout",
        "queue",
        "selectors",
        "socket",
        "ssl",
        "subprocess",
        "threading",
        "trio",
        "uvloop",
        "xdist",
    }
)
_OURS = "stemcache.integrations."


class Patches:
    """A stack of what was changed. Leaving it undoes all, the last first."""

    def __init__(self) -> None:
        self._undo = ExitStack()
        self._swaps: dict[int, tuple[object, object]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.__exit__(kind, error, trace)

    def undo(self, act: Callable[[], object]) -> None:
        """Do this, too, when all is undone."""
        self._undo.callback(act)

    def attribute(self, owner: object, name: str, value: object) -> None:
        """Set an attribute that there is."""
        old = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
        self._undo.callback(setattr, owner, name, old)
        setattr(owner, name, value)

    def function(self, owner: object, name: str, value: Callable[..., Any]) -> None:
        """Set a function of a module, if it has one, and mark it for `rebind`."""
        old = getattr(owner, name, None)
        if old is not None:
            self.attribute(owner, name, value)
            self._swaps[id(old)] = (old, value)

    def item(self, mapping: MutableMapping[Any, Any], key: object, value: object) -> None:
        """Set an item, or with None take it out."""
        if key in mapping:
            self._undo.callback(mapping.__setitem__, key, mapping[key])
        else:
            self._undo.callback(mapping.pop, key, None)
        if value is None:
            mapping.pop(key, None)
        else:
            mapping[key] = value

    def variable(self, name: str, value: str | None) -> None:
        """Set an environment variable, or with None take it out."""
        self.item(os.environ, name, value)

    def rebind(self) -> None:
        """Set marked functions also where modules hold them by a name of their own.

        Takes a look at every name of every module: about 10 ms for a thousand modules.
        """
        marked = self._swaps.keys()
        for module_name, module in list(sys.modules.items()):
            root = module_name.partition(".")[0]
            if root in _WAITING or root in sys.stdlib_module_names or _OURS in module_name:
                continue
            names = getattr(module, "__dict__", None)
            if type(names) is not dict or marked.isdisjoint(map(id, list(names.values()))):
                continue
            for name, value in list(names.items()):
                swap = self._swaps.get(id(value))
                if swap is not None and swap[0] is value:
                    self.item(names, name, swap[1])


def called_by_waiting() -> bool:
    """Whether the function that asks was called by code that waits for a time to come."""
    return _root() in _WAITING


def called_by_library() -> bool:
    """Whether the function that asks was called by the standard library or a test runner."""
    root = _root()
    return root in sys.stdlib_module_names or root in _WAITING


def _root() -> str:
    name = sys._getframe(3).f_globals.get("__name__", "")  # noqa: SLF001 - who calls is the question
    return name.partition(".")[0] if isinstance(name, str) else ""
