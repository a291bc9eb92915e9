"""The class of volatile text that a change is of."""

from stemcache.lint.place import around
from stemcache.lint.text_class import TextClass, classify
from stemcache.trace.divergence.change import Change, ChangeKind

__all__ = ["class_of"]

_NO_TEXT = frozenset({ChangeKind.REORDERED, ChangeKind.KEY_ORDER})


def class_of(change: Change) -> TextClass | None:
    """The class, told from both windows and the child's text around them; None where none fits."""
    if change.kind in _NO_TEXT:
        return None
    near = around(change)
    return classify(change.old, change.new, before=near.before, line=near.line)
