"""How soon requests of a kind come back, learnt while they come: the estimator behind `odds`.

```
    hazard        returns a second of waiting, at each age, of one kind of request

      │   ╭╮                   index at age a = the best that waiting can earn from a on:
      │  ╭╯╰─╮
      │ ╭╯   ╰──╮                max over T of   P(returns within T) / expected wait up to T
      │─╯       ╰────────
      └───────────────── age     before the peak it looks ahead; behind it, it is the hazard
```

A request waits from when it ended until it is continued (it returned) or until nobody watches any
more. Events over waiting time give the hazard, so what is cut short counts for as long as it was
seen, not as a miss (the actuarial estimate). Ages fall into buckets a factor of the square root
of 2 apart. The hazard of a kind is that of all requests, times a factor for each of its features:

    hazard(kind, age) = hazard(age) · Π factor[feature][value](age)

Each factor is events over what the other factors expect, with two requests' worth of doubt that it
is 1; so what was never seen changes nothing, and where no feature tells, the kinds are one and the
oldest goes first: `lru`. Unseen ages start at 0.1 over the age. One sweep over the features a fit,
from where the last one ended (iterative proportional fitting, Deming and Stephan, 1940).

The index is Gittins' (1979): of many things that can be waited for one at a time, and where waiting
costs alike, to wait for the one of the highest index is best. Here a block of the cache waits, for
what pays one hit; hits a second of waiting is what room should earn.

Costs: `observe` O(1); `fit` O(waiting + kinds · ages · (features + ages)) in numpy; `index` O(1).
"""

from collections.abc import Iterable, Sequence
from math import log2
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Kind", "Returns", "Stay"]

Kind = tuple[int, ...]
"""The value of each feature, counted from 0."""

_Floats = npt.NDArray[np.float64]

_AGES = 34
_FIRST_S = 0.5  # the first bucket's end
_STEPS = 2  # buckets for a doubling of the age
_DOUBT = 2.0  # requests
_UNSEEN = 0.1  # hazard times age, before anything was seen
_FORGET = 20_000  # requests after which what was seen counts half
_FEW = 256  # kinds
_SLIGHT = 0.05  # requests; a kind of which less is left is forgotten

_EDGES = np.concatenate([[0.0], _FIRST_S * 2.0 ** (np.arange(_AGES) / _STEPS)])
_STARTS = _EDGES[:-1].tolist()
_WIDTHS = np.diff(_EDGES)
_DISTANCE = np.abs(np.arange(_AGES)[:, None] - np.arange(_AGES)[None, :])
# Neighbouring ages vouch for one another: a bell 1.5 buckets wide, cut at 4.
_BELL = np.where(_DISTANCE <= 4, np.exp(-(_DISTANCE**2) / (2 * 1.5**2)), 0.0)
_PRIOR = _UNSEEN / np.concatenate([[_EDGES[1]], np.sqrt(_EDGES[1:-1] * _EDGES[2:])])


class Stay(NamedTuple):
    """How long some share of a request was waited for."""

    kind: Kind
    since_s: float
    """The age from which on it was of this kind."""
    age_s: float
    """The age at which it returned or was last seen waiting."""
    share: float
    """Of one request."""


