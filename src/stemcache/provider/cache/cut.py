"""Where a prompt is cut: the word that all families of caches share.

```
tokens      0      900   1,400        2,300   2,350
            ├───────┼──────┼────────────┼───────┤
position        0      1         2          3          Cuts(positions=(1, 3)): kept or found there
                ▲ below the minimum: never kept        Cuts(everywhere=True): anywhere, in units
```
"""

from dataclasses import dataclass

from stemcache.provider.rule import Rule

__all__ = ["EVERYWHERE", "NOWHERE", "Cuts", "counted"]


@dataclass(frozen=True, slots=True)
class Cuts:
    """A set of places. With `everywhere`, `positions` says nothing more."""

    everywhere: bool
    positions: tuple[int, ...]
    """Indices into a shape's positions, ascending, none twice."""


NOWHERE = Cuts(everywhere=False, positions=())
EVERYWHERE = Cuts(everywhere=True, positions=())


def counted(rule: Rule, tokens: int) -> int:
    """What counts as read of so many tokens: none below the minimum, and whole units only."""
    if tokens < rule.minimum_tokens.likely:
        return 0
    unit = max(rule.unit_tokens, 1)
    return tokens - tokens % unit
