"""A target that says where its vocabulary ends, and the token ids that fit it. Pure."""

import re

__all__ = ["with_token_range"]

_END = re.compile(r"vocabulary ends at (\d{1,9})")
_LOW, _HIGH = 1000, 30_000
"""The default range; ids below are often special, where there are many."""


def with_token_range(message: str) -> str:
    """The message, with a `--token-range` that works if it says where the vocabulary ends.

    The last id is left out: it often means the end of an answer.
    """
    found = _END.search(message)
    if found is None or int(found[1]) < 2:
        return message
    high = min(int(found[1]) - 1, _HIGH)
    low = _LOW if high >= 2 * _LOW else 0
    return f"{message}; for instance --token-range {low}-{high}"
