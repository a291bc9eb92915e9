"""Occurrences of causes to findings: one a cause, counted, with its three costliest places."""

from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import heappush, heappushpop
from itertools import count

from stemcache.lint.cause import Cause
from stemcache.lint.finding import Example, Finding, Location, Severity
from stemcache.lint.helped import helped
from stemcache.lint.pointers import without_keys
from stemcache.lint.rules import edited_prompt
from stemcache.lint.rules.varying_context import alternating_cause
from stemcache.trace.calls.call import Call, Place

__all__ = ["Collector", "Found", "Occurrence"]

_EXAMPLES = 3
_TRIFLE_SHARE = 0.001
"""A cause of less than that of the spend is not worth a reader's time."""
_MOST_TEXTS = 8
_ALTERNATE = 3
"""So many different texts at one place are no release of a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One cause in one call."""

    cause: Cause
    call: Call
    parent: Place | None
    lost_tokens: int
    cost_usd: float | None
    rule: str | None
    """Name of the provider's rule."""
    times: int = 1
    """How many requests it stands for."""
    needs: tuple[str, ...] = ()
    """Codes of the causes that have to be mended as well."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is worth saying, and how much is not."""

    findings: tuple[Finding, ...]
    trifles: int
    """Causes left out, each of less than a thousandth of the spend."""
    trifling_tokens: int
    """Lost to all of them."""


class _Group:
    __slots__ = (
        "best",
        "cost_usd",
        "count",
        "last",
        "lost_tokens",
        "needs",
        "texts",
        "unpriced",
    )

    def __init__(self) -> None:
        self.count = 0
        self.lost_tokens = 0
        self.cost_usd = 0.0
        self.unpriced = False
        self.last: Place | None = None
        """Where it was found last: a request in which it is twice counts once."""
        self.needs: set[str] = set()
        self.texts: set[int] = set()
        """Digests of the first few different texts that were found there."""
        self.best: list[tuple[float, int, Occurrence]] = []


class Collector:
    """Holds a few occurrences a cause, however long the log.

    Causes beyond `most_causes` places are put together by their rule: nobody reads that far.
    """

    def __init__(self, *, most_causes: int = 20_000) -> None:
        self._most_causes = most_causes
        self._groups: dict[tuple[str, ...], _Group] = {}
        self._numbers = count()

    def add(self, occurrence: Occurrence) -> None:
        """Count one occurrence. O(1)."""
        cause = occurrence.cause
        key = self._key(occurrence)
        group = self._groups.setdefault(key, _Group())
        if occurrence.call.place != group.last:
            group.count += occurrence.times
        group.last = occurrence.call.place
        group.needs.update(occurrence.needs)
        if len(group.texts) < _MOST_TEXTS:
            group.texts.add(hash(cause.new_text))
        group.lost_tokens += occurrence.lost_tokens
        if occurrence.cost_usd is None:
            group.unpriced = True
        else:
            group.cost_usd += occurrence.cost_usd
        # Of equal ones the first in the log is kept.
        entry = (float(occurrence.lost_tokens), -next(self._numbers), occurrence)
        if len(group.best) < _EXAMPLES:
            heappush(group.best, entry)
        else:
            heappushpop(group.best, entry)

    def standing(
        self,
        occurrence: Occurrence,
        *,
        input_cost_usd: float | None,
        prompt_tokens: int,
        warning_share: float,
    ) -> Finding:
        """What is found so far of the cause of an occurrence that was added. O(1)."""
        key = self._key(occurrence)
        return _finding(key, self._groups[key], input_cost_usd, prompt_tokens, warning_share)

    def _key(self, occurrence: Occurrence) -> tuple[str, ...]:
        cause = occurrence.cause
        route = occurrence.call.route or ""
        key = (cause.rule.code, cause.kind, occurrence.rule or "", route, cause.group)
        if key in self._groups or len(self._groups) < self._most_causes:
            return key
        return (cause.rule.code, cause.kind, occurrence.rule or "", "", "")

    def findings(
        self, *, input_cost_usd: float | None, prompt_tokens: int, warning_share: float
    ) -> Found:
        """Errors first, then by cost, then by tokens; trifles apart."""
        found = [
            _finding(key, group, input_cost_usd, prompt_tokens, warning_share)
            for key, group in self._groups.items()
        ]
        ranks = {severity: rank for rank, severity in enumerate(Severity)}
        found.sort(
            key=lambda finding: (
                ranks[finding.severity],
                -(finding.cost_usd or 0.0),
                -finding.lost_tokens,
                finding.code,
                finding.location.line,
            )
        )
        trifles = [finding for finding in found if _is_trifle(finding)]
        return Found(
            findings=tuple(finding for finding in found if not _is_trifle(finding)),
            trifles=len(trifles),
            trifling_tokens=sum(finding.lost_tokens for finding in trifles),
        )


def _is_trifle(finding: Finding) -> bool:
    return (
        finding.severity is Severity.NOTE
        and finding.lost_tokens > 0
        and finding.share is not None
        and finding.share < _TRIFLE_SHARE
    )


def _finding(
    key: tuple[str, ...],
    group: _Group,
    input_cost_usd: float | None,
    prompt_tokens: int,
    warning_share: float,
) -> Finding:
    best = [entry[2] for entry in sorted(group.best, key=lambda entry: entry[:2], reverse=True)]
    if len(group.texts) >= _ALTERNATE and best[0].cause.kind == edited_prompt.RULE.kind:
        # A release changes a prompt once: what comes and goes is of a user or a request.
        best = [replace(each, cause=alternating_cause(each.cause)) for each in best]
    first = best[0]
    cause = first.cause
    cost_usd = None if group.unpriced and not group.cost_usd else group.cost_usd
    share = group.lost_tokens / prompt_tokens if prompt_tokens else None
    if cost_usd is not None and input_cost_usd:
        of_spend = cost_usd / input_cost_usd
        # What has no price in part is worth no less than the tokens that were lost to it.
        share = max(of_spend, share or 0.0) if group.unpriced else of_spend
    return Finding(
        code=cause.rule.code,
        name=cause.rule.name,
        kind=cause.kind,
        severity=_severity(cause, share, warning_share),
        message=cause.message,
        location=_location(first.call.place, cause.pointer, cause.char),
        count=group.count,
        lost_tokens=group.lost_tokens,
        cost_usd=cost_usd,
        help=helped(cause),
        examples=tuple(map(_example, best)),
        route=first.call.route,
        rule=first.rule,
        needs=tuple(sorted(group.needs - {cause.rule.code})),
        share=share,
        fingerprint=blake2b("\0".join(key).encode(errors="replace"), digest_size=8).hexdigest(),
    )


def _severity(cause: Cause, share: float | None, warning_share: float) -> Severity:
    if cause.rule.worst is not Severity.WARNING:
        return cause.rule.worst
    return Severity.WARNING if share is not None and share >= warning_share else Severity.NOTE


def _location(place: Place, pointer: str = "", char: int | None = None) -> Location:
    shown = without_keys(pointer)
    return Location(place.file, place.line, shown, char if shown == pointer else None)


def _example(occurrence: Occurrence) -> Example:
    cause = occurrence.cause
    return Example(
        location=_location(occurrence.call.place, cause.pointer, cause.char),
        parent=None if occurrence.parent is None else _location(occurrence.parent),
        lost_tokens=occurrence.lost_tokens,
        cost_usd=occurrence.cost_usd,
        old=cause.old,
        new=cause.new,
        old_text=cause.old_text,
        new_text=cause.new_text,
    )
