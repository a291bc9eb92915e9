"""Whether two texts are versions of one: a cheap guess, used to pair spans up."""

from stemcache.trace.divergence.hunks import common_prefix, common_suffix

__all__ = ["Likeness", "alike"]

_SAMPLE_CHARS = 2**14
_SHARE = 0.5
_MOST = 4_096


class Likeness:
    """`alike` for many pairs of texts, whose words are counted once; at most 4,096 pairs.

    Those beyond are called unlike.
    """

    def __init__(self) -> None:
        self._words: dict[str, frozenset[str]] = {}
        self._asked = 0

    def __call__(self, one: str, other: str) -> bool:
        """Whether half of the shorter one is in the other."""
        self._asked += 1
        if self._asked > _MOST:
            return False
        shorter = min(len(one), len(other))
        if not shorter:
            return False
        front = common_prefix(one, other)
        if front >= _SHARE * shorter:
            return True
        if front + common_suffix(one, other, shorter - front) >= _SHARE * shorter:
            return True
        mine, theirs = self._of(one), self._of(other)
        return len(mine & theirs) > _SHARE * max(len(mine), len(theirs), 3)

    def _of(self, text: str) -> frozenset[str]:
        found = self._words.get(text)
        if found is None:
            found = self._words[text] = frozenset(text[:_SAMPLE_CHARS].split())
        return found


def alike(one: str, other: str) -> bool:
    """Whether half of the shorter one is in the other: as equal ends, or by its words.

    Words are those of the first 16,384 characters. Two texts of which one is empty are not alike.
    """
    return Likeness()(one, other)
