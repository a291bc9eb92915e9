"""Calls judged one by one as they end, each against those before it; what is worth it is told once.

```
call ─► Analysis ─► occurrences ─► how their causes stand ─► told, once a cause and family
            └─────► row: parent ──► family of the call ──────────┘
```
Told is what lint would warn of if the log ended here: an error of the API, or a cause that took
more than `warning_share` of all input so far, and 1,024 tokens. Notes are left to the summary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from stemcache.integrations.live_family import Families
from stemcache.lint.analyse import Analysis
from stemcache.lint.collect import Occurrence
from stemcache.lint.finding import Finding, Report, Severity
from stemcache.lint.judged import light
from stemcache.lint.log import Row
from stemcache.lint.losses import with_lost_cost
from stemcache.lint.options import Options
from stemcache.lint.room import RUNNING, Room
from stemcache.lint.select import selected, wanted
from stemcache.provider.book import Book
from stemcache.trace.calls.call import Call

__all__ = ["Judgement", "LiveLint"]

MOST_TOLD: Final = 100
"""Warnings of one program, after which nobody reads on."""
_LEAST_TOKENS: Final = 1_024
"""Lost to a cause so far: of a program's first calls a few are a large share, and still nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What lint says of one call."""

    call: Call
    """Without its body."""
    predicted_tokens: int | None
    """What should have been read by the provider's rule; None for what was not judged."""
    lost_tokens: int
    """Prompt tokens that could have been read, and were not, for what stands in `codes`."""
    codes: tuple[str, ...]
    """Of all causes, in the order found, each once."""
    prefix: str | None = None
    """A digest of tools and system prompt; None for what has no body, and where nobody asks."""


class LiveLint:
    """Not for several threads at once. Memory is that of `room` and some, whatever is added."""

    def __init__(
        self,
        *,
        options: Options,
        book: Book,
        tell: Callable[[Finding], None],
        room: Room = RUNNING,
        most_told: int = MOST_TOLD,
    ) -> None:
        """`tell` is called by `add`; what it raises goes through, behind all counting."""
        self._options = options
        self._tell = tell
        self._most_told = most_told
        self._analysis = Analysis(options, book, lambda _: None, room=room)
        self._families = Families(most_calls=room.calls)
        self._occurrences: list[Occurrence] = []
        self._rows: list[Row] = []
        """Both of the call that is being added; a call has one row, or none."""
        self._analysis.on_occurrence = self._occurrences.append
        self._analysis.on_row = self._rows.append
        self._told: set[tuple[str, str]] = set()

    def add(self, call: Call) -> Judgement:
        """Judge a call. Milliseconds for a prompt of 100,000 tokens; linear in its text."""
        self._occurrences.clear()
        self._rows.clear()
        self._analysis.add(call)
        occurrences = self._occurrences
        row = next(iter(self._rows), None)
        parent = None if row is None or row.parent is None else row.parent.line
        family = self._families.add(call.place.line, call, parent)
        judgement = Judgement(
            call=light(call),
            predicted_tokens=None if row is None else row.predicted_tokens,
            lost_tokens=sum(one.lost_tokens for one in occurrences),
            codes=tuple(dict.fromkeys(one.cause.rule.code for one in occurrences)),
        )
        for one in occurrences:
            self._consider(one, family)
        return judgement

    def report(self) -> Report:
        """What the calls so far come to, findings that were not asked for left out."""
        return selected(with_lost_cost(self._analysis.so_far()), self._options)

    def _consider(self, occurrence: Occurrence, family: str) -> None:
        finding = self._analysis.standing(occurrence)
        key = (finding.fingerprint, family)
        if finding.severity is Severity.NOTE or key in self._told:
            return
        if finding.severity is Severity.WARNING and finding.lost_tokens < _LEAST_TOKENS:
            return
        if len(self._told) >= self._most_told or not self._is_wanted(finding):
            return
        self._told.add(key)
        self._tell(finding)

    def _is_wanted(self, finding: Finding) -> bool:
        return wanted(
            finding.code,
            finding.name,
            select=self._options.select,
            ignore=self._options.ignore,
            route=finding.route,
            route_ignores=self._options.route_ignores,
        )
