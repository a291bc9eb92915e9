"""What it finds: see the summary below."""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.place import around, where
from stemcache.lint.rule import LintRule
from stemcache.lint.text_class import TextClass, classify
from stemcache.lint.volatile import Family
from stemcache.trace.divergence.change import Change

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM101",
    name="clock-in-prefix",
    kind="clock",
    summary="A time, a date or an age in front of text that is sent again.",
    help=(
        "Move the {what} to the end of the newest user message, behind the last cache marker, and"
        " keep it there when the message is replayed; or set it once a session and drop what is"
        " finer than a day. Everything {where} ahead of it has to stay byte for byte the same."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims what differs in nothing but clocks."""
    del pair
    near = around(change)
    told = classify(change.old, change.new, before=near.before, line=near.line)
    if told is None or told.family is not Family.CLOCK:
        return None
    return content_cause(
        RULE,
        change,
        f"{_phrase(told)} differs {where(change)}",
        told.name,
        old=told.old,
        new=told.new,
        fields=(("what", told.name), ("where", where(change))),
    )


def _phrase(told: TextClass) -> str:
    article = "an" if told.name[0] in "aeiouIU" and not told.name.startswith("Un") else "a"
    fine = f" with {told.detail}" if told.detail and not told.name.startswith("Unix time") else ""
    return f"{article} {told.name}{fine}"
