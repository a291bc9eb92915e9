"""Where marks earn most under a provider's rule, its prices and a forecast: `place`.

```
rule.kind          marks
markers            exactly the best, at most so many; look-back from each     path
breakpoints        the same, beside the provider's own or with them off       breakpoints
units              none; what is expected to be read                          unmarked
persisted-units    none; the same
objects            one, at the end of the object that pays, or none
usage-only         none; nothing can be said
```
What a placement costs is defined in `cost`; `docs/design/placement.md` says why so.
"""

from collections.abc import Sequence
from dataclasses import replace

from stemcache.errors import UsageError
from stemcache.prompt.marks.breakpoints import endings, exact, without_answers
from stemcache.prompt.marks.cost import Expected, Set, expected
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.fork import with_fork
from stemcache.prompt.marks.ground import Ground, before, ground_of, windows
from stemcache.prompt.marks.path import best_marks
from stemcache.prompt.marks.placement import Held, Placed, Placement
from stemcache.prompt.marks.terms import Terms, terms_of
from stemcache.prompt.marks.unmarked import best_object, expected_object, expected_read
from stemcache.prompt.marks.why import reasons
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["place"]


def place(
    laid: Laid,
    *,
    rule: Rule,
    price: Price | None,
    forecast: Forecast,
    held: Sequence[Held] = (),
    most: int | None = None,
) -> Placement:
    """The marks of the least expected cost. Pure; milliseconds for thousands of pieces.

    `held` are the entries of this conversation's earlier requests, by boundaries of this layout;
    without any, figures are those of an average request that shares the prompt as forecast. `most`
    is how many marks may be set, where that is less than the rule allows. Marks with a longer
    lifetime stand before those with a shorter one, under every rule. The price is a list price, at
    a tier and region of your choice; what long prompts cost more is added here. Raises UsageError
    for chances that are no probabilities, boundaries that there are not, and a negative `most`.
    """
    if most is not None and most < 0:
        raise UsageError(f"most is {most} marks; give at least 0, or None for the rule's number")
    total = laid.tokens()[-1]
    if rule.kind == "usage-only":
        return _nothing(f"rule {rule.name} does not say what is read, only how it is billed")
    terms = terms_of(rule, price, prompt_tokens=total)
    if terms is None:
        return _nothing(f"what a write costs under rule {rule.name} is not known")
    match rule.kind:
        case "markers":
            last = windows(laid, rule)
            ground = ground_of(
                laid, rule=rule, terms=terms, forecast=forecast, held=held, last=last
            )
            return _marked(laid, rule, ground, terms, _fewer(rule.most_markers, most))
        case "breakpoints":
            return _breakpoints(
                laid, rule=rule, terms=terms, forecast=forecast, held=held, most=most
            )
        case "units" | "persisted-units" | "objects":
            last = [len(laid.pieces)] * (len(laid.pieces) + 1)
            ground = ground_of(
                laid, rule=rule, terms=terms, forecast=forecast, held=held, last=last
            )
            if rule.kind == "objects":
                return _object(ground, terms, most)
            return _unmarked(laid, rule, ground, terms)


def _breakpoints(
    laid: Laid,
    *,
    rule: Rule,
    terms: Terms,
    forecast: Forecast,
    held: Sequence[Held],
    most: int | None,
) -> Placement:
    """The better of both modes; where they cost the same the provider's own breakpoints stay on."""
    laid = without_answers(laid)
    looked_up = endings(laid)
    beside = ground_of(
        laid,
        rule=rule,
        terms=terms,
        forecast=forecast,
        held=held,
        last=exact(laid, looked_up),
        own=looked_up[-1:],
    )
    alone = ground_of(laid, rule=rule, terms=terms, forecast=forecast, held=held, last=exact(laid))
    writes = rule.most_markers
    left = None if writes is None else max(writes - len(looked_up[-1:]), 0)
    some = best_marks(beside, terms, _fewer(left, most))
    all_ = best_marks(alone, terms, _fewer(writes, most))
    some = with_fork(laid, beside, terms, some, _fewer(left, most))
    all_ = with_fork(laid, alone, terms, all_, _fewer(writes, most))
    saved = expected(beside, terms, some).score - expected(alone, terms, all_).score
    if saved <= 1e-9 * max(laid.tokens()[-1], 1) * terms.input:
        most = _fewer(left, most)
        return _placement(laid, rule=rule, ground=beside, terms=terms, marks=some, most=most)
    most = _fewer(writes, most)
    placement = _placement(laid, rule=rule, ground=alone, terms=terms, marks=all_, most=most)
    why = "the provider's own breakpoints are off: they would write what is read too seldom"
    return replace(placement, implicit=False, why=(*placement.why, why))


