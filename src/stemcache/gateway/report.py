"""`/v1/fleet` and `route explain` as JSON: what the router knows, without any prompt's text."""

from collections.abc import Sequence
from typing import Any

from stemcache.gateway.decision import Source
from stemcache.gateway.member import Member, Seat
from stemcache.gateway.mirror import Mirror
from stemcache.policy.route.contract import Cost, View

__all__ = ["member_report", "view_report"]


def member_report(member: Member, mirror: Mirror, *, now_s: float) -> dict[str, Any]:
    """One replica."""
    return {
        "name": member.spec.name,
        "url": member.spec.url,
        "engine": str(member.engine),
        "state": _state(member),
        "detail": member.detail,
        "breaker": str(member.breaker.state(now_s)),
        "breaker_opened": member.breaker.opened,
        "breaker_open_left_s": round(member.breaker.open_left_s(now_s), 1),
        "busy_left_s": round(member.breaker.busy_left_s(now_s), 1),
        "weight": member.spec.weight,
        "models": sorted(member.models),
        "adapters": sorted(member.adapters),
        "started": member.started,
        "seats": [_seat(seat, mirror, now_s) for seat in member.seats],
    }


def view_report(
    views: Sequence[View],
    sources: Sequence[Source],
    waits_s: Sequence[float],
    costs: Sequence[Cost] | None,
) -> list[dict[str, Any]]:
    """What a policy saw of each seat that it could choose.

    `waits_s`: predicted times to first token; `costs`: of a policy that weighs more than loads.
    """
    weighed: Sequence[Cost | None] = [None] * len(views) if costs is None else costs
    return [
        {
            "replica": view.name,
            "cached_tokens": _looked_for(view.cached_tokens, source),
            "slow_tier_tokens": _looked_for(view.slow_tokens, source),
            "source": str(source),
            "in_flight": view.in_flight,
            "waiting_tokens": view.waiting_tokens,
            "utilization": round(view.utilization, 4),
            "predicted_ttft_ms": _ms(wait_s),
            "cost_ms": None if cost is None else _ms(cost.sum_s),
            "cost_parts_ms": None if cost is None else _parts(cost),
        }
        for view, source, wait_s, cost in zip(views, sources, waits_s, weighed, strict=True)
    ]


def _parts(cost: Cost) -> dict[str, float]:
    return {
        "wait": _ms(cost.wait_s),
        "copy": _ms(cost.copy_s),
        "pressure": _ms(cost.pressure_s),
        "turn": _ms(cost.turn_s),
        "place": _ms(cost.place_s),
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3) + 0.0  # no -0.0


def _looked_for(tokens: int, source: Source) -> int | None:
    return None if source is Source.NONE else tokens


def _state(member: Member) -> str:
    if member.leaving:
        return "leaving"
    if member.draining:
        return "draining"
    return "up" if member.up else "down"


def _seat(seat: Seat, mirror: Mirror, now_s: float) -> dict[str, Any]:
    view = seat.load.view(seat.name, cached_tokens=0, slow_tokens=0, now_s=now_s)
    check = seat.check
    holdings = mirror.holdings(seat.number)
    return {
        "name": seat.name,
        "rank": seat.rank,
        "in_flight": view.in_flight,
        "waiting_tokens": view.waiting_tokens,
        "utilization": round(view.utilization, 4),
        "rates": {
            "base_ms": round(view.rates.base_s * 1e3, 3),
            "prefill_us_per_token": round(view.rates.prefill_s * 1e6, 3),
            "busy_ms_per_request": round(view.rates.busy_s * 1e3, 3),
            "learned_from_streams": seat.load.rates.streams,
        },
        "requests": dict(seat.reasons),
        "outcomes": dict(seat.outcomes),
        "mirror": {
            "source": "events" if mirror.follows(seat.number) else "guess",
            "held_tokens": mirror.held_tokens(seat.number),
            "capacity_tokens": mirror.capacity_tokens(seat.number),
            "event_blocks": None if holdings is None else len(holdings),
            "gaps": seat.gaps,
            "resets": seat.resets,
        },
        "self_check": {
            "standing": str(check.standing),
            "answers_with_report": check.answers,
            "answers_without": check.silent,
            "answers_not_predicted": check.unpredicted,
            "predicted_cached_tokens": check.predicted_tokens,
            "reported_cached_tokens": check.reported_tokens,
            "prompt_tokens": check.prompt_tokens,
            "differing": check.differing,
        },
    }
