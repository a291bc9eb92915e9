"""Choosing a token from logits.

Chance comes from a counter, not from a stream: the draw for the n-th token of a request depends on
its seed and n alone. Batches, preemption and prefix hits cannot change it.
"""

import numpy as np
import numpy.typing as npt

from stemcache.engine.request import Sampling, TokenLogprobs

__all__ = ["Row", "choose", "greedy", "logprobs"]

Row = npt.NDArray[np.float32]
"""Logits of one position: shape (vocabulary,)."""

_COLDEST = 1e-30  # below it, sampling is greedy to the last bit
_FLOOR = -745.0  # the exponential of less is 0

_HEAD = 1024  # candidates sorted before the whole vocabulary is


def greedy(logits: Row) -> int:
    """The most probable token; the smallest id among equals."""
    return int(logits.argmax())


def choose(logits: Row, sampling: Sampling, *, seed: int, number: int) -> int:
    """The `number`-th token of an answer.

    Keeps `top_k` tokens, then of those the smallest set that reaches `top_p`, then draws.
    """
    if sampling.temperature == 0:
        return greedy(logits)
    # The peak goes first: divided by a tiny temperature, large logits would overflow to inf - inf.
    below = logits.astype(np.float64) - float(logits.max())
    weights = np.exp(np.maximum(below / max(sampling.temperature, _COLDEST), _FLOOR))
    draw = _uniform(seed, number)
    if not sampling.top_k and sampling.top_p >= 1:
        return _pick(weights, draw)
    ids = _nucleus(weights, sampling)
    return int(ids[_pick(weights[ids], draw)])


def logprobs(logits: Row, token: int, count: int) -> TokenLogprobs:
    """Log-probabilities of `token` and of the `count` most probable."""
    wide = logits.astype(np.float64)
    peak = wide.max()
    normed = wide - (peak + np.log(np.exp(wide - peak).sum()))
    top: tuple[tuple[int, float], ...] = ()
    if count:
        ids = _largest(normed, count)
        top = tuple((int(at), float(normed[at])) for at in ids)
    return TokenLogprobs(float(normed[token]), top)


def _uniform(seed: int, number: int) -> float:
    """A number in [0, 1) for a seed and a count."""
    bits = np.random.Philox(key=seed & (2**64 - 1), counter=number)
    return float(np.random.Generator(bits).random())


def _pick(weights: npt.NDArray[np.float64], draw: float) -> int:
    total = weights.cumsum()
    return min(int(total.searchsorted(draw * total[-1], side="right")), len(weights) - 1)


def _largest(values: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.intp]:
    """Indices of the `count` largest values, largest first, smaller index first among equals."""
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    edge = values[np.argpartition(values, len(values) - count)[len(values) - count :]].min()
    ids = np.flatnonzero(values >= edge)
    return ids[np.argsort(-values[ids], kind="stable")][:count]


def _nucleus(weights: npt.NDArray[np.float64], sampling: Sampling) -> npt.NDArray[np.intp]:
    kept = sampling.top_k or len(weights)
    ids = _largest(weights, min(kept, _HEAD))
    if sampling.top_p < 1:
        total = weights.sum() if kept >= len(weights) else weights[_largest(weights, kept)].sum()
        reach = weights[ids].cumsum()
        if reach[-1] < sampling.top_p * total and len(ids) < kept:
            ids = _largest(weights, kept)
            reach = weights[ids].cumsum()
        ids = ids[: int(reach.searchsorted(sampling.top_p * total)) + 1]
    elif len(ids) < kept:
        ids = _largest(weights, kept)
    return ids
