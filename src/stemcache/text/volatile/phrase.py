"""A volatile piece in words: its class with an article, and how fine a clock it is."""

from stemcache.text.volatile.detector import Family, Token

__all__ = ["finest", "phrase"]

_UNCOUNTED = frozenset({"git status"})
_VOWELS = ("a", "e", "i", "o", "I", "HTTP")


def finest(token: Token, text: str) -> str:
    """Of a clock, the finest unit it shows: `seconds`, `fractions of a second`; else empty.

    `text` is the piece itself.
    """
    if token.family is not Family.CLOCK:
        return ""
    if token.name.startswith("Unix time in"):
        return "fractions of a second"
    if token.name == "Unix time":
        return "seconds"
    if token.name in {"duration", "relative time"}:
        return ""
    colons = text.count(":")
    if colons > 1 and any(mark in text.partition(":")[2] for mark in ".,"):
        return "fractions of a second"
    return "seconds" if colons > 1 else "minutes" if colons else ""


def phrase(name: str, detail: str) -> str:
    """The class as a subject: `an ISO time with seconds`, `a UUID`, `git status`."""
    if name in _UNCOUNTED:
        return name
    article = "an" if name.startswith(_VOWELS) else "a"
    detailed = detail and not name.startswith("Unix time")
    return f"{article} {name}" + (f" with {detail}" if detailed else "")
