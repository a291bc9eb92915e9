"""Caches that the caller makes and names.

Gemini's `CachedContent`. The object stands in front of the prompt; its end is the last position
with a mark, which whoever builds the shape sets. Without one the object's length is unknown and
nothing can be said. An answered request did read what it names: the API refuses a name that is
gone.
"""

from stemcache.provider.cache.cut import NOWHERE, Cuts
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape

__all__ = ["held", "reach"]


def held(rule: Rule, shape: Shape) -> Cuts:  # noqa: ARG001 - families are called alike
    """The end of the named object."""
    if shape.object_name is None:
        return NOWHERE
    marked = [index for index, place in enumerate(shape.positions) if place.mark is not None]
    return Cuts(everywhere=False, positions=tuple(marked[-1:]))


def reach(rule: Rule, shape: Shape) -> Cuts:
    """The end of the named object."""
    return held(rule, shape)
