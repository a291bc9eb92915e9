"""What a rule says of one change: the cause, masked, and how occurrences of it are told alike."""

from dataclasses import dataclass

from stemcache.lint.rule import LintRule
from stemcache.trace.calls.call import Call
from stemcache.trace.divergence.change import Divergence
from stemcache.trace.spans.span import Prompt

__all__ = ["Cause", "Pair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A request and its parent, compared."""

    child: Prompt
    parent: Prompt
    divergence: Divergence
    child_call: Call
    parent_call: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why tokens were lost at one place."""

    rule: LintRule
    kind: str
    """The rule's kind, or with a part behind it: `parameter:tool_choice`."""
    message: str
    """One narrow line without prompt text: `a time with seconds stands at character 31`."""
    pointer: str
    char: int | None = None
    old: str = ""
    """Class and shape of what the parent has: `ISO time, 20 chars`."""
    new: str = ""
    group: str = ""
    """Equal for occurrences of one cause: the place with numbers of messages and tools left out,
    and the class."""
    fields: tuple[tuple[str, str], ...] = ()
    """What the rule's help needs: name and value."""
    old_text: str = ""
    """For --show-text only."""
    new_text: str = ""
