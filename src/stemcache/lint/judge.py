"""One call against its parent and against all that earlier calls left: what was lost, to what.

```
read (reported, else predicted) ──► L(0) ──► L(1) … L(n) ──► top
      labelled by time and place     │ one loss a cause    │ placement of markers
```
See `ladder` for the levels. Whatever was read, the losses add up to what lies between it and the
top.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stemcache.lint.cause import Cause, Pair
from stemcache.lint.explain_change import explain
from stemcache.lint.keys import KeyValue, changed_keys
from stemcache.lint.known import Known
from stemcache.lint.ladder import Ladder, Step, climb, is_growth, steps_of
from stemcache.lint.placement import misplaced
from stemcache.lint.say import extended_cause, key_cause, misplaced_cause
from stemcache.lint.scale import Scale
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.trace.calls.call import Call
from stemcache.trace.divergence.change import Change, Divergence
from stemcache.trace.spans.span import Prompt

__all__ = ["Case", "Loss", "judge", "ladder_of", "pure_growth"]


@dataclass(frozen=True, slots=True)
class Loss:
    """Tokens that one cause kept from being read."""

    cause: Cause
    tokens: int
    needs: tuple[str, ...] = ()
    """Codes of the causes that have to be mended as well before these tokens come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call, its parent, and how they compare."""

    call: Call
    prompt: Prompt
    shape: Shape
    rule: Rule
    keys: tuple[KeyValue, ...]
    span_bytes: npt.NDArray[np.int64]
    scale: Scale
    parent: Known
    parent_prompt: Prompt | None
    """None where only growth was found, so that nobody has to look at it."""
    divergence: Divergence


def pure_growth(
    chain: npt.NDArray[np.uint64], span_bytes: npt.NDArray[np.int64], parent: Known
) -> Divergence | None:
    """The comparison of a child that only appends to its parent; None where it does not.

    O(1), but for the numbers of spans that are written down.
    """
    spans = len(parent.span_chain)
    if not 0 < spans <= len(chain) or chain[spans - 1] != parent.span_chain[-1]:
        return None
    shared = int(parent.span_bytes.sum())
    return Divergence(
        changes=(),
        prefix_bytes=shared,
        shared_bytes=shared,
        child_bytes=int(span_bytes.sum()),
        parent_bytes=shared,
        aligned=(*range(spans), *([-1] * (len(chain) - spans))),
    )


def ladder_of(case: Case) -> tuple[tuple[Step, ...], Ladder]:
    """The causes in prefix order, and what each level could have read."""
    ends = np.cumsum(case.span_bytes).tolist()
    steps = steps_of(
        case.divergence,
        changed_keys(case.parent.keys, case.keys, case.prompt),
        ends=ends,
        everywhere=case.parent.held.everywhere,
    )
    return steps, climb(
        case.rule,
        case.shape,
        parent_held=case.parent.held,
        divergence=case.divergence,
        steps=steps,
        span_bytes=case.span_bytes.tolist(),
        parent_span_bytes=case.parent.span_bytes.tolist(),
        scale=case.scale,
    )


def judge(
    case: Case, steps: Sequence[Step], ladder: Ladder, *, read_tokens: int, markers: bool
) -> list[Loss]:
    """Losses to content, parameters and, if `markers` can be seen, placement."""
    losses: list[Loss] = []
    waiting: list[Step] = []
    for level, step in enumerate(steps, start=1):
        waiting.append(step)
        if ladder.levels[level] == ladder.levels[level - 1]:
            continue
        lost = ladder.levels[level] - max(ladder.levels[level - 1], read_tokens)
        if lost > 0:
            losses += _jointly([_cause(case, each) for each in waiting], lost)
        waiting.clear()
    # What another model would have kept of the parent says nothing of where markers stand.
    if markers and not any(step.key is not None and step.key.name == "model" for step in steps):
        fault = misplaced(
            case.rule,
            case.shape,
            parent_marks=case.parent.marks,
            held=case.parent.held,
            ladder=ladder,
            read_tokens=read_tokens,
        )
        if fault is not None and fault.lost_tokens > 0:
            losses.append(Loss(misplaced_cause(fault, case.rule, case.prompt), fault.lost_tokens))
    return losses


def _jointly(causes: Sequence[Cause], tokens: int) -> list[Loss]:
    """Charge causes of which none gives anything back alone: all to the first of the prompt."""
    codes = tuple(dict.fromkeys(cause.rule.code for cause in causes))
    return [
        Loss(cause, tokens if number == 0 else 0, codes if len(causes) > 1 else ())
        for number, cause in enumerate(causes)
    ]


def _cause(case: Case, step: Step) -> Cause:
    if step.key is not None:
        return key_cause(step.key, case.rule)
    change = step.change
    assert change is not None, "a step is a change or a parameter"
    if is_growth(change) and change.new.strip():
        return extended_cause(case.prompt, step.span, case.rule)
    return _explained(case, change)


def _explained(case: Case, change: Change) -> Cause:
    assert case.parent_prompt is not None, "changes come from comparing texts"
    pair = Pair(
        child=case.prompt,
        parent=case.parent_prompt,
        divergence=case.divergence,
        child_call=case.call,
        parent_call=case.parent.call,
    )
    return explain(change, pair)
