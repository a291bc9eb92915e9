"""Whether two texts are versions of one: a cheap guess, used to pair spans up."""

from stemcache.trace.divergence.hunks import common_prefix, common_suffix

__all__ = ["alike"]

_SAMPLE_CHARS = 2**14
_SHARE = 0.5


def alike(one: str, other: str) -> bool:
    """Whether half of the shorter one is in the other: as equal ends, or by its words.

    Words are those of the first 16,384 characters. Two texts of which one is empty are not alike.
    """
    shorter = min(len(one), len(other))
    if not shorter:
        return False
    front = common_prefix(one, other)
    if front >= _SHARE * shorter:
        return True
    if front + common_suffix(one, other, shorter - front) >= _SHARE * shorter:
        return True
    mine, theirs = set(one[:_SAMPLE_CHARS].split()), set(other[:_SAMPLE_CHARS].split())
    return len(mine & theirs) > _SHARE * max(len(mine), len(theirs), 3)
