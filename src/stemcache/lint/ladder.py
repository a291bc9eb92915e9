"""What a child could have read, had its causes been absent one after the other.

```
tokens  0 ───────── L(0) ─────────── L(1) ────────────────────── L(2) ── top
        │ read as   │ had cause 1    │ had cause 2 too           │ had the markers
        │ things are│ been absent    │                           │ stood right too
        causes:     1 clock          2 tool_choice               placement
```
Levels never fall. The loss to a cause is the rise that its absence brings, so that causes are
charged in prefix order and no token twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stemcache.lint.keys import KeyChange
from stemcache.lint.scale import Scale
from stemcache.provider.cache.cuts import Cuts, reach
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.trace.divergence.change import Change, ChangeKind, Divergence

__all__ = ["Alignment", "Ladder", "Step", "alignment", "climb", "is_growth", "steps_of"]

_IN_PLACE = frozenset({ChangeKind.EDITED, ChangeKind.EXTENDED, ChangeKind.KEY_ORDER})

_MOST_WINDOW_CHARS = 4_096
"""Of what a change shows of a text."""
_ONE_PLACE_BYTES = 128
"""Changes of one span, or of two side by side, with less between them are one cause."""


@dataclass(frozen=True, slots=True)
class Step:
    """One cause between a child and what its parent left."""

    span: int
    """Number of the child's first span that it keeps from being found."""
    shared_before: int
    """Bytes of the child before it that the parent has too."""
    change: Change | None = None
    key: KeyChange | None = None


@dataclass(frozen=True, slots=True)
class Ladder:
    """Tokens that could have been read."""

    levels: tuple[int, ...]
    """L(0) to L(n): one more than there are steps."""
    top: int
    """What the parent and the child share, were it marked and found."""
    shared_tokens: int
    """The same without regard to the rule's minimum and unit."""
    within: tuple[int, ...]
    """For each span of the child, tokens up to its end that the parent has too."""
    aligned: tuple[int, ...]
    """For each span of the child the parent's span that it is, or was before an edit, or -1."""


class Alignment(NamedTuple):
    """One span of the child beside the parent."""

    parent_span: int
    shared_bytes: int


def steps_of(
    divergence: Divergence, keys: Sequence[KeyChange], *, ends: Sequence[int], everywhere: bool
) -> tuple[Step, ...]:
    """Causes in prefix order, parameters before content at the same place.

    `ends` are the bytes up to the end of each of the child's spans. A last span that goes on is no
    cause where a cache can be read everywhere.
    """
    steps: list[Step] = []
    end = 0
    for change in divergence.changes:
        if everywhere and is_growth(change):
            continue
        near = steps and change.shared_before - steps[-1].shared_before < _ONE_PLACE_BYTES
        # A time and an id on one line are one cause, and so is a summary in place of messages:
        # mending one of the two alone gains nothing.
        if not near or change.after_index > end:
            steps.append(Step(change.after_index, change.shared_before, change=change))
        end = change.after_index + max(1, len(change.after))
    for key in keys:
        at_bytes = ends[key.span - 1] if 0 < key.span <= len(ends) else 0
        # What was not shared before the section does not count as shared.
        ahead = [change for change in divergence.changes if change.after_index < key.span]
        shared = at_bytes
        if ahead:
            lost = sum(_unshared(change) for change in ahead)
            shared = max(ahead[-1].shared_before, at_bytes - lost)
        steps.append(Step(key.span, min(shared, divergence.shared_bytes), key=key))
    return tuple(sorted(steps, key=lambda step: (step.span, step.key is None, step.shared_before)))


def is_growth(change: Change) -> bool:
    """Whether a span of the parent goes on, and nothing that the parent has comes behind it."""
    return change.kind is ChangeKind.EXTENDED and not change.shared_behind


def _unshared(change: Change) -> int:
    if change.kind is ChangeKind.REMOVED:
        return 0
    if change.kind in {ChangeKind.INSERTED, ChangeKind.REPLACED, ChangeKind.REORDERED}:
        return sum(_bytes(span.text) for span in change.after)
    return _edited_bytes([change])


