"""Markers as clients write them on a block, a message or a tool."""

from collections.abc import Mapping
from typing import Any

from stemcache.trace.spans.span import Marker

__all__ = ["breakpoint_of", "marker_of"]


def marker_of(node: Mapping[str, Any], pointer: str) -> Marker | None:
    """What `cache_control` of the node at `pointer` says; None where it is absent or null."""
    control = node.get("cache_control")
    if not isinstance(control, dict):
        return None
    ttl = control.get("ttl")
    return Marker(f"{pointer}/cache_control", ttl if isinstance(ttl, str) else None)


def breakpoint_of(node: Mapping[str, Any], pointer: str, ttl: str | None) -> Marker | None:
    """What `prompt_cache_breakpoint` says, else `cache_control`.

    `ttl` is the request's, which a breakpoint without its own takes over.
    """
    if "prompt_cache_breakpoint" in node:
        point = node["prompt_cache_breakpoint"]
        if isinstance(point, dict):
            own = point.get("ttl")
            return Marker(
                f"{pointer}/prompt_cache_breakpoint", own if isinstance(own, str) else ttl
            )
    return marker_of(node, pointer) if "cache_control" in node else None
