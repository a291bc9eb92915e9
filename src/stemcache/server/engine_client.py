"""The server's side of the engine: asynchronous, and never blocked by a step.

```
handlers ──submit, cancel, reset──► outbox ──one message a turn──► engine's process
         ◄──Flight: progress────── by request id ◄──one message a step──┘
```

A `Flight` is the set of engine requests that answer one HTTP request. What it holds unread is
bounded by what its requests may generate, so a reader that stops reading costs at most
`max_tokens` tokens a choice.
"""

import asyncio
import math
import multiprocessing
import socket
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from stemcache.engine.model import ModelInfo
from stemcache.engine.request import GenerationRequest, Progress
from stemcache.engine.stats import EngineStats
from stemcache.errors import (
    ContextOverflowError,
    EngineError,
    ModelError,
    QueueFullError,
    RequestError,
    StemcacheError,
    UsageError,
)
from stemcache.server.frames import (
    HEADER_BYTES,
    Commands,
    Loaded,
    LoadFailed,
    Refused,
    Report,
    decode_from_engine,
    frame,
    frame_length,
)
from stemcache.server.source import Source
from stemcache.server.worker import EngineSettings, run_worker

__all__ = ["EngineClient", "Flight"]

_LAST_STEP_S = 3.0
"""How long the process may take to see that the server is gone."""

_GONE = "the engine's process has ended; restart the server (its log says why)"


class Flight:
    """Engine requests under way together; an async context manager that cancels what is left."""

    def __init__(self, client: "EngineClient", request_ids: Sequence[str]) -> None:
        self._client = client
        self._live = set(request_ids)
        self._arrived: list[Progress] = []
        self._failure: StemcacheError | None = None
        self._wake = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cancel(*self._live)

    async def arrivals(self) -> list[Progress]:
        """What came since the last call, waiting for something; empty when all have finished.

        Raises what ended the flight early: EngineError, QueueFullError or RequestError.
        """
        while not self._arrived and self._failure is None and self._live:
            self._wake.clear()
            await self._wake.wait()
        if self._failure is not None:
            raise self._failure
        arrived, self._arrived = self._arrived, []
        return arrived

    def cancel(self, *request_ids: str) -> None:
        """Stop these; nothing more arrives of them. Harmless for those that have finished."""
        for request_id in self._live.intersection(request_ids):
            self._live.discard(request_id)
            self._client.drop(request_id)

    def take(self, progress: Progress) -> None:
        """Hand in what a step brought. The client's to call."""
        self._arrived.append(progress)
        if progress.finish is not None:
            self._live.discard(progress.request_id)
        self._wake.set()

    def fail(self, error: StemcacheError) -> None:
        """End the flight; whoever waits for arrivals gets the error."""
        self._failure = self._failure or error
        self._wake.set()


