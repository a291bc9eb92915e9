r"""A text line by line, with what tells that a line shows an example rather than says something.

```
Dates look like this:                         label with a word for examples ─┐
  2026-11-30T05:14:01Z                        shown ◄─────────────────────────┘ until a blank line
<example> … </example>, ``` below a label     shown
User: today is Friday, when do you open?      shown: a line of a dialogue
```
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Line", "is_supposed", "lines"]

_NEAR_CHARS = 96
_TAG = re.compile(
    r"<(/?)[\w:-]{0,24}(?:example|sample|few_?shot|transcript|dialogue?|demonstration)[\w:-]{0,24}"
    r"[^<>]{0,120}>",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"\b(?:examples?|sample|samples|e\.\s?g\.|for instance|such as|like this|looks? like|demo"
    r"|illustrat\w{0,5}|format(?:ted)?|formats|template|placeholder|pattern|i\.e\.|few-?shots?)"
    r"(?![\w-])",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_SPEAKER = re.compile(
    r"[\s>*\"'-]{0,8}(?:user|human|customer|client|caller|guest|assistant|agent|bot|ai|question"
    r"|answer|query|q|a|input|output|in|out|result|response|utterance)\s?\d{0,3}\s?\*{0,2}:",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|when|whenever|unless|until|assum\w{2,4}|suppos\w{1,4}|imagine|pretend|let'?s say"
    r"|whether|once)\b[^.,;:!?\n]{0,60}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is no example."""

    start: int
    """Characters before it in the text."""
    text: str
    above: str
    """The line with something in it that stands before, or empty."""

    def ahead(self, at: int) -> str:
        """What stands ahead of a place on the line; where that is no word, the line above too."""
        near = self.text[max(0, at - _NEAR_CHARS) : at]
        if at <= _NEAR_CHARS and not any(map(str.isalnum, near)):
            return f"{self.above[-_NEAR_CHARS:]} {near}"
        return near


def lines(text: str) -> Iterator[Line]:
    """The lines that have something in them and show no example. Linear in the text."""
    tagged = labelled = headed = fenced = seen = False
    start = 0
    above = ""
    for whole in text.splitlines(keepends=True):
        line = whole.rstrip()
        at, start = start, start + len(whole)
        if not line:
            labelled = labelled and (fenced or not seen)
            continue
        inside = tagged
        for tag in _TAG.finditer(line):
            tagged = not tag.group(1)
            inside = True
        if line.lstrip().startswith("```"):
            labelled = labelled and not fenced
            fenced = not fenced
            continue
        if _HEADING.match(line) and not fenced:
            headed = labelled = _WORD.search(line) is not None
            above = line
            continue
        seen = labelled
        if not fenced and line.endswith(":") and len(line) <= 200 and _WORD.search(line):
            labelled, seen = True, False
        elif not (inside or tagged or labelled or headed or _SPEAKER.match(line)):
            yield Line(at, line, above)
        above = line


def is_supposed(ahead: str) -> bool:
    """Whether what follows these words is an example, or only what might be the case."""
    return _WORD.search(ahead) is not None or _SUPPOSED.search(ahead) is not None