def _marked(laid: Laid, rule: Rule, ground: Ground, terms: Terms, most: int | None) -> Placement:
    marks = best_marks(ground, terms, most)
    if ground.found and rule.look_back is not None:
        marks = _well_inside(laid, rule=rule, ground=ground, terms=terms, marks=marks, most=most)
    marks = with_fork(laid, ground, terms, marks, most)
    return _placement(laid, rule=rule, ground=ground, terms=terms, marks=marks, most=most)


def _well_inside(
    laid: Laid,
    *,
    rule: Rule,
    ground: Ground,
    terms: Terms,
    marks: tuple[Set, ...],
    most: int | None,
) -> tuple[Set, ...]:
    """Of what costs the same, marks that read what is held whatever a look-back is exactly.

    Sources differ by a position or two, and on whether runs are one. A mark at an entry is free
    where the prompt has one to spare.
    """
    assert rule.look_back is not None, "without an end nothing is at the edge"
    narrow = replace(rule, look_back=max(rule.look_back - 1, 1), runs_collapse=False)
    last = windows(laid, narrow)
    found = tuple(replace(one, last=last[one.boundary]) for one in ground.found)
    if found == ground.found:
        return marks
    surer = best_marks(replace(ground, found=found), terms, most)
    least = expected(ground, terms, marks).score
    near = 1e-9 * max(ground.tokens[-1], 1) * terms.input
    return surer if expected(ground, terms, surer).score <= least + near else marks


def _placement(
    laid: Laid,
    *,
    rule: Rule,
    ground: Ground,
    terms: Terms,
    marks: Sequence[Set],
    most: int | None,
) -> Placement:
    figures: Expected = expected(ground, terms, marks)
    return Placement(
        marks=tuple(
            Placed(mark.boundary, terms.lifetimes[mark.lifetime].name)
            for mark in marks
            if mark.boundary not in ground.own
        ),
        expected_usd=figures.cost if terms.in_usd else None,
        expected_read_tokens=figures.read_tokens,
        expected_written_tokens=figures.written_tokens,
        why=(*terms.why, *reasons(laid, ground, terms, marks, rule=rule, most=most)),
    )


def _unmarked(laid: Laid, rule: Rule, ground: Ground, terms: Terms) -> Placement:
    total = ground.tokens[-1]
    read = expected_read(rule, ground, terms)
    kept = total >= rule.minimum_tokens.likely
    rest = terms.lifetimes[terms.usual].write if kept else terms.input
    why = [f"rule {rule.name} reads what prompts share without marks"]
    if not kept:
        why.append(
            f"the prompt has {total:,} tokens, and nothing is kept below "
            f"{rule.minimum_tokens.likely:,}"
        )
    if kept and rule.kind == "persisted-units" and _ends_with_a_turn(laid):
        why.append(
            "a unit is stored up to the prompt's end, the turn with it, so the next request reads "
            "only what two before it shared; say it in the conversation, where it is sent again, "
            "if that is worth more than a shorter history"
        )
    if not rule.guaranteed:
        why.append("the provider promises no reads; more may be read than is expected here")
    return Placement(
        marks=(),
        expected_usd=read * terms.read + (total - read) * rest if terms.in_usd else None,
        expected_read_tokens=read,
        expected_written_tokens=total - read if kept else 0.0,
        why=(*terms.why, *why),
    )


def _ends_with_a_turn(laid: Laid) -> bool:
    """Whether it ends with what the next request will not have, behind what it will."""
    stable = before(laid, lambda piece: piece.stability is Stability.TURN)
    return 0 < stable < len(laid.pieces)


def _object(ground: Ground, terms: Terms, most: int | None) -> Placement:
    best = None if most == 0 else best_object(ground, terms)
    if best is None:
        return Placement(
            marks=(),
            expected_usd=ground.tokens[-1] * terms.input if terms.in_usd else None,
            expected_read_tokens=0.0,
            expected_written_tokens=0.0,
            why=(*terms.why, "no object pays: making it costs more than reading it saves"),
        )
    cost, written = expected_object(ground, terms, best)
    why = "storage is billed beside tokens at a price that is in no list: tokens alone decided"
    return Placement(
        marks=(Placed(best, terms.lifetimes[terms.usual].name),),
        expected_usd=cost if terms.in_usd else None,
        expected_read_tokens=float(ground.tokens[best]),
        expected_written_tokens=written,
        why=(*terms.why, why),
    )


def _nothing(why: str) -> Placement:
    return Placement(
        marks=(),
        expected_usd=None,
        expected_read_tokens=0.0,
        expected_written_tokens=0.0,
        why=(why,),
    )


def _fewer(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)
