"""What the second request should have read, what it did, and what stands between."""

from stemcache.lint.analyse import Row
from stemcache.lint.cause import Cause
from stemcache.lint.explain.explanation import Reading, Reason
from stemcache.lint.explain.judged import Judged, did_nothing, outcome_of
from stemcache.lint.explain.wording import helped
from stemcache.lint.judge import Case
from stemcache.lint.ladder import Ladder
from stemcache.lint.say import timing_cause
from stemcache.lint.timing import Evidence, Label, labelled
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.rule import Rule

__all__ = ["reading_of"]

_LEAST_TOLERANCE = 64
_TOLERANCE = 0.03
_ESTIMATE_TOLERANCE = 0.06


def reading_of(old: Judged, new: Judged, case: Case, ladder: Ladder, row: Row | None) -> Reading:
    """By all that a log holds where its `row` is given, else by the two requests alone."""
    outcome = outcome_of(old, new)
    untimely = max(outcome.expired_tokens, outcome.raced_tokens, outcome.routed_tokens)
    should = max(outcome.read_tokens + untimely, ladder.levels[0])
    reported = new.usage.read_tokens
    if row is not None:
        should, parts = row.predicted_tokens, row.parts
    else:
        read = reported if reported is not None else outcome.read_tokens if untimely else should
        share = _ESTIMATE_TOLERANCE if new.usage.prompt_tokens is None else _TOLERANCE
        parts = tuple(
            labelled(
                should - read,
                Evidence(
                    expired_tokens=outcome.expired_tokens,
                    raced_tokens=outcome.raced_tokens,
                    routed_tokens=outcome.routed_tokens,
                    dropped=did_nothing(old) and did_nothing(new),
                ),
                tolerance_tokens=max(
                    _LEAST_TOLERANCE, 2 * new.rule.unit_tokens, round(share * new.shape.tokens)
                ),
                reported=reported is not None,
            )
        )
    aligned = case.divergence.aligned
    last = max((i for i, parent in enumerate(aligned) if parent >= 0), default=-1)
    blocks = len(aligned) - 1 - last
    ends = new.shape.positions
    appended = new.shape.tokens - (ends[last].end_tokens if last >= 0 else 0)
    words = _words(outcome, new.rule)
    causes = _row_causes(row)
    return Reading(
        predicted_tokens=should,
        reported_tokens=reported,
        shared_tokens=ladder.shared_tokens,
        appended_tokens=appended if blocks else 0,
        appended_blocks=blocks,
        reasons=tuple(
            _reason(label, tokens, causes.get(label) or timing_cause(label, new.call, words))
            for label, tokens in parts
            if label != "rounding"
        ),
        whole_log=row is not None,
    )


def _reason(label: Label, tokens: int, cause: Cause) -> Reason:
    return Reason(label=label, tokens=tokens, message=cause.message, help=helped(cause))


def _row_causes(row: Row | None) -> dict[Label, Cause]:
    """Of the row's losses those to time, routes and what is left, which come first, by label."""
    if row is None:
        return {}
    labels = [label for label, _ in row.parts if label != "rounding"]
    return {label: loss.cause for label, loss in zip(labels, row.losses, strict=False)}


def _words(outcome: Outcome, rule: Rule) -> dict[str, str]:
    words = {"rule": rule.name}
    if outcome.expired_gap_s is not None:
        words["gap"] = _duration(outcome.expired_gap_s)
    if outcome.expired_ttl:
        words["ttl"] = outcome.expired_ttl
    if rule.routing_fields:
        words["routing"] = rule.routing_fields[0].removeprefix("header:").lstrip("/")
    return words


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