def _edited_bytes(changes: Sequence[Change]) -> int:
    """Bytes of a child's span that are not the parent's, from all changes in it."""
    windows = sum(_bytes(change.new) for change in changes)
    first, last = changes[0], changes[-1]
    long = any(len(change.new) >= _MOST_WINDOW_CHARS for change in changes)
    if not long or first.kind is not ChangeKind.EDITED:
        return windows
    # A window that is cut off says too little: what both texts begin and end with is not in it.
    old, new = (
        np.frombuffer(span.text.encode("utf-8", "surrogatepass"), np.uint8)
        for span in (first.before[0], first.after[0])
    )
    most = min(len(old), len(new))
    head = _equal(old[:most], new[:most])
    tail = _equal(old[::-1][: most - head], new[::-1][: most - head])
    return max(windows, len(new) - head - tail - (last.shared_before - first.shared_before))


def _equal(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> int:
    """How many items are equal before the first that are not."""
    differs = one != other
    return int(differs.argmax()) if differs.any() else len(one)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def climb(
    rule: Rule,
    child: Shape,
    *,
    parent_held: Cuts,
    divergence: Divergence,
    steps: Sequence[Step],
    span_bytes: Sequence[int],
    parent_span_bytes: Sequence[int],
    scale: Scale,
) -> Ladder:
    """O((spans + steps) · steps). `parent_held` numbers the parent's spans."""
    aligned = alignment(divergence, span_bytes, parent_span_bytes)
    within = tuple(map(scale.tokens, accumulate(one.shared_bytes for one in aligned)))
    shared_bytes = sum(one.shared_bytes for one in aligned)
    if parent_held.everywhere:
        shared_bytes = max(shared_bytes, divergence.shared_bytes)
    shared_tokens = scale.tokens(shared_bytes)
    if parent_held.everywhere:
        found = [_floored(rule, _before(step, scale)) for step in steps]
        found.append(_floored(rule, shared_tokens))
    else:
        held = set(parent_held.positions)
        cuts = reach(rule, child)
        reached = range(len(aligned)) if cuts.everywhere else set(cuts.positions)
        findable = [i for i, one in enumerate(aligned) if one.parent_span in held and i in reached]
        limits = [step.span for step in steps] + [len(within)]
        found = [
            max((_floored(rule, within[i]) for i in findable if i < limit), default=0)
            for limit in limits
        ]
    levels: list[int] = []
    for tokens in found:
        levels.append(max(tokens, levels[-1]) if levels else tokens)
    top = max(levels[-1], _floored(rule, shared_tokens))
    return Ladder(
        tuple(levels), top, shared_tokens, within, tuple(one.parent_span for one in aligned)
    )


def _before(step: Step, scale: Scale) -> int:
    # A parameter that keys all of the prompt keys what the log does not show of it, too.
    if step.key is not None and step.span == 0:
        return 0
    return scale.tokens(step.shared_before)


def alignment(
    divergence: Divergence, span_bytes: Sequence[int], parent_span_bytes: Sequence[int]
) -> tuple[Alignment, ...]:
    """For each span of the child the parent's that it is or was, and the bytes they share."""
    edited: dict[int, list[Change]] = {}
    moved: dict[int, int] = {}
    for change in divergence.changes:
        if change.kind is ChangeKind.REORDERED and len(change.before) == len(change.after):
            # In the parent's order they would be the parent's, one for one.
            for i in range(len(change.after)):
                moved[change.after_index + i] = change.before_index + i
        if change.kind in _IN_PLACE and len(change.before) == len(change.after) == 1:
            edited.setdefault(change.after_index, []).append(change)
    found = []
    for i, own in enumerate(span_bytes):
        if i in moved:
            found.append(Alignment(moved[i], own))
            continue
        parent_span = divergence.aligned[i] if i < len(divergence.aligned) else -1
        other = 0
        if i in edited:
            other = _edited_bytes(edited[i])
            # A span of which most is other text is another span.
            parent_span = edited[i][0].before_index if 2 * other <= own else parent_span
        if parent_span < 0:
            found.append(Alignment(-1, 0))
        else:
            shared = min(own - other, parent_span_bytes[parent_span])
            found.append(Alignment(parent_span, max(0, shared)))
    return tuple(found)


def _floored(rule: Rule, tokens: int) -> int:
    tokens -= tokens % max(1, rule.unit_tokens)
    return tokens if tokens >= rule.minimum_tokens.likely else 0
