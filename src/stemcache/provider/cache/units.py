"""Caches that keep every prefix and are read as far as two prompts agree, in whole units.

OpenAI before 5.6, Azure, xAI, vLLM, SGLang, implicit caches. The last token of a prompt is never
read: something has to be computed for an answer to begin.
"""

from stemcache.provider.cache.cut import EVERYWHERE, Cuts
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape

__all__ = ["held", "reach"]


def held(rule: Rule, shape: Shape) -> Cuts:  # noqa: ARG001 - families are called alike
    """Everywhere."""
    return EVERYWHERE


def reach(rule: Rule, shape: Shape) -> Cuts:  # noqa: ARG001 - families are called alike
    """Everywhere."""
    return EVERYWHERE
