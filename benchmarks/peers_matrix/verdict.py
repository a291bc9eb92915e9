"""What a linter said of a pair, and the grade that its own words earn.

```
alarms ─► none ······················ right where nothing is wrong, else missed
          the same as for the clean pair ··· it tells nothing apart
          a word for the cause ············· named
          the right block, no such word ···· placed
          anything else ···················· seen
```
Only words that a tool says by itself count: excerpts of the prompt and advice that is given for
every change of a section are left out by the adapters. What a tool calls information (a note, a low
severity) is no false alarm, but counts where something is wrong.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Alarm", "Answer", "Grade", "Truth", "grade"]


@dataclass(frozen=True, slots=True)
class Alarm:
    """One thing that a linter complains of."""

    head: str
    """Its code and the place, by which two alarms are told alike."""
    words: str
    """All that it says of it, without excerpts."""
    note: bool = False
    """Whether the linter itself calls it mere information."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a linter said of one pair."""

    alarms: tuple[Alarm, ...] = ()
    refused: str | None = None
    """Why it cannot say: what it does not read or does not claim to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is wrong with a pair by the vendor's written rule."""

    kind: str | None
    """stemcache's word for it; None where nothing is wrong."""
    cause: str = r"(?!)"
    """Expression for words that name the cause."""
    place: str = r"(?!)"
    """Expression for the block that is at fault."""


class Grade(StrEnum):
    """How right an answer is."""

    NAMED = "named"
    """The cause is named; where nothing is wrong, nothing is said."""
    PLACED = "placed"
    """The right block is shown, but not what is wrong with it."""
    SEEN = "seen"
    """A break is reported, neither with its cause nor with the right block."""
    SAME = "same"
    """It says what it says of the clean pair too."""
    MISSED = "missed"
    FALSE = "false alarm"
    REFUSED = "cannot say"


def grade(answer: Answer, truth: Truth, clean: Answer) -> Grade:
    """Grade an answer; `clean` is what the same linter said of the clean pair of this form."""
    if answer.refused is not None:
        return Grade.REFUSED
    if truth.kind is None:
        return Grade.FALSE if any(not alarm.note for alarm in answer.alarms) else Grade.NAMED
    usual = {alarm.head for alarm in clean.alarms}
    own = [alarm for alarm in answer.alarms if alarm.head not in usual]
    if _says(truth.cause, own):
        return Grade.NAMED
    if _says(truth.place, own):
        return Grade.PLACED
    if own:
        return Grade.SEEN
    return Grade.SAME if answer.alarms else Grade.MISSED


def _says(expression: str, alarms: Sequence[Alarm]) -> bool:
    return any(re.search(expression, alarm.words, re.IGNORECASE) for alarm in alarms)
