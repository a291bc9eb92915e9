"""What differs between a request and its parent.

```
parent   A  B  c  D  E  F            equal spans      A B . D E F
child    A  B  x  D  E  F  G         change 0         c ► x   (edited), shared behind it: D E F
                                     not a change     G, which is appended
```
Positions are bytes of the spans' texts in UTF-8, added up in the provider's order: the caller turns
them into tokens. *Shared* bytes are those of the child that the parent has too, in the same order.
What is appended behind all that the parent has is growth, not a change.

Invariants: changes are in the child's order and do not overlap; `shared_before` never falls from
one to the next; with no change the parent is a prefix of the child.
"""

from dataclasses import dataclass
from enum import StrEnum

from stemcache.trace.spans.span import Span
from stemcache.wire.section import Section

__all__ = ["Change", "ChangeKind", "Divergence"]


class ChangeKind(StrEnum):
    """How a place differs."""

    EDITED = "edited"
    """Other text in the same place."""
    EXTENDED = "extended"
    """The parent's span goes on in the child: what it had is the beginning of what is there now."""
    INSERTED = "inserted"
    """Spans that the parent does not have stand before some that it has."""
    REMOVED = "removed"
    """Spans of the parent are missing before some that are still there."""
    REORDERED = "reordered"
    """The same spans in another order."""
    KEY_ORDER = "key-order"
    """The same values, the keys of an object in another order."""
    REPLACED = "replaced"
    """All behind this place is different: nothing of the parent is shared any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One place where child and parent differ."""

    kind: ChangeKind
    section: Section
    before: tuple[Span, ...]
    """The parent's spans that are no longer there as they were. Empty where spans were added."""
    after: tuple[Span, ...]
    """The child's spans in their place. Empty where spans were removed."""
    before_index: int
    """Number of the first span of `before` in the parent; where it is empty, of the next one."""
    after_index: int
    """The same in the child."""
    pointer: str
    """JSON pointer into the child to the smallest string, object or block that differs: for a
    changed string the string, for reordered spans the first that is not where it was, for keys the
    object. Where spans were removed, the child's span that now stands there; where nothing stands
    there, the place behind the last."""
    char: int | None
    """Character in that string at which it differs; None where it is no string."""
    old: str
    """What the parent has there: the smallest differing text, widened to whole words or digits; at
    most 4,096 characters. Empty where there was nothing."""
    new: str
    """What the child has there, likewise."""
    shared_before: int
    """Bytes of the child before this place that the parent has too."""
    shared_behind: int
    """Bytes of the child behind this place that the parent has too, in the same order."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The comparison of a child with its parent."""

    changes: tuple[Change, ...]
    prefix_bytes: int
    """Bytes of the child before the first difference, appended growth not counted."""
    shared_bytes: int
    """Bytes of the child that the parent has in the same order, all changes mended."""
    child_bytes: int
    parent_bytes: int
    aligned: tuple[int, ...]
    """For each span of the child the number of the parent's span that it equals or continues, or
    -1. Numbers never fall, apart from the -1."""
