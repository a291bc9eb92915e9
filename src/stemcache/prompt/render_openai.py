"""What OpenAI's two APIs have in common: breakpoints, and the options that go with them."""

from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.placement import Placed

__all__ = ["breakpoint_of", "with_cache_options"]

_OPTIONS = "prompt_cache_options"


def breakpoint_of(mark: Placed | None) -> dict[str, Any]:
    """The member that a content part gets for a mark; none for no mark."""
    if mark is None:
        return {}
    ttl = {} if mark.ttl is None else {"ttl": mark.ttl}
    return {"prompt_cache_breakpoint": {"mode": "explicit", **ttl}}


def with_cache_options(options: dict[str, Any], *, marked: bool) -> dict[str, Any]:
    """Options where explicit breakpoints are the only ones, unless they say otherwise.

    Else the API writes one of its own at the latest message, which is paid for and, behind a turn
    segment, never read. Who asks a model of this kind without a mark passes the mode themselves:
    to change it loses the cache. Raises UsageError for options that are no object.
    """
    if not marked:
        return options
    given = options.get(_OPTIONS, {})
    if not isinstance(given, dict):
        raise UsageError(f"option {_OPTIONS!r} is no object; give it mode and ttl, or leave it out")
    return {**options, _OPTIONS: {"mode": "explicit", **given}}
