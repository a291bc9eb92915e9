"""What the recording transports of httpx and of httpx2 share: all but the classes they derive from.

```
client ──► handle_request ──► inner transport         one Watch a call
              │  request.stream ─── Sent  ─┐
              │  response.stream ── Heard ─┴──► Watch ──► Recorder
```
The two libraries look alike and take none of each other's objects, so each has a module that names
its own classes; httpx in turn has two kinds of transports, sync and async.
"""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Self

from stemcache.record.exchange import Exchange
from stemcache.record.library import obtain
from stemcache.record.record import Keep
from stemcache.record.recorder import Recorder

__all__ = ["AsyncHeard", "AsyncRecording", "AsyncSent", "Heard", "Recording", "Sent", "Watch"]


class Watch:
    """One call as it runs. Never raises: where something fails, the call is not recorded."""

    def __init__(self, recorder: Recorder, request: Any, whole: type[Any]) -> None:
        """`whole` is the class of streams that are one piece of bytes."""
        self._recorder = recorder
        self._exchange: Exchange | None = None
        self._started_s = time.monotonic()
        self.needs_stream = False
        if request.method != "POST":
            return
        try:
            self._exchange = Exchange(
                time_s=time.time(),
                method=request.method,
                url=str(request.url),
                headers=[(name.lower(), value) for name, value in request.headers.multi_items()],
                request=recorder.capture(),
                response=recorder.capture(),
                context=recorder.context(),
            )
            if isinstance(request.stream, whole):
                self._exchange.request.add(b"".join(request.stream))
            else:
                self.needs_stream = True
        except Exception:  # noqa: BLE001 - the call goes on, whatever it is
            self._give_up()

    def sent(self, data: bytes) -> None:
        """A part of a body that is made as it is sent."""
        try:
            if self._exchange is not None:
                self._exchange.request.add(data)
        except Exception:  # noqa: BLE001 - see above
            self._give_up()

    def head(self, response: Any) -> None:
        """The head of the answer has come."""
        try:
            if self._exchange is not None:
                self._exchange.status = response.status_code
                self._exchange.response_headers = [
                    (name.lower(), value) for name, value in response.headers.multi_items()
                ]
        except Exception:  # noqa: BLE001 - see above
            self._give_up()

    def heard(self, data: bytes) -> None:
        """A part of the answer, encoded as it came."""
        try:
            exchange = self._exchange
            if exchange is not None and exchange.response is not None:
                if exchange.answered_s is None:
                    exchange.answered_s = self._now(exchange)
                exchange.response.add(data)
        except Exception:  # noqa: BLE001 - see above
            self._give_up()

    def end(self, error: BaseException | None = None, *, left: bool = False) -> None:
        """It is over, well, with an error, or because the caller left. The first end counts."""
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        try:
            exchange.ended_s = self._now(exchange)
            exchange.failed = "client_left" if left else _reason(error)
            self._recorder.submit(exchange)
        except Exception:  # noqa: BLE001 - see above
            self._recorder.lose(exchange, "a mistake of stemcache's while it ran")

    def _now(self, exchange: Exchange) -> float:
        return exchange.time_s + time.monotonic() - self._started_s

    def _give_up(self) -> None:
        exchange, self._exchange = self._exchange, None
        self._recorder.lose(exchange, "a mistake of stemcache's while it ran")


class Recording:
    """A sync transport around another. Which classes it uses is for the derived one to say."""

    _default: Any
    _whole: Any
    _sent: Any
    _heard: Any

    def __init__(
        self, inner: Any = None, *, output: Path | str | Recorder, keep: Keep | None = None
    ) -> None:
        """Raises UsageError where the file cannot be written.

        After that nothing of the recorder's ever reaches the caller: a call that cannot be
        recorded is made all the same.
        """
        self.recorder = obtain(output, keep)
        self._inner = inner or self._default()

    def handle_request(self, request: Any) -> Any:
        """Send it on; the answer's stream is the inner one's, listened to."""
        watch = Watch(self.recorder, request, self._whole)
        if watch.needs_stream:
            request.stream = self._sent(request.stream, watch)
        try:
            response = self._inner.handle_request(request)
        except BaseException as error:
            watch.end(error)
            raise
        watch.head(response)
        response.stream = self._heard(response.stream, watch)
        return response

    def close(self) -> None:
        """Close the inner transport. The recorder goes on until the program ends."""
        self._inner.close()

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._inner.__exit__(*error)


class AsyncRecording:
    """An async transport around another. Which classes it uses is for the derived one to say."""

    _default: Any
    _whole: Any
    _sent: Any
    _heard: Any

    def __init__(
        self, inner: Any = None, *, output: Path | str | Recorder, keep: Keep | None = None
    ) -> None:
        """As `Recording`."""
        self.recorder = obtain(output, keep)
        self._inner = inner or self._default()

    async def handle_async_request(self, request: Any) -> Any:
        """Send it on; the answer's stream is the inner one's, listened to."""
        watch = Watch(self.recorder, request, self._whole)
        if watch.needs_stream:
            request.stream = self._sent(request.stream, watch)
        try:
            response = await self._inner.handle_async_request(request)
        except BaseException as error:
            watch.end(error)
            raise
        watch.head(response)
        response.stream = self._heard(response.stream, watch)
        return response

    async def aclose(self) -> None:
        """Close the inner transport. The recorder goes on until the program ends."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._inner.__aexit__(*error)


class _Stream:
    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch


class Sent(_Stream):
    """The body of a request, listened to while it is sent."""

    def __iter__(self) -> Iterator[bytes]:
        for part in self._inner:
            self._watch.sent(part)
            yield part

    def close(self) -> None:
        """Close the inner one."""
        self._inner.close()


class AsyncSent(_Stream):
    """The same, async."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._watch.sent(part)
            yield part

    async def aclose(self) -> None:
        """Close the inner one."""
        await self._inner.aclose()


class Heard(_Stream):
    """The body of an answer, listened to while it is read."""

    def __iter__(self) -> Iterator[bytes]:
        try:
            for part in self._inner:
                self._watch.heard(part)
                yield part
        except GeneratorExit:
            raise  # nobody listens any more; `close` tells
        except BaseException as error:
            self._watch.end(error)
            raise
        self._watch.end()

    def close(self) -> None:
        """Close the inner one. Whoever does so before the end has left."""
        try:
            self._inner.close()
        finally:
            self._watch.end(left=True)


class AsyncHeard(_Stream):
    """The same, async."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._inner:
                self._watch.heard(part)
                yield part
        except GeneratorExit:
            raise  # nobody listens any more; `aclose` tells
        except BaseException as error:
            self._watch.end(error)
            raise
        self._watch.end()

    async def aclose(self) -> None:
        """Close the inner one. Whoever does so before the end has left."""
        try:
            await self._inner.aclose()
        finally:
            self._watch.end(left=True)


_REASONS = {
    "ConnectError": "no_connection",
    "ConnectTimeout": "no_connection",
    "RemoteProtocolError": "dropped",
    "ReadError": "dropped",
    "ReadTimeout": "client_left",
    "WriteTimeout": "client_left",
    "CancelledError": "client_left",
    "KeyboardInterrupt": "client_left",
    "Cancelled": "client_left",
}
"""By name, for two libraries have errors of these names."""


def _reason(error: BaseException | None) -> str | None:
    return None if error is None else _REASONS.get(type(error).__name__, "error")
