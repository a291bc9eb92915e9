"""Bounds on latency that a request must keep to be counted as well served. Pure."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from stemcache.errors import UsageError, unknown_choice
from stemcache.replay.outcome import UNFINISHED, Outcome
from stemcache.replay.report import Goodput

__all__ = ["Slo", "goodput", "parse_slo"]

_NAMES = ("e2e", "itl", "tpot", "ttft")
_MOST_SHOWN = 40
_BOUND = re.compile(r"(?P<name>\w+)=(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|)")


@dataclass(frozen=True, slots=True)
class Slo:
    """Upper bounds in seconds, by name. `itl` bounds the mean gap within an answer."""

    bounds_s: dict[str, float]

    def missed(self, outcome: Outcome) -> tuple[str, ...]:
        """Which bounds a whole answer went beyond. One that cannot be measured is kept."""
        gaps = outcome.gaps_s
        measured = {
            "ttft": outcome.ttft_s,
            "itl": sum(gaps) / len(gaps) if gaps else None,
            "tpot": outcome.tpot_s,
            "e2e": outcome.e2e_s,
        }
        return tuple(
            name
            for name, bound_s in self.bounds_s.items()
            if (seconds := measured[name]) is not None and seconds > bound_s
        )


def parse_slo(text: str) -> Slo:
    """`ttft=500ms,itl=50ms,e2e=10s`. Raises UsageError."""
    bounds: dict[str, float] = {}
    for part in text.split(","):
        found = _BOUND.fullmatch(part.strip())
        if found is None:
            raise UsageError(
                f"{part.strip()!r} of --slo is no bound; write ttft=500ms,itl=50ms,e2e=10s"
            )
        name = found["name"]
        if name not in _NAMES:
            raise UsageError(unknown_choice("bound", name, "--slo", _NAMES))
        if name in bounds:
            raise UsageError(f"--slo bounds {name} twice; leave one out")
        bound_s = float(found["number"]) * (0.001 if found["unit"] == "ms" else 1.0)
        if not 0 < bound_s < math.inf:
            raise UsageError(
                f"{part.strip()[:_MOST_SHOWN]!r} of --slo bounds nothing; write a time that an "
                f"answer can keep and miss, such as {name}=500ms"
            )
        bounds[name] = bound_s
    return Slo(bounds)


def goodput(outcomes: Sequence[Outcome], slo: Slo, *, window_s: float) -> Goodput:
    """How many of the requests that ended of themselves kept every bound."""
    kept, missed = 0, dict.fromkeys(slo.bounds_s, 0)
    ended = [each for each in outcomes if each.error != UNFINISHED]
    for outcome in ended:
        if outcome.error is not None:
            continue
        beyond = slo.missed(outcome)
        kept += not beyond
        for name in beyond:
            missed[name] += 1
    return Goodput(
        slo=slo.bounds_s,
        kept=kept,
        of=len(ended),
        share=kept / len(ended) if ended else 0.0,
        requests_per_s=kept / window_s if window_s > 0 else 0.0,
        missed=missed,
    )
