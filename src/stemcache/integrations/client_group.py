"""Clients of frameworks, each watched when it is first seen, all in one log."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stemcache.errors import UsageError
from stemcache.integrations.client_transport import watching
from stemcache.integrations.client_watch import Watched, watch_http
from stemcache.integrations.live import Live
from stemcache.integrations.live_summary import Summary
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.record.record import Keep

__all__ = ["ClientGroup"]


class ClientGroup:
    """What a framework sends by. Clients that the program watches itself stay in its own log."""

    def __init__(
        self,
        *,
        output: Path | str | None,
        keep: Keep | None,
        options: Options | None,
        tell: Callable[[Finding], None],
    ) -> None:
        """As `Live`."""
        self.watched = Watched(Live(output=output, keep=keep, options=options, tell=tell))
        self._lock = threading.Lock()

    def watch(self, client: Any) -> None:
        """Watch the HTTP client of a provider's client, unless it is watched. Never raises."""
        http = getattr(client, "_client", None)
        if http is None or self.watched.recorder.closed:
            return
        with self._lock:
            if watching(http) is None:
                try:
                    watch_http(http, into=self.watched)
                except UsageError:  # a client of another make
                    return

    def summary(self, *, wait_s: float) -> Summary:
        """What the calls that have ended came to."""
        return self.watched.summary(wait_s=wait_s)

    def close(self) -> None:
        """Take everything out of the clients again, judge and write what waits."""
        self.watched.unwatch()
