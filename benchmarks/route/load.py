"""The load: its own process, raw HTTP over connections that are kept, and what came back.

    python -m benchmarks.route.load JOB FILE      JOB is JSON, see `Job`; the result goes to FILE

Closed loop: `concurrency` requests are always under way. Open loop: each is sent when it is due,
whatever became of those before it, and timed from when it was due.
"""

import asyncio
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httptools
import msgspec
import uvloop

from benchmarks.route.plans import Prompt, TracePlan, body, hot, zipf

__all__ = ["Job", "Shot", "main"]


class Job(msgspec.Struct, forbid_unknown_fields=True):
    """What to send where."""

    targets: list[str]
    """Requests are dealt to them in turn."""
    plan: dict[str, Any]
    """`kind` (zipf, hot or a trace's file) and what its maker takes."""
    concurrency: int | None = 24
    """None: open loop."""
    stream: bool = False
    tokens: int = 1
    session: bool = False
    """Whether the session is told in a header."""
    warmup: int = 0
    """So many requests first that are not reported."""
    hold_s: float = 0.0
    """Of streams that do not end: how long to wait once all have begun."""


class Shot(msgspec.Struct, array_like=True):
    """One request: moments in seconds on one clock; None where it did not come so far."""

    due_s: float
    first_s: float | None = None
    end_s: float | None = None
    status: int = 0
    outcome: str = "open"
    """ok, status, cut (before the end), refused (no answer at all), error (an event said so)."""
    target: int = 0


class Connection(asyncio.Protocol):
    """One connection to a gateway."""

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool
        self._parser: Any = None
        self.transport: Any = None
        self.shot: Shot | None = None
        self._stream = False
        self._tail = b""
        self._keep = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready."""
        self.transport = transport

    def send(self, shot: Shot, data: bytes, *, stream: bool) -> None:
        """Send one request; it must be idle."""
        self.shot, self._stream, self._tail = shot, stream, b""
        self._parser = httptools.HttpResponseParser(self)
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        """Parse."""
        if self._parser is None:
            self.transport.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """The status is known."""
        assert self.shot is not None, "asked"
        self.shot.status = self._parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        """The first of it is the first token of a stream."""
        shot = self.shot
        assert shot is not None, "asked"
        if shot.first_s is None and (not self._stream or b"word" in data or b"error" in data):
            shot.first_s = time.monotonic()
            self._pool.began()
        self._tail = (self._tail + data)[-200:] if len(data) < 200 else data[-200:]
        if self._stream and b'"error"' in data:
            shot.outcome = "error"

    def on_message_complete(self) -> None:
        """Whole."""
        shot, self.shot = self.shot, None
        assert shot is not None, "asked"
        shot.end_s = time.monotonic()
        if shot.status != 200:
            shot.outcome = "status"
        elif shot.outcome != "error":
            whole = not self._stream or b"[DONE]" in self._tail
            shot.outcome = "ok" if whole else "cut"
        keep = self._parser.should_keep_alive()
        self._parser = None
        if keep:
            self._pool.idle.setdefault(shot.target, []).append(self)
        else:
            self.transport.close()
        self._pool.ended(shot)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the protocol's
        """What was under way is lost."""
        for idle in self._pool.idle.values():
            if self in idle:
                idle.remove(self)
        shot, self.shot = self.shot, None
        self.transport = None
        if shot is not None:
            shot.end_s = time.monotonic()
            if shot.outcome == "open":
                shot.outcome = "cut" if shot.status else "refused"
            self._pool.ended(shot)


class Pool:
    """All connections, and who waits for what."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.idle: dict[int, list[Connection]] = {}
        self.shots: list[Shot] = []
        self.opened = 0
        self._waiters: dict[int, asyncio.Future[None]] = {}
        self.begun = 0
        self._where = [
            (part.hostname or "", part.port or 80) for part in map(urlsplit, job.targets)
        ]

    def ended(self, shot: Shot) -> None:
        """A request is over."""
        waiter = self._waiters.pop(id(shot), None)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def began(self) -> None:
        """A first token came."""
        self.begun += 1

    async def start(self, prompt: Prompt, due_s: float) -> tuple[Shot, "asyncio.Future[None]"]:
        """Send one request now."""
        job = self.job
        target = len(self.shots) % len(job.targets)
        data = body(prompt, stream=job.stream, tokens=job.tokens)
        more = f"x-session-id: {prompt.session}\r\n" if job.session else ""
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: {self._where[target][0]}\r\n"
            f"content-type: application/json\r\n{more}content-length: {len(data)}\r\n\r\n"
        ).encode()
        shot = Shot(due_s, target=target)
        self.shots.append(shot)
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        idle = self.idle.get(target)
        if idle:
            connection = idle.pop()
        else:
            try:
                _, connection = await loop.create_connection(
                    lambda: Connection(self), *self._where[target]
                )
            except OSError:
                shot.outcome, shot.end_s = "refused", time.monotonic()
                waiter.set_result(None)
                return shot, waiter
            self.opened += 1
        self._waiters[id(shot)] = waiter
        connection.send(shot, head + data, stream=job.stream)
        return shot, waiter


