"""The definition of a tool, whichever API it is rendered for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
