"""Where markers stand, judged by what a child and its parent share but the child could not read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stemcache.lint.ladder import Ladder
from stemcache.provider.cache.cuts import Cuts
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape

__all__ = ["Misplaced", "marked", "misplaced"]

LEAST_TOKENS = 64
"""A tail shorter than that is not worth a marker of its own."""

Fault = Literal["no-marker", "look-back", "marker-placement", "frozen-markers", "below-minimum"]


@dataclass(frozen=True, slots=True)
class Misplaced:
    """What is wrong with the markers of a request."""

    fault: Fault
    span: int
    """Number of the child's span to point at."""
    lost_tokens: int
    detail: str
    """What is wrong, on one line."""


def misplaced(
    rule: Rule,
    child: Shape,
    *,
    parent_marks: Sequence[int],
    held: Cuts,
    ladder: Ladder,
    read_tokens: int,
) -> Misplaced | None:
    """The fault, if what is left above the last level is worth one. Pure.

    `parent_marks` and `held` number the parent's positions that it marked, and at which it left
    something.
    """
    aligned = ladder.aligned
    shared = [i for i, parent_span in enumerate(aligned) if parent_span >= 0]
    if not shared:
        return None
    last = shared[-1]
    marks = marked(child)
    minimum = rule.minimum_tokens.likely
    if not ladder.top:
        wants = rule.kind != "markers" or marks
        if wants and 0 < ladder.shared_tokens < minimum:
            lost = ladder.shared_tokens - read_tokens
            text = (
                f"about {ladder.shared_tokens:,} tokens, fewer than the {minimum:,} that are kept"
            )
            return Misplaced("below-minimum", marks[-1] if marks else last, max(0, lost), text)
        return None
    lost = ladder.top - max(ladder.levels[-1], read_tokens)
    if held.everywhere or lost < LEAST_TOKENS or rule.kind not in {"markers", "breakpoints"}:
        return None  # where nobody places markers, none stands wrong
    if rule.kind == "markers" and not marks:
        return Misplaced("no-marker", last, lost, "nothing is marked, so nothing is kept")
    left = [
        i for i in shared if aligned[i] in held.positions and ladder.within[i] > ladder.levels[-1]
    ]
    if left:
        return _unreached(marks, left[-1], lost, rule)
    varying = [i for i in marks if i > last or aligned[i] < 0]
    if varying and not any(aligned[i] >= 0 and i >= last for i in marks):
        beyond = set(parent_marks).difference(aligned)
        if beyond:
            return Misplaced(
                "marker-placement",
                varying[0],
                lost,
                "the marker stands behind text that differs from request to request",
            )
    if rule.kind == "breakpoints" and child.implicit and not marks:
        return None  # the provider places the breakpoint, at an end that it chooses
    stayed = {aligned[i] for i in marks if aligned[i] >= 0}.issuperset(parent_marks)
    if rule.most_markers is not None and len(parent_marks) >= rule.most_markers and stayed:
        return Misplaced(
            "frozen-markers",
            marks[-1] if marks else last,
            lost,
            f"all {rule.most_markers} markers stay where they are while the history grows",
        )
    return Misplaced(
        "marker-placement", last, lost, "what is sent again up to here has no marker at its end"
    )


def _unreached(marks: Sequence[int], left: int, lost: int, rule: Rule) -> Misplaced:
    behind = [i for i in marks if i > left]
    if behind and rule.look_back is not None:
        return Misplaced(
            "look-back",
            behind[0],
            lost,
            f"{behind[0] - left} blocks were added since the last marker, "
            f"and it looks back over {rule.look_back}",
        )
    return Misplaced(
        "marker-placement", left, lost, "the parent left a marker here that this request lacks"
    )


def marked(shape: Shape) -> list[int]:
    """Numbers of the positions that are marked, a mark on the whole at the last."""
    marks = [i for i, position in enumerate(shape.positions) if position.mark is not None]
    last = len(shape.positions) - 1
    if shape.automatic is not None and last >= 0 and last not in marks:
        marks.append(last)
    return marks
