"""Watch an HTTP client that a provider's client sends by: what `watch` of both clients does.

`watch(client)` of one that is watched gives what watches it, so `watch(client).summary()` works
anywhere in a program.
"""

import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stemcache.errors import UsageError
from stemcache.integrations.client_transport import Attachment, watching
from stemcache.integrations.live import Live
from stemcache.integrations.live_summary import Summary
from stemcache.integrations.live_tell import logged
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.prompt.given import check_type
from stemcache.record.record import Keep
from stemcache.record.recorder import Recorder

__all__ = ["Watched", "watch_http"]


class Watched:
    """One or several clients, and what they sent. A `with` ends with `unwatch`."""

    def __init__(self, live: Live) -> None:
        """Made by `watch`."""
        self.live = live
        self._attachments: list[Attachment] = []
        self._open = 0

    @property
    def recorder(self) -> Recorder:
        """What calls are handed to; its `tally` says what was recorded and what was lost."""
        return self.live.recorder

    def summary(self, *, wait_s: float = 2.0) -> Summary:
        """What the calls that have ended came to, also after `unwatch`."""
        return self.live.summary(wait_s=wait_s)

    def unwatch(self) -> None:
        """Take everything out of the clients again, judge and write what waits. Twice is once."""
        for one in self._attachments:
            one.detach()
        self._attachments.clear()
        self.live.close()

    def attach(self, http: Any, *, marks: bool = False) -> None:
        """Watch another HTTP client. Raises UsageError for what is none."""
        self._attachments.append(Attachment(http, self, marks=marks))
        self._open += 1
        # At the end of the program it is the recorder's own hook that closes.
        weakref.finalize(http, self._gone).atexit = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.unwatch()

    def _gone(self) -> None:
        """A client was collected. With the last one the thread ends, and nobody waits for that."""
        self._open -= 1
        if not self._open:
            threading.Thread(target=self.live.close, daemon=True).start()


def watch_http(
    http: Any,
    *,
    output: Path | str | None = None,
    keep: Keep | None = None,
    options: Options | None = None,
    tell: Callable[[Finding], None] | None = None,
    into: Watched | None = None,
    marks: bool = False,
) -> Watched:
    """What watches an HTTP client of httpx or httpx2 from now on, or does so already."""
    check_type(into, Watched | None, "into", "give what watch(...) of another client returned")
    check_type(marks, bool, "marks", "give True or False")
    settings = (output, keep, options, tell)
    ours = watching(http)
    if ours is not None:
        assert isinstance(ours.watched, Watched), "only watch puts our transports there"
        if settings != (None,) * 4 or marks > ours.marks or into not in {None, ours.watched}:
            raise UsageError(
                "this client is watched already, and watch was given settings; give them where it "
                "is watched first, or call unwatch() before"
            )
        return ours.watched
    if into is not None and settings != (None,) * 4:
        raise UsageError("watch was given settings beside into=; give them where that one was made")
    watched = into
    if watched is None:
        watched = Watched(
            Live(output=output, keep=keep, options=options, tell=logged if tell is None else tell)
        )
    watched.attach(http, marks=marks)
    return watched
