"""What it finds: see the summary below."""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.place import around, where
from stemcache.lint.rule import LintRule
from stemcache.lint.text_class import classify
from stemcache.lint.volatile import Family
from stemcache.trace.divergence.change import Change

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM103",
    name="environment-snapshot",
    kind="environment",
    summary="Git status, files, host or budget, taken anew ahead of text that is sent again.",
    help=(
        "Take the {what} once a session and send the same bytes on every turn; what changes since"
        " then goes to the end of the newest user message, or behind a tool that the model calls."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims what differs in nothing but lines that picture where a program runs."""
    del pair
    near = around(change)
    told = classify(change.old, change.new, before=near.before, line=near.line)
    if told is None or told.family is not Family.ENVIRONMENT:
        return None
    article = "an" if told.name[0] in "aeiou" else "a"
    return content_cause(
        RULE,
        change,
        f"{article} {told.name} was taken anew {where(change)}",
        told.name,
        old=told.old,
        new=told.new,
        fields=(("what", told.name), ("where", where(change))),
    )
