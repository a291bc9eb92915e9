"""One HTTP request and its answer: body, disconnect, JSON or events, what the log says of it."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.types import Message, Receive, Scope, Send

from stemcache.errors import StemcacheError
from stemcache.server.refusal import HttpError, reply_to
from stemcache.wire.answers import sse

__all__ = ["CLIENT_LEFT", "Exchange"]

CLIENT_LEFT = 499
"""Status in logs and metrics for a client that went before its answer was complete."""

_DISCARD_S = 5.0
"""How long the rest of a body that is too large is read and thrown away, so that the client, still
sending, gets to see the answer instead of a reset connection."""


class Exchange:
    """Made by the outermost layer for each request; handlers find it in the scope's state."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        request_id: str,
        arrived_s: float,
        max_body_bytes: int,
    ) -> None:
        self.request_id = request_id
        self.path: str = scope["path"]
        self.arrived_s = arrived_s
        self.status = 0
        """Of the answer; 0 until it began."""
        self.log: dict[str, object] = {}
        """What the request's log line says besides; never text, salts or keys."""
        self.client_left = False
        self.broken_off = False
        """Whether an answer that had begun ended with an error."""
        self.generates = False
        """Whether it counts among the metrics' requests."""
        self._headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self._receive = receive
        self._send = send
        self._max_body_bytes = max_body_bytes
        self._reader: asyncio.Task[object] | None = None
        self._refusal: StemcacheError | None = None
        self._streaming = False
        self._complete = False
        self._watch: asyncio.Task[None] | None = None

    def header(self, name: bytes) -> bytes:
        """A header by its lower-case name; empty if absent."""
        return self._headers.get(name, b"")

    async def body(self) -> bytes:
        """The whole body, then watch for the client to leave. Raises HttpError 413.

        From here on a disconnect cancels the task that runs the handler.
        """
        task = asyncio.current_task()
        assert task is not None, "handlers run in a task"
        self._reader = task
        try:
            body = await self._read()
        except asyncio.CancelledError:
            if self._refusal is None or task.uncancel():
                raise
            raise self._refusal from None
        finally:
            self._reader = None
        self._watch = asyncio.create_task(self._cancel_on_disconnect(task))
        return body

    def end_reading(self, error: StemcacheError) -> None:
        """Make `body` raise this error if it is still waiting for the rest."""
        if self._reader is not None and self._refusal is None:
            self._refusal = error
            self._reader.cancel()

    async def _read(self) -> bytes:
        length = self.header(b"content-length")
        declared = int(length) if length.isdigit() else 0
        if declared > self._max_body_bytes and self.header(b"expect").lower() == b"100-continue":
            raise self._too_large()  # nothing was sent yet
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(None) as limit:
                while True:
                    message = await self._next()
                    size += len(message.get("body", b""))
                    if max(size, declared) <= self._max_body_bytes:
                        parts.append(message.get("body", b""))
                    elif limit.when() is None:
                        parts.clear()
                        limit.reschedule(asyncio.get_running_loop().time() + _DISCARD_S)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise self._too_large() from None
        if max(size, declared) > self._max_body_bytes:
            raise self._too_large()
        return b"".join(parts)

    async def _next(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.client_left = True
            raise ConnectionAbortedError("the client left before its body was complete")
        return message

    def _too_large(self) -> HttpError:
        return HttpError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the request body is larger than {self._max_body_bytes} bytes; send less, "
            "or start the server with a larger --max-body",
            code="body_too_large",
            headers={"connection": "close"},
        )

    async def _cancel_on_disconnect(self, task: "asyncio.Task[object]") -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._complete:  # after the last byte the server reports a disconnect too
            self.client_left = True
            task.cancel()

    async def send_bytes(
        self,
        status: int,
        body: bytes,
        *,
        content_type: bytes = b"application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """A whole answer."""
        more = {**(headers or {}), "content-length": str(len(body))}
        await self._start(status, content_type, more)
        self._complete = True
        await self._send({"type": "http.response.body", "body": body})

    async def send_json(
        self, status: int, answer: msgspec.Struct, headers: Mapping[str, str] | None = None
    ) -> None:
        """A whole answer."""
        await self.send_bytes(status, msgspec.json.encode(answer), headers=headers)

    async def send_events(self, events: bytes) -> None:
        """Part of an event stream, which the first call begins. Waits while the client is slow."""
        if not self._streaming:
            self._streaming = True
            # Some proxies hold back what they think is a page; this tells nginx not to.
            more = {"cache-control": "no-cache", "x-accel-buffering": "no"}
            await self._start(HTTPStatus.OK, b"text/event-stream; charset=utf-8", more)
        await self._send({"type": "http.response.body", "body": events, "more_body": True})

    async def end_events(self, events: bytes) -> None:
        """The end of an event stream."""
        if not self._streaming:
            await self.send_events(b"")
        self._complete = True
        await self._send({"type": "http.response.body", "body": events})

    async def send_error(self, error: Exception) -> None:
        """An error, as an answer of its own or as the last event of the stream that runs."""
        reply = reply_to(error)
        if self._complete:
            return
        # The code alone: a message may quote what the user sent.
        self.log["error"] = reply.answer.error.code or reply.answer.error.type
        if self.status:
            self.broken_off = True
            await self.end_events(sse(reply.answer))
        else:
            await self.send_json(reply.status, reply.answer, reply.headers)

    def close(self) -> None:
        """Stop watching the client."""
        if self._watch is not None:
            self._watch.cancel()

    async def _start(self, status: int, content_type: bytes, headers: Mapping[str, str]) -> None:
        self.status = status
        lines = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [
                    (b"content-type", content_type),
                    (b"x-request-id", self.request_id.encode()),
                    *lines,
                ],
            }
        )