def prompts_of(job: Job) -> Iterator[Prompt]:
    """The plan's prompts, made as they are asked for."""
    plan = dict(job.plan)
    kind = plan.pop("kind")
    if kind == "zipf":
        return zipf(**plan)
    if kind == "hot":
        return hot(**plan)
    return TracePlan.load(Path(plan["path"])).prompts(plan["speed"], plan.get("count"))


async def closed(pool: Pool, prompts: Iterator[Prompt], concurrency: int) -> None:
    """Always so many under way."""

    async def client() -> None:
        for prompt in prompts:
            _, waiter = await pool.start(prompt, time.monotonic())
            await waiter

    await asyncio.gather(*(client() for _ in range(concurrency)))


async def opened(pool: Pool, prompts: Iterator[Prompt]) -> None:
    """Each when it is due."""
    begun_s = time.monotonic() + 0.05
    waiting = set()
    for prompt in prompts:
        due_s = begun_s + (prompt.at_s or 0.0)
        ahead_s = due_s - time.monotonic()
        if ahead_s > 0:
            await asyncio.sleep(ahead_s)
        task = asyncio.ensure_future(_one(pool, prompt, due_s))
        waiting.add(task)
        task.add_done_callback(waiting.discard)
    if waiting:
        await asyncio.wait(waiting)


async def _one(pool: Pool, prompt: Prompt, due_s: float) -> None:
    _, waiter = await pool.start(prompt, due_s)
    await waiter


async def run(job: Job) -> dict[str, Any]:
    """Send it all, and report."""
    pool = Pool(job)
    prompts = prompts_of(job)
    first = next(prompts)
    cpu_s, begun_s, began_at_s = time.process_time(), time.monotonic(), time.time()

    def again() -> Iterator[Prompt]:
        yield first
        yield from prompts

    if job.hold_s:
        await hold(pool, again())
    elif job.concurrency is None:
        await opened(pool, again())
    else:
        await closed(pool, again(), job.concurrency)
    wall_s = time.monotonic() - begun_s
    return {
        "began_at_s": began_at_s,
        "begun_s": begun_s,
        "wall_s": wall_s,
        "cpu_s": time.process_time() - cpu_s,
        "connections": pool.opened,
        "sent": len(pool.shots),
        "shots": pool.shots[job.warmup :],
    }


async def hold(pool: Pool, prompts: Iterator[Prompt]) -> None:
    """Open streams that stay open; say when all have begun; wait for a line; wait for their end."""
    waiters = []
    for number, prompt in enumerate(prompts):
        waiters.append((await pool.start(prompt, time.monotonic()))[1])
        while number - pool.begun > 64:  # noqa: ASYNC110  # a count, not an event
            await asyncio.sleep(0.002)
    deadline_s = time.monotonic() + 30
    while pool.begun < len(waiters) and time.monotonic() < deadline_s:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    sys.stdout.write("held\n")
    sys.stdout.flush()
    await asyncio.wait([asyncio.ensure_future(asyncio.wait_for(each, 120)) for each in waiters])


def main() -> None:
    """Do the job that the arguments name."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    job = msgspec.json.decode(sys.argv[1], type=Job)
    Path(sys.argv[2]).write_bytes(msgspec.json.encode(uvloop.run(run(job))))


if __name__ == "__main__":
    main()
