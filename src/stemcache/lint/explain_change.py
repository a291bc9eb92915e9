"""Which rule explains a change: the first of a fixed order that claims it.

```
structure    tool order, tool set, key order, argument order, thinking, images,
             compaction, truncation
text         clock, id, environment, white space, transient suffix
the rest     varying context, resumed session, edited prompt, changed tool, edited history
```
The last rule of each section claims all that is left of it, so that every change has one cause.
"""

from collections.abc import Callable, Mapping

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.change_class import class_of
from stemcache.lint.content_cause import content_cause
from stemcache.lint.place import where
from stemcache.lint.rule import LintRule
from stemcache.lint.rules import (
    argument_order,
    clock_in_prefix,
    edited_prompt,
    environment_snapshot,
    history_compacted,
    history_edited,
    history_truncated,
    image_changed,
    injected_id,
    key_order,
    resumed_session,
    thinking_dropped,
    tool_definition,
    tool_order,
    tool_set,
    transient_suffix,
    varying_context,
    whitespace_change,
)
from stemcache.lint.text_class import TextClass
from stemcache.text.volatile.detector import Family
from stemcache.trace.divergence.change import Change

__all__ = ["explain"]

_Explains = Callable[[Change, Pair], Cause | None]

_STRUCTURE: tuple[_Explains, ...] = (
    tool_order.explains,
    tool_set.explains,
    key_order.explains,
    argument_order.explains,
    thinking_dropped.explains,
    image_changed.explains,
    history_compacted.explains,
    history_truncated.explains,
)
_TEXT: Mapping[Family, LintRule] = {
    Family.CLOCK: clock_in_prefix.RULE,
    Family.ID: injected_id.RULE,
    Family.ENVIRONMENT: environment_snapshot.RULE,
}
_REST: tuple[_Explains, ...] = (
    whitespace_change.explains,
    transient_suffix.explains,
    varying_context.explains,
    resumed_session.explains,
    edited_prompt.explains,
    tool_definition.explains,
    history_edited.explains,
)


def explain(change: Change, pair: Pair) -> Cause:
    """The cause of a change. Pure; costs time in the length of the change's windows and spans."""
    cause = _first(_STRUCTURE, change, pair)
    if cause is None:
        told = class_of(change)  # once for the three rules that ask for it
        cause = None if told is None else _of_class(_TEXT[told.family], change, told)
    if cause is None:
        cause = _first(_REST, change, pair)
    assert cause is not None, "edited history claims every change that no other rule does"
    return cause


def _of_class(rule: LintRule, change: Change, told: TextClass) -> Cause:
    return content_cause(
        rule,
        change,
        f"{told.phrase} differs {where(change)}",
        told.name,
        old=told.old,
        new=told.new,
        fields=(("what", told.name), ("where", where(change))),
    )


def _first(rules: tuple[_Explains, ...], change: Change, pair: Pair) -> Cause | None:
    for explains in rules:
        cause = explains(change, pair)
        if cause is not None:
            return cause
    return None
