"""Volatile pieces of a text, and what may be shown of a text: its class and its length.

```
Now: 2026-11-30T05:14:01Z, run 7f3a9c1e            text
Now: ─────── 0 ──────────, run ── 1 ───            tokens: ISO time, hex digest
```
Invariant: tokens do not overlap and stand in order. Finding them costs time in the length of the
text, which is bounded by those who call.
"""

import re
from functools import cache

from stemcache.text.volatile.clock_text import CLOCKS
from stemcache.text.volatile.detector import Detector, Token
from stemcache.text.volatile.environment_text import BUDGETS
from stemcache.text.volatile.id_text import IDS

__all__ = ["next_token", "shape", "tokens"]

_DETECTORS: tuple[Detector, ...] = (*IDS[:6], *CLOCKS, *IDS[6:], *BUDGETS)
"""Ids whose form is unmistakable come before clocks, since digits inside them look like any."""


def tokens(text: str) -> list[Token]:
    """The volatile pieces, in order. At a place where a check fails nothing is found."""
    found: list[Token] = []
    at = 0
    while (token := next_token(text, at)) is not None:
        found.append(token)
        at = token.end
    return found


def next_token(text: str, start: int) -> Token | None:
    """The first volatile piece that begins at a place or behind it."""
    at = start
    search = _any().search
    while match := search(text, at):
        assert match.lastgroup is not None, "every alternative is a group"
        token = _checked(text, match, int(match.lastgroup[1:]))
        if token is not None:
            return token
        at = match.start() + 1
    return None


@cache
def _any() -> re.Pattern[str]:
    """All detectors in one; it takes a tenth of a second to build, so not before it is needed."""
    return re.compile("|".join(f"(?P<d{at}>{one.pattern})" for at, one in enumerate(_DETECTORS)))


@cache
def _one(number: int) -> re.Pattern[str]:
    return re.compile(_DETECTORS[number].pattern)


def _checked(text: str, match: re.Match[str], first: int) -> Token | None:
    """The match, or where its check fails what a later detector finds at the same place."""
    for number in range(first, len(_DETECTORS)):
        detector = _DETECTORS[number]
        here = match if number == first else _one(number).match(text, match.start())
        if here is None or here.end() == here.start():
            continue
        if detector.check is None or detector.check(here):
            return Token(here.start(), here.end(), detector.family, detector.name)
    return None


def shape(name: str, text: str) -> str:
    """What is shown in place of a text: `ISO time, 20 chars`; empty for an empty text."""
    count = len(text)
    if not count:
        return ""
    return f"{name}, {count:,} char{'s' if count > 1 else ''}"
