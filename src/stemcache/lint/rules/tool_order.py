"""What it finds: see the summary below."""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM201",
    name="tool-order",
    kind="tool-order",
    summary="The same tools in another order.",
    help=(
        "Sort tools by name every time the list is built, also after a server reconnects; never"
        " send them in the order of a hash map or of who answered first."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims tools that are all there, but not where they were."""
    if change.section is not Section.TOOLS or change.kind is not ChangeKind.REORDERED:
        return None
    count = sum(span.section is Section.TOOLS for span in pair.child.spans)
    message = f"{len(change.after)} of {count} tools stand in another order"
    return content_cause(RULE, change, message, "", old="order", new="another order")
