"""What it finds: see the summary below."""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.json_order import same_but_order, span_json
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change, ChangeKind
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM204",
    name="key-order",
    kind="key-order",
    summary="The same values with keys, or a list of required names, in another order.",
    help=(
        "Build schemas and structured content with ordered maps, or sort keys (and `required`) once"
        " where they are serialised; leave `enum` as it is. Go maps, Swift dictionaries and Rust's"
        " HashMap give another order each time."
    ),
    page=__doc__ or "",
    needs_key_order=True,
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims what is equal once order inside of JSON objects is left out."""
    del pair
    spans = change.before + change.after
    if any(span.kind is SpanKind.TOOL_USE for span in spans):
        return None
    if change.kind is ChangeKind.KEY_ORDER:
        what = "keys"
    elif (
        change.kind is ChangeKind.EDITED
        and len(change.before) == 1 == len(change.after)
        and same_but_order(span_json(change.before[0]), span_json(change.after[0]))
    ):
        what = "required names" if change.section is Section.TOOLS else "keys"
    else:
        return None
    message = f"the same {what} stand in another order {where(change)}"
    return content_cause(RULE, change, message, what, old="keys", new="keys in another order")
