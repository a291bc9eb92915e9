"""Calls that have ended go in, lines come out of a thread of its own; the calls never wait.

```
submit ──► queue (bounded in calls and in bytes) ──► thread: line_of ─► Output.write
   │ full, closed, or the thread has died                  │ disk full, file full, a mistake of ours
   └──────────────────────► counted as lost, said on `tell` ◄
```
Without an output nothing is written; `each` then is all that lines are made for.
"""

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from stemcache.record.capture import Budget, Capture
from stemcache.record.exchange import Exchange
from stemcache.record.output import Output, OutputFullError
from stemcache.record.record import Keep, Line, line_of
from stemcache.record.scope import ScopeKey

__all__ = ["Recorder", "Tally"]

MOST_QUEUED: Final = 4096
_MEMORY_BYTES = 512 * 2**20
_BODY_BYTES = 64 * 2**20
_MOST_FILE_BYTES = 10**10
_TALK_S = 1.0
"""How long the end waits for who listens."""


@dataclass(slots=True)
class Tally:
    """What has become of the calls so far."""

    recorded: int = 0
    recorded_bytes: int = 0
    lost: int = 0
    """Calls that were made and are not in the file."""
    with_usage: int = 0
    """Recorded calls whose answer says how much of the prompt came from the cache."""
    prompt_tokens: int = 0
    cached_tokens: int = 0


