"""What it finds: see the summary below."""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.rule import LintRule
from stemcache.lint.tool_name import tool_names
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM202",
    name="tool-set",
    kind="tool-set",
    summary="Tools were added or are missing.",
    help=(
        "Send the whole set on every turn and say in the newest message which of them to use"
        " (`tool_choice`, allowed tools); load late tools behind the shared part where the API can"
        " (deferred loading, tool search), and sort so that a server that flaps changes nothing."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims tools whose names one side does not have."""
    del pair
    if change.section is not Section.TOOLS:
        return None
    if change.kind in {ChangeKind.REORDERED, ChangeKind.KEY_ORDER, ChangeKind.EXTENDED}:
        return None
    old, new = tool_names(change.before), tool_names(change.after)
    added, missing = len(new - old), len(old - new)
    if not added and not missing:
        return None
    message = " and ".join(
        f"{count} {'tool' if count == 1 else 'tools'} {verb}"
        for count, verb in (
            (added, "was added" if added == 1 else "were added"),
            (missing, "is missing" if missing == 1 else "are missing"),
        )
        if count
    )
    return content_cause(
        RULE,
        change,
        message,
        "",
        old=f"{len(change.before)} tools" if change.before else "",
        new=f"{len(change.after)} tools" if change.after else "",
        fields=(("added", str(added)), ("missing", str(missing))),
    )
