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
    code="STM102",
    name="injected-id",
    kind="injected-id",
    summary="An id, a nonce or a counter in front of text that is sent again.",
    help=(
        "Leave the {what} out of the prompt: send it as a header or as metadata, or strip the line"
        " at the gateway. Where the model needs it, put it at the end of the newest user message."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims what differs in nothing but ids, nonces and counters."""
    del pair
    near = around(change)
    told = classify(change.old, change.new, before=near.before, line=near.line)
    if told is None or told.family is not Family.ID:
        return None
    return content_cause(
        RULE,
        change,
        f"{_article(told.name)} {told.name} differs {where(change)}",
        told.name,
        old=told.old,
        new=told.new,
        fields=(("what", told.name), ("where", where(change))),
    )


def _article(name: str) -> str:
    return "an" if name[0] in "aei" else "a"
