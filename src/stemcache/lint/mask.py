"""Volatile pieces of a text, and what may be shown of a text: its class and its length.

```
Now: 2026-11-30T05:14:01Z, run 7f3a9c1e            text
Now: ─────── 0 ──────────, run ── 1 ───            tokens: ISO time, hex digest
```
Invariant: tokens do not overlap and stand in order. Finding them costs time in the length of the
text, which is bounded by those who call.
"""

import re

from stemcache.lint.clock_text import CLOCKS
from stemcache.lint.environment_text import BUDGETS
from stemcache.lint.id_text import IDS
from stemcache.lint.volatile import Detector, Token

__all__ = ["shape", "tokens"]

_DETECTORS: tuple[Detector, ...] = (*IDS[:6], *CLOCKS, *IDS[6:], *BUDGETS)
"""Ids whose form is unmistakable come before clocks, since digits inside them look like any."""
_ANY = re.compile("|".join(f"(?P<d{at}>{one.pattern})" for at, one in enumerate(_DETECTORS)))


def tokens(text: str) -> list[Token]:
    """The volatile pieces, in order. At a place where a check fails nothing is found."""
    found: list[Token] = []
    at = 0
    while match := _ANY.search(text, at):
        assert match.lastgroup is not None, "every alternative is a group"
        detector = _DETECTORS[int(match.lastgroup[1:])]
        if detector.check is None or detector.check(match):
            found.append(Token(match.start(), match.end(), detector.family, detector.name))
            at = match.end()
        else:
            at = match.start() + 1
    return found


def shape(name: str, text: str) -> str:
    """What is shown in place of a text: `ISO time, 20 chars`; empty for an empty text."""
    count = len(text)
    if not count:
        return ""
    return f"{name}, {count:,} char{'s' if count > 1 else ''}"
