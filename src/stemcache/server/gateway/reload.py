"""The configuration read again when its file or a file of keys changes, or on SIGHUP.

```
each second: another mtime, inode or size? ──► read ──► another text? ──► load ──► apply
             of a file of keys? ─────────────────────────────────────────► load ──► apply
                                SIGHUP ──────────────────────────────────► load ──► apply
                                                     unusable: say so, keep what runs
```
A link that is turned to another file, as Kubernetes does with what it mounts, is a change too.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from stemcache.errors import StemcacheError, UsageError
from stemcache.gateway.deployment import Configuration
from stemcache.server.gateway.text_file import read_text

__all__ = ["Reloader"]

_EVERY_S = 1.0


class Reloader:
    """Watches files. `load` makes a configuration of the first's text and raises UsageError."""

    def __init__(
        self,
        path: Path | None,
        text: str,
        *,
        beside: tuple[Path, ...] = (),
        load: Callable[[str], Configuration],
        apply: Callable[[Configuration], Sequence[str]],
        logger: FilteringBoundLogger,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`text` is what runs now; `apply` says in words what differs from what ran.

        It raises UsageError where it cannot be, unchanged. `beside` are files that `load` reads
        too. Without `path` the text stays empty.
        """
        self._path = path  # none where there are files of keys alone
        self._text = text
        self._load = load
        self._apply = apply
        self._logger = logger
        self._sleep = sleep
        self._beside = beside
        self._seen = None if path is None else _stamp(path)
        self._seen_beside = self._stamps()
        self._complaint: str | None = None

    async def run(self) -> None:
        """Look each second, until cancelled."""
        while True:
            await self._sleep(_EVERY_S)
            self.look()

    def look(self) -> None:
        """Apply the files if one has changed."""
        stamp = None if self._path is None else _stamp(self._path)
        same = self._path is None or (stamp is not None and stamp == self._seen)
        stamps = self._stamps()
        if same and stamps == self._seen_beside:
            return
        text = self._text if same else self._read()
        if text is None:
            return
        changed = text != self._text or stamps != self._seen_beside
        self._seen, self._seen_beside = stamp, stamps
        if changed:
            self._take(text)

    def again(self) -> None:
        """Apply the files whether they have changed or not: what they refer to may have.

        Who asks for it is answered: what is wrong with them is said again.
        """
        self._complaint = None
        stamp, stamps = None if self._path is None else _stamp(self._path), self._stamps()
        text = self._read()
        if text is not None:
            self._seen, self._seen_beside = stamp, stamps
            self._take(text)

    def _read(self) -> str | None:
        """The text as it is now; None, and said, where it cannot be read."""
        if self._path is None:
            return self._text
        try:
            return read_text(self._path)
        except UsageError as error:
            self._complain(error)
            return None

    def _take(self, text: str) -> None:
        self._text = text  # a text that is unusable is complained of once
        try:
            changed = self._apply(self._load(text))
        except StemcacheError as error:
            self._complain(error)
            return
        except Exception:  # the next change is to be looked for all the same
            self._complaint = None
            self._logger.exception(
                "the configuration could not be applied, or not all of it; this is a fault of "
                "stemcache"
            )
            return
        self._complaint = None
        self._logger.info("configuration applied", changed=list(changed))

    def _stamps(self) -> tuple[object, ...]:
        return tuple(map(_stamp, self._beside))

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
