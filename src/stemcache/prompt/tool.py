"""The definition of a tool, whichever API it is rendered for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.given import check_type, chosen
from stemcache.prompt.segment import families
from stemcache.prompt.sendable import check_text
from stemcache.prompt.stability import Stability

__all__ = ["Tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Rendered with its keys in one fixed order, in the order of stability and then of names."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON Schema of its arguments."""
    stability: Stability = Stability.STATIC
    """STATIC, REFERENCE or SESSION: tools stand before everything else."""
    allow: frozenset[str] = frozenset()
    """Families of volatile text that are meant to be in it, as in `Segment`."""

    def __post_init__(self) -> None:
        check_type(self.name, str, "the name of a tool", "give a str")
        owner = f"tool {self.name[:80]!r}"
        if not self.name:
            raise UsageError("a tool has no name; give one that says what it does")
        check_text(self.name, "the name of a tool")
        check_type(self.description, str, f"the description of {owner}", "give a str, '' for none")
        check_text(self.description, f"the description of {owner}")
        check_type(
            self.schema,
            Mapping,
            f"the schema of {owner}",
            "give the JSON Schema of its arguments, a dictionary",
        )
        chosen(self.stability, Stability, "stability", owner)
        object.__setattr__(self, "allow", families(self.allow, owner))
