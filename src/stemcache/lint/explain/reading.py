"""What the second request should have read, what it did, and what stands between."""

from stemcache.lint.cause import Cause
from stemcache.lint.explain.compared import outcome_of
from stemcache.lint.explain.explanation import Reading, Reason
from stemcache.lint.helped import helped
from stemcache.lint.judge import Case
from stemcache.lint.judged import Judged, did_nothing
from stemcache.lint.ladder import Ladder
from stemcache.lint.log import Row
from stemcache.lint.reading import reading_of, timing_words
from stemcache.lint.say import timing_cause
from stemcache.lint.timing import Label

__all__ = ["read_by"]


def read_by(old: Judged, new: Judged, case: Case, ladder: Ladder, row: Row | None) -> Reading:
    """By all that a log holds where its `row` is given, else by the two requests alone."""
    outcome = outcome_of(old, new)
    if row is not None:
        should, parts = row.predicted_tokens, row.parts
    else:
        dropped = did_nothing(old) and did_nothing(new)
        answer_tokens = old.usage.output_tokens or 0
        found = reading_of(new, outcome, ladder, dropped=dropped, answer_tokens=answer_tokens)
        should, parts = found.should_tokens, found.parts
    aligned = case.divergence.aligned
    last = max((i for i, parent in enumerate(aligned) if parent >= 0), default=-1)
    blocks = len(aligned) - 1 - last
    ends = new.shape.positions
    appended = new.shape.tokens - (ends[last].end_tokens if last >= 0 else 0)
    words = timing_words(outcome, new.rule)
    causes = _row_causes(row)
    return Reading(
        predicted_tokens=should,
        reported_tokens=new.usage.read_tokens,
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
