"""Caches that need no mark, and those that the caller makes: what they are expected to read.

```
units             any boundary        read = as far as some request before agrees, in whole units
persisted units   where prompts part  read = the longest unit that was stored whole
objects           one boundary        made when it is not there; every request reads all of it
```
"""

from collections.abc import Sequence

from stemcache.prompt.marks.ground import Ground
from stemcache.prompt.marks.terms import Terms
from stemcache.provider.cache.cut import counted
from stemcache.provider.rule import Rule

__all__ = ["best_object", "expected_object", "expected_read"]


def expected_read(rule: Rule, ground: Ground, terms: Terms) -> float:
    """Tokens read by themselves, by units or by whole stored units. Linear in boundaries.

    Chances are nested: a prefix is the one that is read with the chance that it is there, less the
    chance that a longer one is. The last token of a prompt is never read.
    """
    places = [
        at
        for at in range(1, ground.last + 1)
        if rule.kind == "units" or at == ground.last or _parts(ground, at)
    ]
    chances = [0.0]
    best = 0.0
    for at in reversed(places):
        best = max(best, _chance(ground, terms, at))
        chances.append(best)
    longer = 0.0
    read = 0.0
    for at, chance in zip(reversed(places), chances[1:], strict=True):
        tokens = ground.tokens[at]
        if rule.kind == "units":
            tokens = min(tokens, ground.tokens[-1] - 1)
        read += (chance - longer) * counted(rule, tokens)
        longer = chance
    return read


def expected_object(ground: Ground, terms: Terms, boundary: int) -> tuple[float, float]:
    """What a prompt costs with an object up to a boundary, and the tokens written for it."""
    chance = _chance(ground, terms, boundary)
    tokens = ground.tokens[boundary]
    written = (1 - chance) * tokens
    rest = ground.tokens[-1] - tokens
    write = terms.lifetimes[terms.usual].write
    return tokens * terms.read + written * write + rest * terms.input, written


def best_object(ground: Ground, terms: Terms) -> int | None:
    """The boundary that an object should end at; None where none costs less than no object."""
    places: Sequence[int] = [at for at in range(1, ground.last + 1) if ground.allowed[at]]
    plain = ground.tokens[-1] * terms.input
    best = min(places, key=lambda at: expected_object(ground, terms, at)[0], default=None)
    if best is None or expected_object(ground, terms, best)[0] >= plain:
        return None
    return best


def _chance(ground: Ground, terms: Terms, at: int) -> float:
    """That a prefix which ends here is there: held, or left by somebody."""
    here = max((one.alive for one in ground.found if one.boundary == at), default=0.0)
    if ground.known and at > ground.shared:
        return here
    return max(here, ground.alive[terms.usual][at])


def _parts(ground: Ground, at: int) -> bool:
    """Whether prompts part here, or an entry ends here."""
    if any(one.boundary == at for one in ground.found):
        return True
    return any(chances[at] != chances[at + 1] for chances in ground.alive)
