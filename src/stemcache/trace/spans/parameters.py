"""What of a body is no span: parameters, by JSON pointers of one and two levels."""

from collections.abc import Mapping
from typing import Any

from stemcache.trace.spans.structure import escaped

__all__ = ["parameters_of"]

_MOST_MEMBERS = 1_000


def parameters_of(body: Mapping[str, Any], taken: frozenset[str]) -> dict[str, object]:
    """A new mapping; values are the body's own. Linear in the number of members.

    An object of more than 1,000 members is given as a whole only.
    """
    found: dict[str, object] = {}
    for key, value in body.items():
        if key in taken:
            continue
        pointer = f"/{escaped(key)}"
        found[pointer] = value
        if isinstance(value, dict) and len(value) <= _MOST_MEMBERS:
            for member, inner in value.items():
                found[f"{pointer}/{escaped(member)}"] = inner
    return found
