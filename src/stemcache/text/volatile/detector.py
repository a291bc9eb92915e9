"""What finding volatile text gives: a family, a name, and where it stands."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from re import Match

__all__ = ["Detector", "Family", "Token"]


class Family(StrEnum):
    """Which rule a volatile text belongs to."""

    CLOCK = "clock"
    ID = "injected-id"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Token:
    """One volatile piece of a text."""

    start: int
    end: int
    family: Family
    name: str
    """What it is, without an article: `ISO time`."""


@dataclass(frozen=True, slots=True)
class Detector:
    """One form of volatile text. Patterns bound every repetition, so that no text takes long."""

    name: str
    family: Family
    pattern: str
    """A regular expression without groups that capture."""
    check: Callable[[Match[str]], bool] | None = None
    """What the expression cannot say: ranges, words near it, how mixed the characters are."""
