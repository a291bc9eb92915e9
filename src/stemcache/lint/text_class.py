"""Which class of volatile text differs: a clock, an id, a picture of the environment, or none.

```
parent   Now: 2026-11-30T05:14:01Z, run 7f3a9c1e            window  01
child    Now: 2026-11-30T05:14:31Z, run 7f3a9c1e            window  31
masked   Now: [clock], run [injected-id]                    equal ► what differs is the clock
```
The differing windows may be no more than the digits that changed, so the line around them is looked
at. A class is given only where it explains all that differs: with every volatile piece masked, the
two texts are equal, or every line that is not in both is a line of the same picture.
"""

from dataclasses import dataclass

from stemcache.lint.environment_text import environment_lines
from stemcache.lint.mask import shape, tokens
from stemcache.lint.volatile import Family, Token

__all__ = ["TextClass", "classify", "shape_of"]

_WINDOW_CHARS = 4096
_AROUND_CHARS = 256
_AHEAD_CHARS = 1024


@dataclass(frozen=True, slots=True)
class TextClass:
    """What differs, told without showing it."""

    family: Family
    name: str
    """`ISO time`, `UUID`, `git status`; without an article."""
    old: str
    """Masked shape of what the parent has: `ISO time, 20 chars`."""
    new: str
    detail: str = ""
    """Of a clock, the finest unit it shows: `seconds`, `fractions of a second`; else empty."""


def classify(old: str, new: str, *, before: str = "", line: str = "") -> TextClass | None:
    """The class of volatile text that old and new differ in, or None where no class explains it.

    `old` and `new` are the differing windows. `before` is what stands ahead of the window in its
    string, and `line` the line of the child that the window stands in. Costs time in the length of
    the windows; of longer texts only the parts near the window are looked at.
    """
    if old == new:
        return None
    cut = len(old) >= _WINDOW_CHARS or len(new) >= _WINDOW_CHARS
    old, new = old[:_WINDOW_CHARS], new[:_WINDOW_CHARS]
    ahead = before[-_AHEAD_CHARS:]
    head = ahead[ahead.rfind("\n") + 1 :]
    tail = _tail(head, new, line)
    head = head[-_AROUND_CHARS:]
    if old and new:
        told = _masked_alike(head + old + tail, head + new + tail, cut=cut)
        if told is not None:
            return told
    return _lines(head + old + tail, head + new + tail, ahead[: len(ahead) - len(head)], cut=cut)


def shape_of(text: str) -> str:
    """Class and length of a text, never the text: `UUID, 36 chars`, `text, 312 chars`."""
    bare = text.strip() if len(text) <= _WINDOW_CHARS else ""
    for token in tokens(bare) if 0 < len(bare) <= _AROUND_CHARS else ():
        if token.start == 0 and token.end == len(bare):
            return shape(token.name, bare)
    return shape("white space" if text.isspace() else "text", text)


def _tail(head: str, new: str, line: str) -> str:
    """What stands behind the window on its line."""
    if not line:
        return ""
    start = len(head) + len(new) if line.startswith(new, len(head)) else -1
    if start < 0:
        # Counted from elsewhere: the window's own place in the line.
        at = line.find(new) if new else -1
        start = at + len(new) if at >= 0 else len(line)
    tail = line[start : start + _AROUND_CHARS]
    return tail.partition("\n")[0]


def _masked_alike(old: str, new: str, *, cut: bool) -> TextClass | None:
    """The first volatile piece that differs, if nothing else does."""
    olds, news = tokens(old), tokens(new)
    if not olds or not news or (len(olds) != len(news) and not cut):
        return None
    at_old = at_new = 0
    first: tuple[Token, Token] | None = None
    for one, other in zip(olds, news, strict=False):
        same = old[at_old : one.start] == new[at_new : other.start]
        if not same or one.family is not other.family:
            return None
        if first is None and old[one.start : one.end] != new[other.start : other.end]:
            first = one, other
        at_old, at_new = one.end, other.end
    if first is None or (not cut and old[at_old:] != new[at_new:]):
        return None
    one, other = first
    text = new[other.start : other.end]
    return TextClass(
        other.family,
        other.name,
        shape(one.name, old[one.start : one.end]),
        shape(other.name, text),
        _detail(other, text),
    )


def _lines(old: str, new: str, ahead: str, *, cut: bool) -> TextClass | None:
    olds, news = old.split("\n"), new.split("\n")
    if cut:
        # The last line of a window that was cut is not whole.
        olds, news = olds[:-1], news[:-1]
    in_old, in_new = set(olds), set(news)
    gone = [one for one in olds if one not in in_new]
    come = [one for one in news if one not in in_old]
    differing = _not_masked(gone, come)
    name = environment_lines(differing, ahead + _common_head(olds, news))
    if name is None:
        return None
    return TextClass(Family.ENVIRONMENT, name, shape(name, old), shape(name, new))


def _not_masked(gone: list[str], come: list[str]) -> list[str]:
    """The lines that are in one list only, those left out that differ in volatile pieces alone."""
    if not gone or not come:
        return gone + come
    masked_gone, masked_come = [_masked(one) for one in gone], [_masked(one) for one in come]
    left = set(masked_gone) & set(masked_come)
    return [
        line
        for line, masked in zip(gone + come, masked_gone + masked_come, strict=True)
        if masked not in left
    ]


def _masked(line: str) -> str:
    parts: list[str] = []
    at = 0
    for token in tokens(line):
        parts += [line[at : token.start], f"\0{token.family}\0"]
        at = token.end
    return "".join(parts) + line[at:]


def _common_head(olds: list[str], news: list[str]) -> str:
    count = 0
    while count < min(len(olds), len(news)) and olds[count] == news[count]:
        count += 1
    return "\n".join(news[:count])


def _detail(token: Token, text: str) -> str:
    if token.family is not Family.CLOCK:
        return ""
    if token.name in {"Unix time, ms", "Unix time, µs", "Unix time, ns"}:
        return "fractions of a second"
    if token.name == "Unix time, s":
        return "seconds"
    if token.name in {"duration", "relative time"}:
        return ""
    colons = text.count(":")
    if colons > 1 and any(mark in text.partition(":")[2] for mark in ".,"):
        return "fractions of a second"
    return "seconds" if colons > 1 else "minutes" if colons else ""
