"""Replicas that the gateway starts itself: `stemcache serve`, each a process on a loopback port.

```
start ─► waiting for its address ─► up ──dies──► wait, longer each time ─► start again, same port
                │ dies: UsageError                 └ up for a minute: the next wait is short again
```
They end with the gateway, and after it: what runs on them may finish first.
"""

import asyncio
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from structlog.typing import FilteringBoundLogger

from stemcache.clock import Clock
from stemcache.errors import UsageError
from stemcache.gateway.deployment import LocalReplicas
from stemcache.gateway.replica import Engine, ReplicaSpec

__all__ = ["LocalFleet"]

_ADDRESS = re.compile(rb"address\s+(http://\S+:(\d+))\s*")
_READY = b"print("
"""The last line of the screen that `serve` shows once it answers."""
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_STEADY_S = 60.0
_STOP_S = 10.0
_LONGEST_LINE = 2000
_LAST_LINES = 5

Child = asyncio.subprocess.Process


class LocalFleet:
    """All of them. `start`, then `close`."""

    def __init__(
        self,
        settings: LocalReplicas,
        *,
        clock: Clock,
        logger: FilteringBoundLogger,
        on_restart: Callable[[str], None],
        command: Sequence[str] = (sys.executable, "-m", "stemcache.server.gateway.local_child"),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`on_restart` is told the name of one that has been started again."""
        self._settings = settings
        self._clock = clock
        self._logger = logger
        self._on_restart = on_restart
        self._command = tuple(command)
        self._sleep = sleep
        self._children: dict[str, Child] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._specs: list[ReplicaSpec] = []
        self._talk: set[asyncio.Task[None]] = set()
        """Reading what they print; each ends with its process."""

    @property
    def replicas(self) -> tuple[ReplicaSpec, ...]:
        """Those that have come up; their addresses do not change."""
        return tuple(self._specs)

    async def start(self) -> None:
        """Start them all and wait until they answer. Raises UsageError if one does not come up."""
        starting = [
            asyncio.create_task(self._start(f"local-{number}", port=0))
            for number in range(self._settings.replicas)
        ]
        try:
            started = await asyncio.gather(*starting)
        except BaseException:
            for task in starting:
                task.cancel()
            await asyncio.gather(*starting, return_exceptions=True)
            await self.close()
            raise
        for number, (child, port) in enumerate(started):
            name = f"local-{number}"
            self._specs.append(
                ReplicaSpec(name=name, url=f"http://127.0.0.1:{port}", engine=Engine.STEMCACHE)
            )
            self._keepers.append(asyncio.create_task(self._keep(name, child, port)))

    async def close(self) -> None:
        """Ask all to end, wait, and end those that do not."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        children = list(self._children.values())
        for child in children:
            with suppress(ProcessLookupError):
                child.send_signal(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await asyncio.gather(*(child.wait() for child in children))
        for child in children:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    child.kill()
                await child.wait()
        self._children.clear()

    async def _keep(self, name: str, child: Child, port: int) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            begun_s = self._clock.now()
            code = await child.wait()
            if self._clock.now() - begun_s > _STEADY_S:
                wait_s = _FIRST_WAIT_S
            while True:
                self._logger.warning(
                    "local replica has ended; starting it again", replica=name, code=code
                )
                await self._sleep(wait_s)
                wait_s = min(_LONGEST_WAIT_S, wait_s * 2)
                try:
                    child, _ = await self._start(name, port=port)
                    break
                except UsageError as error:
                    self._logger.warning(str(error), replica=name)
            self._on_restart(name)

    async def _start(self, name: str, *, port: int) -> tuple[Child, int]:
        """Start one and wait until it answers; the process and its port. Raises UsageError."""
        words = ("serve", "--model", self._settings.model, "--host", "127.0.0.1")
        child = await asyncio.create_subprocess_exec(
            *self._command,
            *words,
            "--port",
            str(port),
            "--log-format",
            "json",
            "--log-level",
            "warning",
            *self._settings.flags,
            stdin=asyncio.subprocess.PIPE,  # held open: it ends when this process is gone
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # ^C is the gateway's; it stops them after itself
        )
        self._children[name] = child
        last: list[str] = []
        assert child.stdout is not None, "it is piped"
        assert child.stderr is not None, "it is piped"
        listening = asyncio.create_task(self._listen(name, child.stderr, last))
        self._talk.add(listening)
        listening.add_done_callback(self._talk.discard)
        found = 0
        try:
            async for line in child.stdout:
                address = _ADDRESS.match(line)
                if address is not None:
                    found = int(address[2])
                if line.startswith(_READY) and found:
                    self._talk.add(drain := asyncio.create_task(_drain(child.stdout)))
                    drain.add_done_callback(self._talk.discard)
                    return child, found
        except BaseException:
            with suppress(ProcessLookupError):
                child.kill()
            raise
        code = await child.wait()
        await asyncio.wait({listening})
        said = f" ({last[-1]})" if last else ""
        raise UsageError(
            f"{name} of --local did not start: stemcache serve ended with code {code}{said}; "
            f"try: stemcache serve --model {self._settings.model}"
        )

    async def _listen(self, name: str, stderr: asyncio.StreamReader, last: list[str]) -> None:
        """Pass its warnings on."""
        while True:
            try:
                line = await stderr.readline()
            except ValueError:
                continue  # a line that is longer than the stream's bound, dropped by it
            if not line:
                return
            text = line.decode("utf-8", "replace").strip()[:_LONGEST_LINE]
            if text:
                last[:] = [*last[-_LAST_LINES:], text]
                self._logger.warning("local replica says", replica=name, line=text)


async def _drain(stdout: asyncio.StreamReader) -> None:
    while await stdout.read(2**16):
        pass
