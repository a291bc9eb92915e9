"""Caches of whole stored units: nothing of a unit is read unless all of it matches.

```
1   A B      unit AB
2   A C      AB does not match: a miss. That both begin with A is noticed: unit A, unit AC
3   A D      A matches: a hit
```
DeepSeek. Units end at the end of the input, at the end of the answer where its length is known,
and where prompts were found to part. Units at fixed intervals are said to exist, of a length that
is not published: they are left out, so that more may be read than this predicts.
"""

from stemcache.provider.cache.cut import EVERYWHERE, NOWHERE, Cuts
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape

__all__ = ["held", "reach"]


def held(rule: Rule, shape: Shape) -> Cuts:  # noqa: ARG001 - families are called alike
    """The end of the prompt. What prompts have in common is known to the simulator only."""
    if not shape.positions:
        return NOWHERE
    return Cuts(everywhere=False, positions=(len(shape.positions) - 1,))


def reach(rule: Rule, shape: Shape) -> Cuts:  # noqa: ARG001 - families are called alike
    """Wherever a unit ends."""
    return EVERYWHERE
