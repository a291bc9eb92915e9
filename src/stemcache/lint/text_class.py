"""Which class of volatile text differs: a clock, an id, a picture of the environment, or none.

```
parent   Now: 2026-11-30T05:14:01Z, run 7f3a9c1e            window  01
child    Now: 2026-11-30T05:14:31Z, run 7f3a9c1e            window  31
masked   Now: [clock], run [injected-id]                    equal ► what differs is the clock
```
The differing windows may be no more than the digits that changed, so the line around them is looked
at. A class is given only where it explains all that differs: with every volatile piece masked, the
two texts are equal but for numbers, or every line that is not in both is one of the same picture.
"""

import re
from dataclasses import dataclass

from stemcache.text.volatile.detector import Family, Token
from stemcache.text.volatile.environment_text import environment_lines, pictures
from stemcache.text.volatile.mask import shape, tokens
from stemcache.text.volatile.phrase import finest, phrase

__all__ = ["TextClass", "classify", "shape_of"]

_WINDOW_CHARS = 4096
_MASKED_CHARS = 1024
"""Of longer windows so much is masked and compared."""
_CUT_CHARS = 64
"""The end of what was cut may be half a token, and is not compared."""
_STRANGE_LINES = 8
_NUMBER = re.compile(r"\d+")
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

    @property
    def phrase(self) -> str:
        """The class as a subject: `an ISO time with seconds`, `a UUID`, `git status`."""
        return phrase(self.name, self.detail)


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
    whole = max(len(old), len(new)) <= _MASKED_CHARS
    ours = head + (old + tail if whole else old[:_MASKED_CHARS])
    theirs = head + (new + tail if whole else new[:_MASKED_CHARS])
    told = _masked_alike(ours, theirs, cut=not whole)
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
    first = _first_difference(old, new)
    if not _covered(old, first) or not _covered(new, first):
        return None
    olds, news = tokens(old), tokens(new)
    if len(olds) != len(news) and not cut:
        return None
    at_old = at_new = 0
    differing: tuple[Token, Token] | None = None
    for one, other in zip(olds, news, strict=False):
        if one.family is not other.family:
            return None
        if _plain(old[at_old : one.start]) != _plain(new[at_new : other.start]):
            return None
        if differing is None and old[one.start : one.end] != new[other.start : other.end]:
            differing = one, other
        at_old, at_new = one.end, other.end
    rest, other_rest = old[at_old:], new[at_new:]
    if cut:
        most = max(0, min(len(rest), len(other_rest)) - _CUT_CHARS)
        rest, other_rest = rest[:most], other_rest[:most]
    if differing is None or _plain(rest) != _plain(other_rest):
        return None
    one, other = differing
    text = new[other.start : other.end]
    return TextClass(
        other.family,
        other.name,
        shape(one.name, old[one.start : one.end]),
        shape(other.name, text),
        finest(other, text),
    )


def _plain(text: str) -> str:
    """The text with its numbers alike: one that changes along with an id or a clock is as new."""
    return _NUMBER.sub("0", text)


def _first_difference(old: str, new: str) -> int:
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return at
    return min(len(old), len(new))


def _covered(text: str, at: int) -> bool:
    """Whether a volatile piece holds this place or ends there; most edits fail here, cheaply."""
    start = max(0, at - _AROUND_CHARS)
    near = text[start : at + _AROUND_CHARS]
    return any(token.start <= at - start <= token.end for token in tokens(near))


def _lines(old: str, new: str, ahead: str, *, cut: bool) -> TextClass | None:
    olds, news = old.split("\n"), new.split("\n")
    if cut:
        # The last line of a window that was cut is not whole.
        olds, news = olds[:-1], news[:-1]
    in_old, in_new = set(olds), set(news)
    gone = [one for one in olds if one not in in_new]
    come = [one for one in news if one not in in_old]
    differing = _without_volatile(gone, come)
    name = environment_lines(differing, ahead + _common_head(olds, news))
    if name is None:
        return None
    return TextClass(Family.ENVIRONMENT, name, shape(name, old), shape(name, new))


def _without_volatile(gone: list[str], come: list[str]) -> list[str]:
    """The lines that are on one side only, without those that differ in volatile pieces alone."""
    lines = gone + come
    strange = {line for line in lines if not pictures(line)}
    if not 0 < len(strange) <= _STRANGE_LINES:
        return lines
    ours = [_masked(line) for line in gone if line in strange]
    theirs = [_masked(line) for line in come if line in strange]
    return [line for line in lines if line not in strange] if ours == theirs else lines


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
