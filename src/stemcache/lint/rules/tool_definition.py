"""What it finds: see the summary below."""

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.content_cause import content_cause
from stemcache.lint.rule import LintRule
from stemcache.trace.divergence.change import Change
from stemcache.wire.section import Section

__all__ = ["RULE", "explains"]

RULE = LintRule(
    code="STM203",
    name="tool-definition",
    kind="tool-changed",
    summary="A tool's description or schema differs.",
    help=(
        "Keep descriptions and schemas constant for a session; what a tool has to know of the"
        " moment (paths, lists of values, dates, who is signed in) goes to the newest user message"
        " or into the tool's result."
    ),
    page=__doc__ or "",
)


def explains(change: Change, pair: Pair) -> Cause | None:
    """Claims whatever is left of the tools."""
    del pair
    if change.section is not Section.TOOLS:
        return None
    end = change.pointer.rsplit("/", 1)[-1]
    part = "description" if end == "description" else "schema" if _in_schema(change) else ""
    message = f"a tool's {part} differs" if part else "a tool's definition differs"
    return content_cause(RULE, change, message, part)


def _in_schema(change: Change) -> bool:
    parts = change.pointer.split("/")
    return any(name in parts for name in ("input_schema", "parameters", "inputSchema", "schema"))
