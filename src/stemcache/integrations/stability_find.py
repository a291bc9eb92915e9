"""Which perturbation it was: all at once first, and one by one only where that made a difference.

```
level 1   all at once       equal ──► next level                      one run a level
          all at once       differs ──► nothing changed               one run; differs: that is it
                            equal then ──► halves, their halves …     two runs a step, the culprits
                            none of them alone ──► leave out one after the other until it is equal
```
"""

from collections.abc import Callable, Iterator, Sequence

from stemcache.integrations.stability_compare import Difference, difference
from stemcache.integrations.stability_prompt import Seen
from stemcache.integrations.stability_report import Finding
from stemcache.integrations.stability_run import Outcome, Raised
from stemcache.integrations.stability_world import Perturbation, World

__all__ = ["OutOfTime", "effect_of", "findings"]

Try = Callable[[World], Outcome]
Under = Callable[[Sequence[Perturbation]], Difference | Raised | None]


class OutOfTime(Exception):  # noqa: N818 - a signal, caught by those who set the limit
    """No run was begun, for the time is over."""


def effect_of(held: Seen, outcome: Outcome) -> Difference | Raised | None:
    """What an outcome is beside the prompt that it is compared with; None where it is equal."""
    return outcome if isinstance(outcome, Raised) else difference(held, outcome)


def findings(
    held: Seen,
    which: Sequence[Perturbation],
    *,
    seed: int,
    runs: int,
    attempt: Try,
    unchanged: Perturbation,
) -> tuple[Finding, ...]:
    """All causes that the first level which differs has. Raises OutOfTime if none was seen yet.

    `unchanged`: what it is called where a run with nothing changed differs too.
    """
    base = World(seed=seed)
    for level in range(1, runs + 1):

        def under(causes: Sequence[Perturbation], level: int = level) -> Difference | Raised | None:
            return effect_of(held, attempt(base.at(level, causes)))

        effect = under(which)
        if effect is None:
            continue
        if isinstance(effect, Difference) and effect.of_an_address:
            # Objects lie elsewhere in every run, moved or not.
            return (Finding((Perturbation.ADDRESS,), effect),)
        try:
            again = under(()) if which else effect
            if again is not None:
                return (Finding((unchanged,), again),)
            found = tuple(_alone(which, effect, under))
            return found or (_together(which, effect, under),)
        except OutOfTime:
            return (Finding(tuple(which), effect, alone=False),)
    return ()


def _alone(
    which: Sequence[Perturbation], effect: Difference | Raised, under: Under
) -> Iterator[Finding]:
    """Those that differ alone, of some that have an effect together.

    A half that has none is looked into no further: log2 of the number, twice, for one culprit.
    """
    if len(which) == 1:
        yield Finding(tuple(which), effect)
        return
    middle = len(which) // 2
    for half in (which[:middle], which[middle:]):
        found = under(half)
        if found is not None:
            yield from _alone(half, found, under)


def _together(which: Sequence[Perturbation], effect: Difference | Raised, under: Under) -> Finding:
    """The fewest that still make a difference, left out one after the other."""
    left = list(which)
    for one in which:
        without = [other for other in left if other is not one]
        now = under(without)
        if now is not None:
            left, effect = without, now
    return Finding(tuple(left), effect)
