"""Calls of a running program: recorded, judged as they end, added up. What all integrations share.

```
call ends ─► LiveRecorder ─queue─► one thread:  line ─► file, if one is given
                                                   └──► Call ─► LiveLint ─► tell
             microseconds                                          └──► Summary, when asked for
```
A call does not wait for any of it and is not changed, and nothing here can break one. Where calls
end faster than they can be judged, only their usage is counted, and the summary says of how many.
Calls are judged in the order in which they end.

After a fork the child begins with nothing: what the parent has seen is the parent's.
"""

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from stemcache.errors import UsageError
from stemcache.integrations.live_family import prefix_of
from stemcache.integrations.live_lint import Judgement, LiveLint
from stemcache.integrations.live_recorder import LiveRecorder
from stemcache.integrations.live_summary import Summary
from stemcache.integrations.live_tell import logged, sentence
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.prompt.given import check_callable, check_type
from stemcache.provider.book import Book, load_book, shipped_book
from stemcache.record.record import Keep, Line
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.calls.fields import decoded
from stemcache.trace.calls.format import Record, Shared
from stemcache.trace.calls.formats.recorded import RECORDED
from stemcache.trace.problem import BadLineError

__all__ = ["Live"]

_LOGGER: Final = logging.getLogger("stemcache.live")
_FILE: Final = "call"
_MOST_WAITING: Final = 256
"""Calls behind which a call is not judged any more."""
_MOST_JUDGED_BYTES: Final = 8 * 2**20
"""Of one body: about 2 million tokens, and a tenth of a second of work."""
_WAIT_S: Final = 2.0


class Live:
    """All that one program, or one client of it, sends. Any number of threads may use it."""

    def __init__(
        self,
        *,
        output: Path | str | None = None,
        keep: Keep | None = None,
        options: Options | None = None,
        tell: Callable[[Finding], None] = logged,
    ) -> None:
        """Raises UsageError for settings that are none, and where `output` cannot be written.

        Nothing is raised after that.

        `output`: a file as `stemcache record` writes it; None keeps nothing but figures and what
        calls are compared by. `keep`: what of a call is written there; without bodies nothing can
        be judged. `options`: of lint. `tell`: is given each finding that is worth it, once, in the
        thread that judges.
        """
        check_type(output, str | os.PathLike | None, "output", "give the name of a file, or None")
        check_type(keep, Keep | None, "keep", "give a Keep of stemcache.record.record")
        check_type(options, Options | None, "options", "give an Options of stemcache.lint.options")
        check_callable(
            tell,
            "tell",
            "give a function of a finding, such as logged or warned of "
            "stemcache.integrations.live_tell",
        )
        self.tell = tell
        self.options = options or Options(today=datetime.now(UTC).date())
        self._book = _book(self.options)
        self.on_judgement: Callable[[Judgement, object], None] | None = None
        """Is given what lint says of each call, with the call's context, where calls are judged."""
        self._begin()
        self.recorder = LiveRecorder(output, keep=keep, tell=_LOGGER.warning, each=self._line)
        atexit.register(self.recorder.close)
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _after_fork(me()))

    def summary(self, *, wait_s: float = _WAIT_S) -> Summary:
        """What the calls that have ended came to. Waits for those that are being judged."""
        self.settle(wait_s)
        with self._lock:
            return Summary(
                report=self._lint.report(),
                missed=self.recorder.tally.lost + self._missed - self._lost_before,
                unjudged=self._unjudged,
            )

    def settle(self, wait_s: float = _WAIT_S) -> bool:
        """Wait until all calls that have ended are judged; whether they are in time.

        Does not wait where calls are judged, in `tell` say: that would be for itself.
        """
        return self._judge_ident != threading.get_ident() and self.recorder.settle(wait_s)

    def close(self, *, wait_s: float = 10.0) -> None:
        """Judge and write what waits, and take no more. May be called twice."""
        self.recorder.close(wait_s)
        atexit.unregister(self.recorder.close)

    def _begin(self) -> None:
        # Held while `tell` runs, which may well ask for the summary.
        self._lock = threading.RLock()
        self._judge_ident = 0
        """Of the thread that is judging a call."""
        self._lint = LiveLint(options=self.options, book=self._book, tell=self._told)
        self._numbers = 0
        self._missed = 0
        self._lost_before = 0
        """By the parent, before a fork."""
        self._unjudged = 0

    def _line(self, line: Line) -> None:
        """In the recorder's thread."""
        try:
            with self._lock:
                self._judge_ident = threading.get_ident()
                self._numbers += 1
                for call in _calls(line, self._numbers):
                    self._judge(call, line)
        except BadLineError as error:
            self._missed += 1
            _LOGGER.debug("a call is in no figure: %s", error.reason)
        except Exception:  # the other calls are to be judged all the same
            self._missed += 1
            _LOGGER.debug("a call could not be judged", exc_info=True)

    def _judge(self, call: Call, line: Line) -> None:
        behind = self.recorder.waiting > _MOST_WAITING
        if call.body is not None and (behind or call.size_bytes > _MOST_JUDGED_BYTES):
            self._unjudged += 1
            call = replace(call, body=None, raw=None, fidelity=Fidelity.USAGE_ONLY)
        judgement = self._lint.add(call)
        if self.on_judgement is not None:
            with suppress(Exception):
                self.on_judgement(replace(judgement, prefix=prefix_of(call)), line.context)

    def _told(self, finding: Finding) -> None:
        try:
            self.tell(finding)
        except Exception as error:  # noqa: BLE001 - a warning made an error breaks no call
            _LOGGER.warning("%s [%s]", sentence(finding), type(error).__name__)


def _calls(line: Line, number: int) -> list[Call]:
    value: Any = decoded(line.data, "the record")
    record = Record(_FILE, number, value, b"", len(line.data))
    return [
        replace(call, place=Place(_FILE, number)) for call in RECORDED.reader(Shared()).read(record)
    ]


def _book(options: Options) -> Book:
    if not options.overrides:
        return shipped_book()
    try:
        return load_book(overrides=(options.overrides,))
    except UsageError as error:
        raise UsageError(f"overrides of options: {error}") from error


def _after_fork(live: Live | None) -> None:
    if live is not None:
        live._begin()  # noqa: SLF001  # a hook of its own
        live._lost_before = live.recorder.tally.lost  # noqa: SLF001
