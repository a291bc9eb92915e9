"""How soon a prefix will be asked for again: what marks and pings are worth is told by it.

```
boundary        1 … 3 (static)   4 (reference)   5 (session)   7 (end of history)
who shares it   everybody        many            this user     the next turn
alive(b, ttl)   .999             .98             .8            .8        never rises with b
```
"""

from typing import Protocol

__all__ = ["Forecast"]


class Forecast(Protocol):
    """**Protocol**: of one layout, by boundary (`piece`)."""

    def alive(self, boundary: int, ttl_s: float) -> float:
        """The probability that a request which shares all before `boundary` finds it there.

        That is, that another such request came within `ttl_s` before it. Between 0 and 1; falls
        with `boundary` or stays, and rises with `ttl_s` or stays.
        """
        ...
