"""The configuration read again when its file changes, or on SIGHUP.

```
each second: another mtime, inode or size? ──► read ──► another text? ──► load ──► apply
                                SIGHUP ──────────────────────────────────► load ──► apply
                                                     unusable: say so, keep what runs
```
A link that is turned to another file, as Kubernetes does with what it mounts, is a change too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from stemcache.errors import StemcacheError, UsageError
from stemcache.gateway.deployment import Configuration
from stemcache.server.gateway.text_file import read_text

__all__ = ["Reloader"]

_EVERY_S = 1.0


class Reloader:
    """Watches one file. `load` makes a configuration of its text and raises UsageError."""

    def __init__(
        self,
        path: Path,
        text: str,
        *,
        load: Callable[[str], Configuration],
        apply: Callable[[Configuration], None],
        logger: FilteringBoundLogger,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`text` is what runs now; `apply` raises UsageError where it cannot be, unchanged."""
        self._path = path
        self._text = text
        self._load = load
        self._apply = apply
        self._logger = logger
        self._sleep = sleep
        self._seen = _stamp(path)
        self._complaint: str | None = None

    async def run(self) -> None:
        """Look each second, until cancelled."""
        while True:
            await self._sleep(_EVERY_S)
            self.look()

    def look(self) -> None:
        """Apply the file if it has changed."""
        stamp = _stamp(self._path)
        if stamp is not None and stamp == self._seen:
            return
        try:
            text = read_text(self._path)
        except UsageError as error:
            self._complain(error)
            return
        self._seen = stamp
        if text != self._text:
            self._take(text)

    def again(self) -> None:
        """Apply the file whether it has changed or not: what it refers to may have."""
        try:
            text = read_text(self._path)
        except UsageError as error:
            self._complain(error)
            return
        self._seen = _stamp(self._path)
        self._take(text)

    def _take(self, text: str) -> None:
        self._text = text  # a text that is unusable is complained of once
        try:
            self._apply(self._load(text))
        except StemcacheError as error:
            self._complain(error)
            return
        self._complaint = None
        self._logger.info("configuration applied", file=str(self._path))

    def _complain(self, error: Exception) -> None:
        if str(error) != self._complaint:
            self._complaint = str(error)
            self._logger.error(
                "the configuration cannot be used; what runs stays as it is", error=str(error)
            )


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
