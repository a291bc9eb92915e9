"""Transports that stand in a client's own: put in by `watch`, taken out by `unwatch`.

```
httpx.Client                                   httpx.Client
  _transport = HTTPTransport           ◄──►      _transport = Watching(HTTPTransport)
  _mounts = {https://…: a proxy's}               _mounts = {https://…: Watching(a proxy's)}
```
httpx has no public way to put a transport into a client that is made. These two attributes have had
their names since its first years, and other instrumentation takes the same way. Where another has
wrapped ours in turn, ours stays in place and only passes on.
"""

import sys
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from anyio import to_thread

from stemcache.errors import UsageError
from stemcache.integrations.client_marks import are_placed, with_marks
from stemcache.record.recorder import Recorder

__all__ = ["AsyncWatching", "Attachment", "SyncWatching", "Watched", "Watching", "watching"]

_LIBRARIES = ("httpx2", "httpx")


class Watched(Protocol):
    """**Protocol**: on whose behalf a transport stands there."""

    @property
    def recorder(self) -> Recorder:
        """What calls are handed to."""
        ...


class Watching:
    """What tells our transports from others. Derived ones come before `Recording`."""

    _inner: Any
    _whole: Any

    def __init__(self, inner: Any, watched: Watched) -> None:
        super().__init__(inner, output=watched.recorder)  # type: ignore[call-arg]  # Recording's
        self.watched = watched
        self.passes = False
        """Whether nobody listens any more."""
        self.marks = False
        """Whether marks are placed in what is sent."""

    @property
    def inner(self) -> Any:
        """What it stands around."""
        return self._inner

    @property
    def places(self) -> bool:
        """Whether marks are placed in what is sent here and now."""
        return self.marks or are_placed()


class SyncWatching(Watching):
    """For sync clients."""

    def handle_request(self, request: Any) -> Any:
        """Send it on, listened to unless that is over."""
        if self.passes:
            return self._inner.handle_request(request)
        if self.places:
            request = with_marks(request, self._whole)
        return super().handle_request(request)  # type: ignore[misc]  # Recording's


class AsyncWatching(Watching):
    """For async clients."""

    async def handle_async_request(self, request: Any) -> Any:
        """Send it on, listened to unless that is over."""
        if self.passes:
            return await self._inner.handle_async_request(request)
        if self.places:
            # A system prompt that is new is looked through, a second a megabyte: not in the loop.
            request = await to_thread.run_sync(with_marks, request, self._whole)
        return await super().handle_async_request(request)  # type: ignore[misc]  # Recording's


class Attachment:
    """One HTTP client that is watched. Holds it weakly: it is the program's."""

    def __init__(self, http: Any, watched: Watched, *, marks: bool = False) -> None:
        """Put our transports in. Raises UsageError for what is no client of httpx or httpx2."""
        wrap = _wrapper(http, watched)
        self._marks = marks
        self._http = weakref.ref(http)
        self._put: list[Watching] = []
        http._transport = self._around(http._transport, wrap)  # noqa: SLF001  # see the module
        for pattern, transport in http._mounts.items():  # noqa: SLF001
            if transport is not None:
                http._mounts[pattern] = self._around(transport, wrap)  # noqa: SLF001

    def detach(self) -> None:
        """Take our transports out again."""
        for ours in self._put:
            ours.passes = True
        http = self._http()
        if http is None:
            return
        if http._transport in self._put:  # noqa: SLF001
            http._transport = http._transport.inner  # noqa: SLF001
        for pattern, transport in http._mounts.items():  # noqa: SLF001
            if transport in self._put:
                http._mounts[pattern] = transport.inner  # noqa: SLF001

    def _around(self, transport: Any, wrap: Callable[[Any], Watching]) -> Watching:
        ours = wrap(transport)
        ours.marks = self._marks
        self._put.append(ours)
        return ours


def watching(http: Any) -> Watching | None:
    """Our transport in an HTTP client, if one is there."""
    found = getattr(http, "_transport", None)
    return found if isinstance(found, Watching) and not found.passes else None


def _wrapper(http: Any, watched: Watched) -> Callable[[Any], Watching]:
    for name in _LIBRARIES:
        library = sys.modules.get(name)
        if library is None or not hasattr(http, "_transport") or not hasattr(http, "_mounts"):
            continue
        for kind, ours in (
            ("Client", "WatchingTransport"),
            ("AsyncClient", "WatchingAsyncTransport"),
        ):
            if isinstance(http, getattr(library, kind)):
                made = getattr(import_module(f"stemcache.integrations.client_{name}"), ours)
                return lambda inner: made(inner, watched)
    raise UsageError(
        f"the HTTP client is a {type(http).__module__}.{type(http).__qualname__}, in which no "
        "transport can be put; give the client an http_client of httpx or httpx2"
    )
