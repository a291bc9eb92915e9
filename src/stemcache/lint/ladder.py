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

from stemcache.lint.keys import KeyChange
from stemcache.lint.scale import Scale
from stemcache.provider.cache.cuts import Cuts, reach
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.trace.divergence.change import Change, ChangeKind, Divergence

__all__ = ["Ladder", "Step", "climb", "steps_of"]


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


def steps_of(
    divergence: Divergence, keys: Sequence[KeyChange], *, ends: Sequence[int], everywhere: bool
) -> tuple[Step, ...]:
    """Causes in prefix order, parameters before content at the same place.

    `ends` are the bytes up to the end of each of the child's spans. A span that goes on is no cause
    where a cache can be read everywhere.
    """
    steps = [
        Step(change.after_index, change.shared_before, change=change)
        for change in divergence.changes
        if not (everywhere and change.kind is ChangeKind.EXTENDED)
    ]
    for key in keys:
        at_bytes = ends[key.span - 1] if 0 < key.span <= len(ends) else 0
        # What was not shared before the section does not count as shared.
        before = [change for change in divergence.changes if change.after_index < key.span]
        shared = at_bytes
        if before:
            lost = sum(_unshared(change) for change in before)
            shared = max(before[-1].shared_before, at_bytes - lost)
        steps.append(Step(key.span, min(shared, divergence.shared_bytes), key=key))
    return tuple(sorted(steps, key=lambda step: (step.span, step.key is None, step.shared_before)))


def _unshared(change: Change) -> int:
    if change.kind is ChangeKind.REMOVED:
        return 0
    if change.kind in {ChangeKind.INSERTED, ChangeKind.REPLACED, ChangeKind.REORDERED}:
        return sum(len(span.text) for span in change.after)
    return len(change.new.encode("utf-8", "surrogatepass"))


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
    shared_bytes = _shared_by_span(divergence, span_bytes, parent_span_bytes)
    within = tuple(scale.tokens(shared) for shared in shared_bytes)
    shared_tokens = scale.tokens(divergence.shared_bytes)
    if parent_held.everywhere:
        extents = [step.shared_before for step in steps] + [divergence.shared_bytes]
        found = [_floored(rule, scale.tokens(extent)) for extent in extents]
    else:
        held = set(parent_held.positions)
        reached = set(reach(rule, child).positions)
        findable = [
            i
            for i, parent_span in enumerate(divergence.aligned)
            if parent_span in held and i in reached
        ]
        limits = [step.span for step in steps] + [len(within)]
        found = [
            max((_floored(rule, within[i]) for i in findable if i < limit), default=0)
            for limit in limits
        ]
    levels: list[int] = []
    for tokens in found:
        levels.append(max(tokens, levels[-1]) if levels else tokens)
    top = max(levels[-1], _floored(rule, shared_tokens))
    return Ladder(tuple(levels), top, shared_tokens, within)


def _shared_by_span(
    divergence: Divergence, span_bytes: Sequence[int], parent_span_bytes: Sequence[int]
) -> list[int]:
    """Running shared bytes at the end of each span."""
    unshared = dict.fromkeys(range(len(span_bytes)), 0)
    for change in divergence.changes:
        if change.kind in {ChangeKind.EDITED, ChangeKind.KEY_ORDER} and change.after:
            unshared[change.after_index] += len(change.new.encode("utf-8", "surrogatepass"))
    total = 0
    running = []
    for i, own in enumerate(span_bytes):
        parent_span = divergence.aligned[i] if i < len(divergence.aligned) else -1
        if parent_span >= 0:
            total += max(0, min(own - unshared[i], parent_span_bytes[parent_span]))
        running.append(min(total, divergence.shared_bytes))
    return running


def _floored(rule: Rule, tokens: int) -> int:
    tokens -= tokens % max(1, rule.unit_tokens)
    return tokens if tokens >= rule.minimum_tokens.likely else 0
