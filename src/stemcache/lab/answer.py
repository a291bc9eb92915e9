"""A simulation as plain values, for JSON and for whoever draws it.

Rates are 0 to 1, to six digits; a capacity or a time to live of null is one without a bound.
"""

from typing import Any

from stemcache.lab.icicle import icicle
from stemcache.lab.simulate import Result, Simulation
from stemcache.lab.survey import AGE_EDGES_S
from stemcache.lab.visit import Tally

__all__ = ["as_json"]

_SHARES = (0.5, 0.9, 0.95)
_DISTANCE_EDGES = [2**power for power in range(31)]


def as_json(simulation: Simulation, *, trace: str, unit: str) -> dict[str, Any]:
    """Everything, in the order in which people ask for it."""
    survey = simulation.survey
    best = {
        result.capacity_blocks: result.total
        for result in simulation.results
        if result.policy == "min"
    }
    capacities = simulation.curve_capacities
    tally = survey.ideal
    block_tokens = simulation.block_tokens
    last = max((edge for edge in _DISTANCE_EDGES if edge <= survey.curve.largest), default=1)
    edges = [edge for edge in _DISTANCE_EDGES if edge <= last]
    return {
        "trace": trace,
        "requests": tally.requests,
        "unit": unit,
        "block_size": block_tokens,
        "prompt_tokens": tally.tokens,
        "blocks": tally.blocks,
        "distinct_blocks": survey.distinct_blocks,
        "span_s": 0.0 if simulation.times.missing else _rounded(simulation.span_s),
        "without_time": simulation.times.missing,
        "out_of_order": {
            "requests": simulation.times.late,
            "furthest_back_s": _rounded(simulation.times.furthest_back_s),
        },
        "caches": "one a session" if simulation.alone else "one",
        "ideal": {**_rates(tally), "tenants": _tenants(survey.tenants)},
        "results": [
            _row(result, tally, best.get(result.capacity_blocks)) for result in simulation.results
        ],
        "lru_needs": [
            {"share_of_ideal": share, "capacity_blocks": simulation.lru_needs(share)}
            for share in _SHARES
        ],
        "lru_curve": {
            "capacity_blocks": capacities,
            "block_hit_rate": [
                _share(int(hits), tally.blocks) for hits in survey.curve.block_hits(capacities)
            ],
            "token_hit_rate": [
                _share(int(hits), tally.tokens)
                for hits in survey.curve.token_hits(capacities, block_tokens)
            ],
        },
        "reuse_distance": {
            "from_blocks": edges,
            "blocks": survey.curve.histogram(edges),
        },
        "reuse_time": {
            "upto_s": [*AGE_EDGES_S, None],
            "blocks": [0] * len(survey.age_blocks)
            if simulation.times.missing
            else survey.age_blocks,
        },
        "prefix_tree": [
            {
                "parent": bar.parent,
                "start_blocks": bar.start_blocks,
                "blocks": bar.blocks,
                "requests": bar.requests,
            }
            for bar in icicle(survey.trees)
        ],
    }


def _row(result: Result, ideal: Tally, best: Tally | None) -> dict[str, Any]:
    total = result.total
    row: dict[str, Any] = {
        "policy": result.policy,
        "capacity_blocks": result.capacity_blocks,
        "ttl_s": result.ttl_s,
        **_rates(total),
        "efficiency": _share(total.hit_tokens, ideal.hit_tokens),
        "hit_blocks": total.hit_blocks,
        "hit_tokens": total.hit_tokens,
        "computed_tokens": total.tokens - total.hit_tokens,
    }
    if best is not None and result.policy != "min-bypass":
        computed = best.tokens - best.hit_tokens
        row["regret"] = {
            "block_hit_rate": _share(best.hit_blocks - total.hit_blocks, total.blocks),
            "computed_over_optimum": _share(total.tokens - total.hit_tokens, computed),
        }
    if result.second_tier_blocks:
        row["second_tier"] = {
            "capacity_blocks": result.second_tier_blocks,
            "block_hit_rate": _share(result.second_tier_hit_blocks, total.blocks),
            "token_hit_rate": _share(result.second_tier_hit_tokens, total.tokens),
        }
    if result.keep_alive:
        row["keep_alive"] = {
            "most_a_prompt": result.keep_alive,
            "requests": result.pings,
            "cached_tokens_read": result.pinged_tokens,
        }
    if not result.refresh:
        row["refresh"] = False
    row["tenants"] = _tenants(result.tenants)
    return row


def _tenants(tenants: dict[str, Tally]) -> dict[str, Any]:
    """By tenant; nothing where the trace names none."""
    if set(tenants) <= {""}:
        return {}
    return {
        tenant: {"requests": tally.requests, "prompt_tokens": tally.tokens, **_rates(tally)}
        for tenant, tally in sorted(tenants.items())
    }


def _rates(tally: Tally) -> dict[str, float | None]:
    return {
        "block_hit_rate": _share(tally.hit_blocks, tally.blocks),
        "token_hit_rate": _share(tally.hit_tokens, tally.tokens),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
