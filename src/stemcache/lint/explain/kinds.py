"""What a cache does, in a sentence, told from its rule."""

from typing import assert_never

from stemcache.provider.rule import Rule

__all__ = ["kind_words"]


def kind_words(rule: Rule) -> str:
    """To stand behind the rule's name: `kept at markers, found by looking back over 20 blocks`."""
    match rule.kind:
        case "markers":
            back = "" if rule.look_back is None else f" over {rule.look_back} blocks"
            return f"prefixes are kept at markers and found by looking back from them{back}"
        case "breakpoints":
            return "prefixes are kept and found at ends of messages and at explicit breakpoints"
        case "units":
            unit = "" if rule.unit_tokens <= 1 else f", in units of {rule.unit_tokens} tokens"
            return f"the longest common prefix is found{unit}"
        case "persisted-units":
            return "whole stored prefixes are found, and nothing in between"
        case "objects":
            return "the cache object that the request names is read"
        case "usage-only":
            return "no rule of it is known that could be tested"
        case _:
            assert_never(rule.kind)
