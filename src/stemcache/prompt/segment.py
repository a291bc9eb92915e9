"""A named piece of a prompt, and how stable its author says that it is.

```
static("rules", RULES)   reference("handbook", text, version="2026-11")   turn("now", clock())
```
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stemcache.errors import UsageError
from stemcache.prompt.part import Document, Image, Text
from stemcache.prompt.stability import Stability

__all__ = ["Content", "Segment", "reference", "session", "static", "turn"]

Content = str | Text | Image | Document
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Immutable. Names are unique in a layout."""

    name: str
    stability: Stability
    parts: tuple[Text | Image | Document, ...]
    version: str | None = None
    """What `stemcache.lock` pins its bytes under."""
    allow: frozenset[str] = frozenset()
    """Families of volatile text (`clock`, `injected-id`, `environment`) that are meant to be in it:
    the date of a law in a handbook is no clock."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"a segment is called {self.name!r}; use 1 to 64 letters, digits, '_', '.' and '-'"
            )


def static(
    name: str, *content: Content, version: str | None = None, allow: Iterable[str] = ()
) -> Segment:
    """What changes with a release of the program only."""
    return _made(Stability.STATIC, name, content, version, allow)


def reference(
    name: str, *content: Content, version: str | None = None, allow: Iterable[str] = ()
) -> Segment:
    """What changes when it is edited, and is shared by many conversations."""
    return _made(Stability.REFERENCE, name, content, version, allow)


def session(name: str, *content: Content, allow: Iterable[str] = ()) -> Segment:
    """What is fixed for one conversation."""
    return _made(Stability.SESSION, name, content, None, allow)


def turn(name: str, *content: Content) -> Segment:
    """What may be another with every request; anything may stand in it."""
    return _made(Stability.TURN, name, content, None, ())


def _made(
    stability: Stability,
    name: str,
    content: tuple[Content, ...],
    version: str | None,
    allow: Iterable[str],
) -> Segment:
    parts = tuple(Text(one) if isinstance(one, str) else one for one in content)
    return Segment(
        name=name, stability=stability, parts=parts, version=version, allow=frozenset(allow)
    )