class Recorder:
    """One file and the thread that writes it. Nothing but the constructor ever raises."""

    def __init__(
        self,
        output: Path | str | None,
        *,
        keep: Keep | None = None,
        most_bytes: int = _MOST_FILE_BYTES,
        most_body_bytes: int = _BODY_BYTES,
        memory_bytes: int = _MEMORY_BYTES,
        tell: Callable[[str], None],
        each: Callable[[Line], None] | None = None,
    ) -> None:
        """Open the file. Raises UsageError where it cannot be written.

        `each` is given every line, written or not, by the thread that writes: calls that wait to be
        written wait for it too, so it has to be quick or to let lines pass. What it raises is
        swallowed.
        """
        path = None if output is None else Path(output)
        self.path = path
        self.tally = Tally()
        self._keep = keep or Keep()
        self._most_body_bytes = most_body_bytes
        self._memory_bytes = memory_bytes
        self._tell = tell
        self._each = each
        self._output = None if path is None else Output(path, most_bytes=most_bytes)
        self._talks: list[threading.Thread] = []
        self._key = ScopeKey.passing() if path is None else ScopeKey.beside(path)
        if self._output is not None and self._output.narrowed:
            self._say(f"{path} could be read by others; it is for its owner alone now (mode 600)")
        self._closed = False
        self._told = 1
        self._begin()
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _after_fork(me()))

    def capture(self) -> Capture:
        """Room for one body."""
        return Capture(self._most_body_bytes, self._budget)

    def context(self) -> object:
        """What goes along with a call that begins now: nothing, unless a derived class says so."""
        return None

    def submit(self, exchange: Exchange) -> None:
        """Hand over a call that has ended. Takes microseconds."""
        try:
            response = exchange.response
            starved = exchange.request.starved or (response is not None and response.starved)
            if self._closed:
                self.lose(exchange, "the recorder is closed")
            elif starved:
                self.lose(exchange, "memory for calls that wait to be written is used up")
            elif self._queue.qsize() >= MOST_QUEUED:
                self.lose(exchange, f"{MOST_QUEUED} calls wait to be written already")
            elif not self._writer().is_alive():
                self.lose(exchange, "the thread that writes has died")
            else:
                self._queue.put(exchange)
        except Exception as error:  # noqa: BLE001 - the call goes on, whatever it is
            self._say(f"a call was not recorded ({type(error).__name__})")

    def lose(self, exchange: Exchange | None, reason: str) -> None:
        """Count a call that was made and will not be recorded. Says so at the first, tenth, …"""
        if exchange is not None:
            exchange.release()
        with self._lock:
            self.tally.lost += 1
            if self.tally.lost < self._told:
                return
            self._told *= 10
            count = "1 call was" if self.tally.lost == 1 else f"{self.tally.lost:,} calls were"
        self._say(f"{count} not recorded so far: {reason}; calls go on")

    @property
    def closed(self) -> bool:
        """Whether calls are not taken any more."""
        return self._closed

    @property
    def waiting(self) -> int:
        """Calls that have ended and whose lines are not made yet, but for the one being made."""
        return self._queue.qsize()

    def settle(self, timeout_s: float) -> bool:
        """Wait until all calls handed over so far are dealt with; whether they are in time."""
        if self._closed:
            return True
        reached = threading.Event()
        writer = self._writer()
        self._queue.put(reached)
        return writer.is_alive() and reached.wait(timeout_s)

    def close(self, timeout_s: float = 10.0) -> Tally:
        """Write what waits, as far as time allows, and close the file. May be called twice."""
        if not self._closed:
            self._closed = True
            thread = self._writer()
            self._queue.put(None)
            thread.join(timeout_s)
            while True:
                try:
                    left = self._queue.get_nowait()
                except Empty:
                    break
                if isinstance(left, Exchange):
                    self.lose(left, "the recorder was closed before it was written")
            if thread.is_alive():
                self.tally.lost += 1
            elif self._output is not None:
                with suppress(OSError):
                    self._output.close()
            for talk in self._talks:
                talk.join(_TALK_S)
        return self.tally

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._budget = Budget(self._memory_bytes)
        self._queue: SimpleQueue[Exchange | threading.Event | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def _writer(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                name = "stemcache-record"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()
            return self._thread

    def _after_fork(self) -> None:
        """A fork has no thread but its own; what waits to be written is the parent's."""
        if self._output is not None:
            self._output.reopen()
        self._begin()

    def _run(self) -> None:
        queue = self._queue
        while (exchange := queue.get()) is not None:
            if isinstance(exchange, threading.Event):
                exchange.set()
                continue
            try:
                line = line_of(exchange, self._key, self._keep)
                if line is not None:
                    try:
                        self._write(line)
                    finally:
                        self._pass_on(line)
                exchange.release()
            except OutputFullError:
                self.lose(exchange, "the file has reached the size that --max-bytes allows")
            except OSError as error:
                self.lose(exchange, f"the file cannot be written: {error.strerror}")
            except Exception as error:  # noqa: BLE001 - one call's record, not the others'
                self.lose(exchange, f"a mistake of stemcache's, {type(error).__name__}")
            except BaseException:
                self.lose(exchange, "the thread that writes has died")
                raise

    def _write(self, line: Line) -> None:
        if self._output is not None:
            self._output.write(line.data)
        self._count(line)

    def _pass_on(self, line: Line) -> None:
        if self._each is not None:
            with suppress(Exception):
                self._each(line)

    def _count(self, line: Line) -> None:
        tally = self.tally
        tally.recorded += 1
        tally.recorded_bytes += len(line.data)
        usage = line.usage
        if usage is not None and usage.prompt_tokens is not None and usage.read_tokens is not None:
            tally.with_usage += 1
            tally.prompt_tokens += usage.prompt_tokens
            tally.cached_tokens += usage.read_tokens

    def _say(self, message: str) -> None:
        # Whoever listens may be slow: a full pipe behind stderr must not hold up a call.
        talk = threading.Thread(target=self._tell_safely, args=(message,), daemon=True)
        talk.start()
        self._talks = [*(each for each in self._talks if each.is_alive()), talk]

    def _tell_safely(self, message: str) -> None:
        with suppress(Exception):
            self._tell(message)


def _after_fork(recorder: Recorder | None) -> None:
    if recorder is not None:
        recorder._after_fork()  # noqa: SLF001  # a hook of its own
