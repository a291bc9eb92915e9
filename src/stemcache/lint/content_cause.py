"""How a content rule says what it found: a cause without a piece of the prompt in it."""

from stemcache.lint.cause import Cause
from stemcache.lint.place import group_place
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
    return Cause(
        rule=rule,
        kind=rule.kind,
        message=message,
        pointer=change.pointer,
        char=change.char,
        old=shape_of(change.old) if old is None else old,
        new=shape_of(change.new) if new is None else new,
        group=f"{rule.kind} {group_place(change)} {detail}".rstrip(),
        fields=fields,
        old_text=change.old,
        new_text=change.new,
    )
