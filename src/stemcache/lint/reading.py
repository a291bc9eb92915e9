"""What a request should have read, what it did, and which labels the difference has."""

from dataclasses import dataclass

from stemcache.lint.judged import Judged
from stemcache.lint.ladder import Ladder
from stemcache.lint.timing import Evidence, Label, labelled
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.rule import Rule

__all__ = ["Reading", "reading_of", "timing_words"]

_LEAST_TOLERANCE = 64
_TOLERANCE = 0.03
_ESTIMATE_TOLERANCE = 0.06


@dataclass(frozen=True, slots=True)
class Reading:
    """Of one request, in tokens."""

    should_tokens: int
    """What the rule says is there, time and routing left aside."""
    read_tokens: int
    """Reported, else predicted."""
    parts: tuple[tuple[Label, int], ...]
    """How what should have been read and was not divides."""
    unseen: bool
    """Whether more was read than the log explains."""


def reading_of(
    one: Judged,
    outcome: Outcome,
    ladder: Ladder | None,
    *,
    dropped: bool,
    answer_tokens: int = 0,
) -> Reading:
    """`ladder` is of the comparison with the parent, None where there is none.

    `dropped` says that markers had no effect on the parent, nor on this request; `answer_tokens`
    is the length of the parent's answer.
    """
    untimely = max(outcome.expired_tokens, outcome.raced_tokens, outcome.routed_tokens)
    should = outcome.read_tokens + untimely
    if ladder is not None:
        should = max(should, ladder.levels[0])
    reported = one.usage.read_tokens
    read = reported
    if read is None:
        read = outcome.read_tokens if untimely else should
    # An answer may be sent back otherwise than it was given: by whom nothing is promised of it.
    tolerance = _tolerance_tokens(one) + (answer_tokens if one.rule.keeps_answer else 0)
    promised = any(ttl.low_s > 0 for ttl in one.rule.ttls)
    doubtful = outcome.doubtful_tokens if promised else 0
    evidence = Evidence(
        expired_tokens=max(outcome.expired_tokens, doubtful),
        raced_tokens=outcome.raced_tokens,
        routed_tokens=outcome.routed_tokens,
        dropped=dropped,
    )
    parts = labelled(
        should - read, evidence, tolerance_tokens=tolerance, reported=reported is not None
    )
    return Reading(
        should_tokens=should,
        read_tokens=read,
        parts=tuple(parts),
        unseen=reported is not None and reported > should + tolerance,
    )


def _tolerance_tokens(one: Judged) -> int:
    share = _ESTIMATE_TOLERANCE if one.usage.prompt_tokens is None else _TOLERANCE
    return max(_LEAST_TOLERANCE, 2 * one.rule.unit_tokens, round(share * one.shape.tokens))


def timing_words(outcome: Outcome, rule: Rule) -> dict[str, str]:
    """What messages on time and routing quote."""
    words: dict[str, str] = {"rule": rule.name}
    gap_s = outcome.read_gap_s if outcome.expired_gap_s is None else outcome.expired_gap_s
    if gap_s is not None:
        words["gap"] = _duration(gap_s)
    if outcome.expired_ttl:
        words["ttl"] = outcome.expired_ttl
    elif outcome.doubtful_tokens and rule.ttls:
        words["ttl"] = f"at least {_duration(rule.ttls[0].low_s)}"
    if rule.routing_fields:
        words["routing"] = rule.routing_fields[0].removeprefix("header:").lstrip("/")
    return words


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
