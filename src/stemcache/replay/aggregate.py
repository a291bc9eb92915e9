"""Outcomes into figures. Pure; linear in requests and gaps but for the sorting of percentiles.

Latencies are of whole answers. A request that failed has none, and is counted among the errors; one
that fails fast must not make a target look fast.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stemcache.replay.outcome import UNFINISHED, Outcome, Usage
from stemcache.replay.report import Column, ErrorKind, HitRate, SharePart, Spread, TenantPart

__all__ = [
    "answered_per_s",
    "asked_per_s",
    "cached_shares",
    "columns",
    "error_kinds",
    "gap_spread",
    "known",
    "spread",
    "tenants",
    "usage_hit_rate",
    "whole",
]

_EXAMPLES = 3
_FEWEST_ANSWERS = 10
"""While requests were due, below which their rate is chance."""
_SHARE_EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


def known(values: Iterable[float | None]) -> list[float]:
    """Those that are known."""
    return [value for value in values if value is not None]


def whole(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Those that were answered in full."""
    return [each for each in outcomes if each.error is None]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Of the values that are known; None if there are none."""
    return _spread(np.array(known(values)))


def gap_spread(answered: Iterable[Outcome]) -> Spread | None:
    """Of all gaps of all answers, as one sample."""
    gaps = [np.asarray(each.gaps_s, np.float64) for each in answered if len(each.gaps_s)]
    return _spread(np.concatenate(gaps)) if gaps else None


def _spread(seconds: npt.NDArray[np.float64]) -> Spread | None:
    if not len(seconds):
        return None
    p50, p90, p95, p99 = np.percentile(seconds, [50, 90, 95, 99]).tolist()
    return Spread(
        count=len(seconds),
        mean=float(seconds.mean()),
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=float(seconds.max()),
    )


def usage_hit_rate(answered: Sequence[Outcome]) -> HitRate:
    """By the usage of whole answers. One that does not say is unknown, not zero."""
    says = [each for each in answered if each.cached_share is not None]
    prompt = sum(each.usage.prompt_tokens or 0 for each in says)
    cached = sum(each.usage.cached_tokens or 0 for each in says)
    silent = len(answered) - len(says)
    everything = sum(_prompt_tokens(each) for each in answered)
    return HitRate(
        source="usage",
        prompt_tokens=prompt,
        cached_tokens=cached,
        hit_rate=cached / prompt if prompt else None,
        answers=len(says),
        silent_answers=silent,
        floor=cached / everything if says and silent and everything else None,
    )


def _prompt_tokens(answer: Outcome) -> int:
    """As the target counts them, else as they were asked: an answer without usage had a prompt."""
    counted = answer.usage.prompt_tokens
    return answer.asked_tokens if counted is None else counted


def asked_per_s(outcomes: Sequence[Outcome]) -> float | None:
    """Of the requests that were due, over the time from the first to the last of them."""
    last_due_s = max((each.due_s for each in outcomes), default=0.0)
    return (len(outcomes) - 1) / last_due_s if last_due_s > 0 else None


def answered_per_s(outcomes: Sequence[Outcome]) -> float | None:
    """Of whole answers, from the first one to the moment at which the last request was due.

    A target that keeps up answers as fast as it is asked meanwhile. Before, there could be no
    answer; after, nobody asks, and what is left drains however fast.
    """
    last_due_s = max((each.due_s for each in outcomes), default=0.0)
    ends_s = [each.end_s for each in whole(outcomes) if each.end_s <= last_due_s]
    if len(ends_s) < _FEWEST_ANSWERS or min(ends_s) >= last_due_s:
        return None
    return (len(ends_s) - 1) / (last_due_s - min(ends_s))


def tenants(outcomes: Sequence[Outcome]) -> tuple[TenantPart, ...]:
    """A part for each tenant, most requests first; none where the trace names no tenant."""
    groups: dict[str, list[Outcome]] = {}
    for each in outcomes:
        if each.tenant is not None and each.error != UNFINISHED:
            groups.setdefault(each.tenant, []).append(each)
    parts = []
    for tenant, members in groups.items():
        answered = whole(members)
        parts.append(
            TenantPart(
                tenant=tenant,
                requests=len(members),
                failed=len(members) - len(answered),
                hit_rate=usage_hit_rate(answered).hit_rate,
                prompt_tokens=sum(each.usage.prompt_tokens or 0 for each in answered),
                ttft=spread(each.ttft_s for each in answered),
                e2e=spread(each.e2e_s for each in answered),
            )
        )
    return tuple(sorted(parts, key=lambda part: (-part.requests, part.tenant)))


def cached_shares(answered: Sequence[Outcome]) -> tuple[SharePart, ...]:
    """TTFT by how much of the prompt was cached; only answers that say so."""
    shares = [(share, each) for each in answered if (share := each.cached_share) is not None]
    parts = []
    edges = ((0.0, 0.0), *pairwise(_SHARE_EDGES))
    for low, high in edges:
        members = [
            each for share, each in shares if (share == 0 if high == 0 else low < share <= high)
        ]
        if members:
            times = spread(each.ttft_s for each in members)
            parts.append(SharePart(above=low, up_to=high, requests=len(members), ttft=times))
    return tuple(parts)


def error_kinds(outcomes: Iterable[Outcome]) -> tuple[ErrorKind, ...]:
    """Failures by kind, the most frequent first, each with a few different messages."""
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    for each in outcomes:
        if each.error is None or each.error == UNFINISHED:
            continue
        counts[each.error] += 1
        some = examples.setdefault(each.error, [])
        if each.detail and each.detail not in some and len(some) < _EXAMPLES:
            some.append(each.detail)
    return tuple(
        ErrorKind(kind, count, tuple(examples[kind])) for kind, count in counts.most_common()
    )


def columns(outcomes: Iterable[Outcome]) -> dict[str, Column]:
    """What comparison and plots need of each request, in the order of their numbers."""
    rows = sorted(outcomes, key=lambda each: each.number)
    usages = [each.usage if each.error is None else Usage() for each in rows]
    return {
        "number": tuple(each.number for each in rows),
        "due_s": tuple(_micro(each.due_s) for each in rows),
        "send_lag_s": tuple(_micro(each.lag_s) for each in rows),
        "ttft_s": tuple(_micro(each.ttft_s if each.error is None else None) for each in rows),
        "e2e_s": tuple(_micro(each.e2e_s) for each in rows),
        "tpot_s": tuple(_micro(each.tpot_s if each.error is None else None) for each in rows),
        "prompt_tokens": tuple(usage.prompt_tokens for usage in usages),
        "cached_tokens": tuple(usage.cached_tokens for usage in usages),
        "output_tokens": tuple(usage.output_tokens for usage in usages),
        "failed": tuple(float(each.error not in {None, UNFINISHED}) for each in rows),
    }


def _micro(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
