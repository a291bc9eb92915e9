"""A recorder that also says, where a call ends, that it has: for what must be done right there."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from stemcache.record.exchange import Exchange
from stemcache.record.record import Keep, Line
from stemcache.record.recorder import Recorder

__all__ = ["LiveRecorder", "Spectator"]

MEMORY_BYTES = 128 * 2**20
BODY_BYTES = 32 * 2**20


class Spectator(Protocol):
    """**Protocol**: one who goes along with calls, in the thread and context of each."""

    def begins(self) -> object:
        """A call begins. What this gives is handed back as its context."""
        ...

    def ends(self, exchange: Exchange) -> None:
        """It has ended, well or not, and nobody has looked at it yet. Has to be quick."""
        ...


class LiveRecorder(Recorder):
    """Whatever a spectator raises is swallowed: a call does not depend on it."""

    def __init__(
        self,
        output: Path | str | None,
        *,
        keep: Keep | None,
        tell: Callable[[str], None],
        each: Callable[[Line], None],
    ) -> None:
        """As `Recorder`, in the memory of a program that has other things to do."""
        super().__init__(
            output,
            keep=keep,
            tell=tell,
            each=each,
            most_body_bytes=BODY_BYTES,
            memory_bytes=MEMORY_BYTES,
        )
        self.spectator: Spectator | None = None

    def context(self) -> object:
        """The spectator's."""
        spectator = self.spectator
        if spectator is not None:
            with suppress(Exception):
                return spectator.begins()
        return None

    def submit(self, exchange: Exchange) -> None:
        """Hand over a call that has ended, once the spectator has seen it."""
        spectator = self.spectator
        if spectator is not None:
            with suppress(Exception):
                spectator.ends(exchange)
        super().submit(exchange)
