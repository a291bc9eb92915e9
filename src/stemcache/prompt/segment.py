"""A named piece of a prompt, and how stable its author says that it is.

```
static("rules", RULES)   reference("handbook", text, version="2026-11")   turn("now", clock())
```
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stemcache.errors import UsageError
from stemcache.prompt.given import check_type, chosen, listed
from stemcache.prompt.part import Document, Image, Text
from stemcache.prompt.sendable import check_sendable
from stemcache.prompt.stability import Stability
from stemcache.text.volatile.detector import Family

__all__ = ["Content", "Segment", "families", "reference", "session", "static", "turn"]

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
        use = "use 1 to 64 letters, digits, '_', '.' and '-'"
        check_type(self.name, str, "the name of a segment", use)
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"a segment is called {self.name[:80]!r}; {use}")
        owner = f"segment {self.name!r}"
        chosen(self.stability, Stability, "stability", owner)
        parts = listed(
            self.parts,
            Text | Image | Document,
            f"the content of {owner}",
            "give texts, pictures or files: a str, a Text, an Image or a Document",
        )
        check_sendable(parts, owner)
        object.__setattr__(self, "parts", parts)
        check_type(self.version, str | None, f"the version of {owner}", "give a str, such as '3'")
        object.__setattr__(self, "allow", families(self.allow, owner))


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
        name=name,
        stability=stability,
        parts=parts,
        version=version,
        allow=families(allow, f"segment {str(name)[:80]!r}"),
    )


def families(allow: Iterable[str], owner: str) -> frozenset[str]:
    """A set of families of volatile text. Raises UsageError for a text, and one that is unknown."""
    use = "give a set of families: allow={'clock'}"
    names = listed(allow, str, f"allow of {owner}", use)
    return frozenset(chosen(name, Family, "family", f"allow of {owner}") for name in names)