class EngineClient:
    """Starts the engine's process and talks to it. Made by `start`."""

    def __init__(
        self,
        process: multiprocessing.process.BaseProcess,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        loaded: Loaded,
        settings: EngineSettings,
    ) -> None:
        self.info: ModelInfo = loaded.info
        self.pages = loaded.pages
        self.settings = settings
        self.stats: EngineStats = loaded.stats
        """As of the last step."""
        self.alive = True
        self.ended = asyncio.Event()
        """Set when the process is gone."""
        self._process = process
        self._writer = writer
        self._flights: dict[str, Flight] = {}
        self._resets: deque[asyncio.Future[int]] = deque()
        self._sent = 0
        self._received = 0
        self._submit: dict[str, GenerationRequest] = {}
        self._cancel: list[str] = []
        self._reset_count = 0
        self._flush_is_due = False
        self._listening = asyncio.create_task(self._listen(reader))

    @classmethod
    async def start(cls, source: Source, settings: EngineSettings) -> "EngineClient":
        """Start the process and wait until the model is loaded. Raises ModelError, UsageError."""
        here, there = socket.socketpair()
        # spawn: a fork would copy the server's threads, sockets and event loop.
        process = multiprocessing.get_context("spawn").Process(
            target=run_worker, args=(there, source, settings), name="engine", daemon=True
        )
        process.start()
        there.close()
        here.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=here, limit=1 << 20)
        try:
            first = await _read(reader)
        except asyncio.IncompleteReadError:
            writer.close()
            await asyncio.to_thread(process.join)
            raise ModelError(
                f"the engine's process ended with {process.exitcode} while loading "
                f"{source.name!r}; see its messages above (out of memory?)"
            ) from None
        except BaseException:
            writer.close()
            process.kill()  # it may be loading for long
            raise
        if isinstance(first, LoadFailed):
            writer.close()
            await asyncio.to_thread(process.join)
            raise UsageError(first.message)
        assert isinstance(first, Loaded), "the process reports first how loading went"
        return cls(process, reader, writer, first, settings)

    @property
    def capacity_tokens(self) -> int:
        """No prompt with its answer can be longer: the context, or the whole KV pool."""
        return min(self.info.context_tokens, self.pages * self.settings.block_size)

    @property
    def waiting(self) -> int:
        """Requests that wait in the engine or are on their way to it."""
        return self.stats.waiting + self._sent - self._received

    def check_count(self, answers: int) -> None:
        """Raise RequestError where so many could never wait together: before they are made."""
        limit = self.settings.max_waiting
        if answers > limit:
            raise RequestError(
                f"the request asks for {answers} answers, and the queue takes {limit}; "
                "send fewer prompts or a smaller n",
                param="n",
            )

    def submit(self, requests: Sequence[GenerationRequest]) -> Flight:
        """Send requests that answer together. Does not wait.

        Raises QueueFullError, with nothing sent, if not all of them fit the queue; RequestError if
        they never could; EngineError if the process is gone. What the engine itself refuses comes
        out of the flight.
        """
        if not self.alive:
            raise EngineError(_GONE)
        self.check_count(len(requests))
        limit = self.settings.max_waiting
        if self.waiting + len(requests) > limit:
            raise QueueFullError(
                f"{self.waiting} requests wait, and the queue takes {limit}; try again later",
                retry_after_s=1.0,
            )
        flight = Flight(self, [request.request_id for request in requests])
        for request in requests:
            assert request.request_id not in self._flights, "request ids are unique"
            self._flights[request.request_id] = flight
        self._submit.update((request.request_id, request) for request in requests)
        self._sent += len(requests)
        self._flush_soon()
        return flight

    def drop(self, request_id: str) -> None:
        """Cancel one request and forget it."""
        if self._flights.pop(request_id, None) is None or not self.alive:
            return
        if self._submit.pop(request_id, None) is not None:
            self._sent -= 1  # it never left
            return
        self._cancel.append(request_id)
        self._flush_soon()

    async def reset(self) -> int:
        """Drop every cached prefix; returns how many blocks. Raises EngineError if gone."""
        if not self.alive:
            raise EngineError(_GONE)
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._resets.append(done)
        self._reset_count += 1
        self._flush_soon()
        return await done

    def fail_all(self, error: StemcacheError) -> None:
        """End every flight with this error and cancel its requests."""
        for request_id, flight in list(self._flights.items()):
            flight.fail(error)
            self.drop(request_id)

    async def close(self) -> None:
        """End the process: it stops when the socket closes, at the latest after its step.

        Where it does not, it is killed.
        """
        # Not close(): that would first send what a stuck process does not take.
        self._writer.transport.abort()
        await self.ended.wait()
        await asyncio.to_thread(self._process.join, _LAST_STEP_S)
        if self._process.is_alive():
            self._process.kill()
        await self._listening

    def _flush_soon(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_is_due = False
        commands = Commands(self._cancel, self._reset_count, list(self._submit.values()))
        self._cancel, self._reset_count, self._submit = [], 0, {}
        if self.alive and not self._writer.is_closing():
            # What is buffered here is bounded: prompts by the queue, cancels by what is in flight.
            self._writer.write(frame(commands))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                message = await _read(reader)
                assert isinstance(message, Report), "after loading there are only reports"
                self._take(message)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.alive = False
            self.fail_all(EngineError(_GONE))
            self._flights.clear()
            while self._resets:
                self._resets.popleft().set_exception(EngineError(_GONE))
            self._writer.close()
            self.ended.set()

    def _take(self, report: Report) -> None:
        self.stats = report.stats
        self._received = report.received
        for progress in report.progress:
            if progress.finish is None:
                flight = self._flights.get(progress.request_id)
            else:
                flight = self._flights.pop(progress.request_id, None)
            if flight is not None:  # None: cancelled here, on its way there
                flight.take(progress)
        for refused in report.refused:
            flight = self._flights.pop(refused.request_id, None)
            if flight is not None:
                flight.fail(_error(refused))
        for dropped in report.resets:
            done = self._resets.popleft()
            if not done.done():  # the caller may have gone
                done.set_result(dropped)


def _error(refused: Refused) -> StemcacheError:
    match refused.kind:
        case "full":
            return QueueFullError(
                refused.message, retry_after_s=math.ceil(max(refused.retry_after_s, 1.0))
            )
        case "context":
            return ContextOverflowError(refused.message, param=refused.param)
        case _:
            return RequestError(refused.message, param=refused.param)


async def _read(reader: asyncio.StreamReader) -> Loaded | LoadFailed | Report:
    length = frame_length(await reader.readexactly(HEADER_BYTES))
    return decode_from_engine(await reader.readexactly(length))
