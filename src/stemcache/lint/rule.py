"""What a rule is: a code, a name, and the page that its docstring is.

Each file of `rules/` holds one `RULE`. Its docstring has the sections *What it finds*, *Why it
costs*, *Example*, *Use instead*, *Limits* and *References*; `stemcache rule STM101`, the page in
`docs/rules/` and SARIF's help are made from it.
"""

from dataclasses import dataclass

from stemcache.lint.finding import Severity

__all__ = ["LintRule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRule:
    """A rule's head. What it looks for is the module's business."""

    code: str
    name: str
    kind: str
    """The word of findings; a rule may go on behind a colon: `parameter:tool_choice`."""
    summary: str
    """What it finds, on one line."""
    help: str
    """What to change, in a sentence or two; may have fields in braces that the finding fills."""
    page: str
    """The module's docstring."""
    worst: Severity = Severity.WARNING
    """ERROR where the API refuses; NOTE for what never costs by itself."""
    needs_bodies: bool = True
    """Whether it has to see texts; usage alone is enough otherwise."""
    needs_usage: bool = False
    needs_times: bool = False
    needs_key_order: bool = False
    """Whether it stays silent where a log's keys are not in the order that was sent."""
    needs_parameters: bool = False
    """Whether it stays silent where parameters and markers may be missing from the log."""
