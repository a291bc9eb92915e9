"""A recorder that also says, where a call ends, that it has: for what must be done right there.

A page in place of an answer, as proxies and gateways send it with status 200, is written and
counted as no answer: no model has read that prompt.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from stemcache.record.capture import Capture
from stemcache.record.exchange import Exchange
from stemcache.record.record import Keep, Line
from stemcache.record.recorder import Recorder

__all__ = ["LiveRecorder", "Spectator"]

_PAGES = ("text/html", "application/xhtml")
_LOOKED_AT_BYTES = 64
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
        with suppress(Exception):
            _mark_page(exchange)
        spectator = self.spectator
        if spectator is not None:
            with suppress(Exception):
                spectator.ends(exchange)
        super().submit(exchange)


def _mark_page(exchange: Exchange) -> None:
    """Say of a call that was answered by a page that it failed, whatever its status. O(1)."""
    response = exchange.response
    if exchange.failed is None and response is not None and _is_page(exchange, response):
        exchange.failed = "bad_answer"
        exchange.answered_s = None


def _is_page(exchange: Exchange, response: Capture) -> bool:
    kinds = [value for name, value in exchange.response_headers if name.lower() == "content-type"]
    if kinds and kinds[-1].lower().startswith(_PAGES):
        return True
    return response.head[:_LOOKED_AT_BYTES].lstrip()[:1] == b"<"
