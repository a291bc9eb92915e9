"""The words that the page uses, each with its one meaning."""

from collections.abc import Mapping
from typing import Any

__all__ = ["glossary"]

_ALWAYS: Mapping[str, str] = {
    "block": "so many consecutive tokens of a prompt; equal blocks stand behind equal prefixes",
    "cached": "prompt tokens found in the cache, and so not computed; counted once a request",
    "computed": "prompt tokens that are not cached: prompt = cached + computed",
    "hit rate": "cached tokens over prompt tokens, summed over all requests",
    "block hit rate": "the same over blocks",
    "miss ratio": "computed tokens over prompt tokens: what the hit rate leaves",
    "ideal": "the hit rate of a cache without a bound that starts empty; no cache finds more",
    "of ideal": "what a cache finds over what the ideal finds; also called efficiency",
    "capacity": "how many blocks a cache can hold at once",
    "lru": "the policy that gives up first what was used longest ago",
    "reuse distance": (
        "how many different blocks were used from one use of a block to its next, itself "
        "included: the capacity from which LRU still has it"
    ),
    "reuse time": "how long ago a block was used when it was used again",
    "stem": "blocks that several prompts have in common, up to where they part",
}

_OPTIMUM: Mapping[str, str] = {
    "optimum": (
        "the hit rate of the best policy at a capacity that admits every request; it knows the "
        "future (min)"
    ),
    "below optimum": "the optimum's block hit rate less a cache's own; also called regret",
    "computed / optimum": "tokens that a cache computes over those that the optimum computes",
}

_BYPASS: Mapping[str, str] = {
    "min-bypass": "the optimum when requests may also go by without being kept",
}

_TIMED: Mapping[str, str] = {
    "time to live": "how long a block stays cached after its last use",
}

_FROM_WRITE: Mapping[str, str] = {
    "time to live": "how long a block stays cached after it was computed",
}

_KEPT: Mapping[str, str] = {
    "keep-alive": "requests sent only so that a prompt's time to live starts anew",
}

_TIERS: Mapping[str, str] = {
    "second tier": "a slower, larger memory that takes what the first one gives up",
}

_TENANTS: Mapping[str, str] = {
    "tenant": "who sent a request, as the trace names it",
}


def glossary(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Words and meanings, in order of the alphabet."""
    rows = answer["results"]
    words = dict(_ALWAYS)
    policies = {row["policy"] for row in rows}
    if "min" in policies:
        words |= _OPTIMUM
    if "min-bypass" in policies:
        words |= _BYPASS
    if any(row["ttl_s"] is not None for row in rows):
        words |= _FROM_WRITE if any(row.get("refresh") is False for row in rows) else _TIMED
    if any("keep_alive" in row for row in rows):
        words |= _KEPT
    if any("second_tier" in row for row in rows):
        words |= _TIERS
    if answer["ideal"]["tenants"]:
        words |= _TENANTS
    if answer["unit"] != "tokens":
        words = {word: text.replace("tokens", answer["unit"]) for word, text in words.items()}
    return sorted(words.items())