class Returns:
    """Hazards of return by kind and age. `values`: how many values each feature has."""

    def __init__(self, values: Sequence[int]) -> None:
        self._rows: dict[Kind, int] = {}
        self._codes = np.zeros((0, len(values)), np.int64)
        self._returned = np.zeros((0, _AGES))
        self._ended = np.zeros((0, _AGES))
        """Stays that end in a bucket, less those that begin in it."""
        self._partly = np.zeros((0, _AGES))
        """Time they spent in it, alike."""
        self._seen = np.zeros(0)
        self._hazard: _Floats = _PRIOR
        self._factors = [np.ones((count, _AGES)) for count in values]
        self._indexes: dict[Kind, list[float]] = {}
        self._asked: dict[Kind, None] = {}
        """Kinds that were asked about before anything was seen of them; likely to be again."""

    def observe(self, stay: Stay, *, returned: bool) -> None:
        """A stay ended: the request came back, or nobody watches it any more."""
        row = self._rows.get(stay.kind)
        if row is None:
            row = self._add(stay.kind)
        end, start = int(_place(stay.age_s)), int(_place(stay.since_s))
        self._ended[row, end] += stay.share
        self._partly[row, end] += stay.share * (stay.age_s - _STARTS[end])
        self._ended[row, start] -= stay.share
        self._partly[row, start] -= stay.share * (stay.since_s - _STARTS[start])
        self._seen[row] += stay.share
        if returned:
            self._returned[row, end] += stay.share

    def fit(self, waiting: Iterable[Stay], *, requests: int) -> None:
        """Estimate anew, `waiting` as far as it has been seen; `requests` since the last time."""
        ended, partly = self._with(waiting)
        beyond = ended[:, ::-1].cumsum(axis=1)[:, ::-1] - ended
        exposure = partly + _WIDTHS * beyond
        total, exposed = self._returned.sum(axis=0), exposure.sum(axis=0)
        self._hazard = (total + _DOUBT) / (exposed + _DOUBT / _PRIOR)
        expected = exposure * self._hazard
        codes = self._codes[: len(expected)]
        for feature, factors in enumerate(self._factors):
            expected *= factors[codes[:, feature]]
        for feature, factors in enumerate(self._factors):
            code = codes[:, feature]
            member = (code == np.arange(len(factors))[:, None]).astype(np.float64)
            came = (member @ self._returned[: len(code)]) @ _BELL
            without = ((member @ expected) / factors) @ _BELL
            better = (came + _DOUBT) / (without + _DOUBT)
            expected *= (better / factors)[code]
            self._factors[feature] = better
        kinds = list(dict.fromkeys([*self._rows, *self._asked]))  # at once, not one by one
        if len(kinds) > 2 * len(self._rows) + _FEW:
            self._asked.clear()
        best = _best(
            self._hazards(np.array(kinds, np.int64).reshape(len(kinds), len(self._factors)))
        )
        self._indexes = dict(zip(kinds, best.tolist(), strict=True))
        self._fade(0.5 ** (requests / _FORGET))

    def index(self, kind: Kind, age_s: float) -> float:
        """Returns a second that waiting on can earn, at best."""
        index = self._indexes.get(kind)
        if index is None:
            [index] = _best(self.hazard(kind)[None, :]).tolist()
            self._indexes[kind] = index
            self._asked[kind] = None
        place = _place(age_s)
        bucket = int(place)
        if not bucket or bucket == _AGES - 1:
            return index[bucket]
        beyond = place - bucket
        return index[bucket] * (1 - beyond) + index[bucket + 1] * beyond

    def hazard(self, kind: Kind) -> _Floats:
        """Returns a second of waiting, in each bucket of ages. Shape (ages,)."""
        hazard: _Floats = self._hazards(np.array([kind]))[0]
        return hazard

    def _hazards(self, codes: npt.NDArray[np.int64]) -> _Floats:
        """Of kinds, one a row. Shape (kinds, ages)."""
        hazards = np.repeat(self._hazard[None, :], len(codes), axis=0)
        for feature, factors in enumerate(self._factors):
            hazards *= factors[codes[:, feature]]
        return hazards

    def _with(self, waiting: Iterable[Stay]) -> tuple[_Floats, _Floats]:
        """What was counted, and those that still wait as if their stay ended now."""
        stays = list(waiting)
        for kind in {stay.kind for stay in stays} - self._rows.keys():
            self._add(kind)
        count = len(self._rows)
        ended, partly = self._ended[:count].copy(), self._partly[:count].copy()
        if stays:
            rows = np.array([self._rows[stay.kind] for stay in stays])
            share = np.array([stay.share for stay in stays])
            for sign, ages in ((1, [s.age_s for s in stays]), (-1, [s.since_s for s in stays])):
                age = np.array(ages)
                bucket = np.minimum(np.searchsorted(_EDGES, age, side="right") - 1, _AGES - 1)
                np.add.at(ended, (rows, bucket), sign * share)
                np.add.at(partly, (rows, bucket), sign * share * (age - _EDGES[bucket]))
        return ended, partly

    def _add(self, kind: Kind) -> int:
        row = self._rows[kind] = len(self._rows)
        if row == len(self._seen):
            more = max(64, row)
            self._codes = np.concatenate([self._codes, np.zeros((more, len(kind)), np.int64)])
            grown = [
                np.concatenate([old, np.zeros((more, _AGES))])
                for old in (self._returned, self._ended, self._partly)
            ]
            self._returned, self._ended, self._partly = grown
            self._seen = np.concatenate([self._seen, np.zeros(more)])
        self._codes[row] = kind
        return row

    def _fade(self, share: float) -> None:
        """Count what was seen for less, and forget kinds of which hardly anything is left."""
        self._returned *= share
        self._ended *= share
        self._partly *= share
        self._seen *= share
        kept = [kind for kind, row in self._rows.items() if self._seen[row] >= _SLIGHT]
        if 2 * len(kept) > len(self._rows):
            return
        rows = [self._rows[kind] for kind in kept]
        self._rows = {kind: row for row, kind in enumerate(kept)}
        self._codes = self._codes[rows]
        self._returned, self._ended = self._returned[rows], self._ended[rows]
        self._partly, self._seen = self._partly[rows], self._seen[rows]


def _best(hazards: _Floats) -> _Floats:
    """The index at the start of each bucket. Shapes (kinds, ages).

    From the last bucket to the first: who waits at its start returns within it, or is left to do
    what waiting from the next one brings.
    """
    returned = -np.expm1(-hazards * _WIDTHS)
    spent, left = returned / hazards, 1.0 - returned
    best = np.empty_like(hazards)
    came, waited = (
        np.zeros_like(hazards),
        np.zeros_like(hazards),
    )  # by the bucket that ends the wait
    for at in range(_AGES - 1, -1, -1):
        now = slice(at, at + 1)
        came[:, at:] = returned[:, now] + left[:, now] * came[:, at:]
        waited[:, at:] = spent[:, now] + left[:, now] * waited[:, at:]
        best[:, at] = (came[:, at:] / waited[:, at:]).max(axis=1)
    return best


def _place(age_s: float) -> float:
    """The bucket of an age, and how far into it on the scale of logarithms."""
    if age_s < _FIRST_S:
        return 0.0
    return min(1.0 + _STEPS * log2(age_s / _FIRST_S), _AGES - 1.0)
