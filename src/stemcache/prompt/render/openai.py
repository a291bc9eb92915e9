"""What OpenAI's two APIs have in common: breakpoints, and the options that go with them."""

from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placed, Placement

__all__ = ["breakpoint_of", "with_cache_options"]

_OPTIONS = "prompt_cache_options"


def breakpoint_of(mark: Placed | None) -> dict[str, Any]:
    """The member that a content part gets for a mark; none for no mark."""
    if mark is None:
        return {}
    ttl = {} if mark.ttl is None else {"ttl": mark.ttl}
    return {"prompt_cache_breakpoint": {"mode": "explicit", **ttl}}


def with_cache_options(options: dict[str, Any], placement: Placement) -> dict[str, Any]:
    """Options that turn the API's own breakpoint off where the placement does, unless they say.

    Raises UsageError for options of the cache that are no object.
    """
    given = options.get(_OPTIONS, {})
    if not isinstance(given, dict):
        raise UsageError(f"option {_OPTIONS!r} is no object; give it mode and ttl, or leave it out")
    if placement.implicit:
        return options
    return {**options, _OPTIONS: {"mode": "explicit", **given}}
