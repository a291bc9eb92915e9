"""Sleeps that a test ends by hand, a logger that keeps what is said, and pages of a fake server."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from structlog.typing import FilteringBoundLogger

from tests.server.gateway.fakes import Call, FakeReplica, json_answer

__all__ = ["Said", "Sleeps", "paged", "until"]


class Sleeps:
    """What is slept ends when the test says so."""

    def __init__(self) -> None:
        self.asked_s: list[float] = []
        """Each rest that was asked for."""
        self._waiting: list[asyncio.Future[None]] = []

    async def __call__(self, seconds: float) -> None:
        self.asked_s.append(seconds)
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        await waiting

    async def end(self) -> None:
        """Wait until somebody sleeps, and wake all who do."""
        await until(lambda: any(not one.done() for one in self._waiting))
        for one in self._waiting:
            if not one.done():
                one.set_result(None)
        self._waiting.clear()


class Said:
    """A logger, and its lines."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.logger: FilteringBoundLogger = structlog.wrap_logger(
            structlog.PrintLogger(),
            processors=[structlog.processors.add_log_level, self._keep],
            wrapper_class=structlog.make_filtering_bound_logger(0),
        )

    def _keep(self, _logger: object, _name: str, event: Any) -> Any:
        self.lines.append(dict(event))
        raise structlog.DropEvent

    @property
    def events(self) -> list[str]:
        """What was said, without details."""
        return [line["event"] for line in self.lines]


async def until(true: Callable[[], bool], limit_s: float = 10.0) -> None:
    """Let others go on until something is so."""
    async with asyncio.timeout(limit_s):
        while not true():  # noqa: ASYNC110  # what is waited for is a plain value
            await asyncio.sleep(0.001)


def paged(pages: Mapping[str, Any]) -> FakeReplica:
    """A server with these pages; each is JSON, bytes, a whole answer, or called with the call.

    Another page is not found; None is never answered.
    """

    def script(call: Call) -> None:
        found = pages.get(call.target.partition("?")[0], 404)
        if callable(found):
            found = found(call)
        if found is None:
            return
        if isinstance(found, int):
            call.transport.write(json_answer({}, status=found))
        elif isinstance(found, bytes) and found.startswith(b"HTTP/1."):
            call.transport.write(found)
        else:
            call.transport.write(json_answer(found))

    return FakeReplica(script)
