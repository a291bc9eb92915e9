"""How a content rule says what it found: a cause without a piece of the prompt in it."""

from stemcache.lint.cause import Cause
from stemcache.lint.place import exact, group_place
from stemcache.lint.rule import LintRule
from stemcache.lint.text_class import shape_of
from stemcache.trace.divergence.change import Change

__all__ = ["content_cause"]


def content_cause(
    rule: LintRule,
    change: Change,
    message: str,
    detail: str,
    *,
    old: str | None = None,
    new: str | None = None,
    fields: tuple[tuple[str, str], ...] = (),
) -> Cause:
    """The cause, with masked shapes of both windows where the caller knows no better ones.

    `detail` is a word that tells sorts of it apart in groups.
    """
    old_shape, new_shape = _shapes(change)
    return Cause(
        rule=rule,
        kind=rule.kind,
        message=message,
        pointer=change.pointer,
        char=change.char,
        old=old_shape if old is None else old,
        new=new_shape if new is None else new,
        group=f"{rule.kind} {group_place(change)} {detail}".rstrip(),
        fields=fields,
        old_text=change.old,
        new_text=change.new,
    )


def _shapes(change: Change) -> tuple[str, str]:
    """Of volatile pieces as a whole; of other texts no more than what differs."""
    shapes = shape_of(change.old), shape_of(change.new)
    if change.char is None or not all(map(_is_plain, shapes)):
        return shapes
    old, new = exact(change.old, change.new)
    return shape_of(old), shape_of(new)


def _is_plain(shape: str) -> bool:
    return not shape or shape.startswith(("text, ", "white space, "))
