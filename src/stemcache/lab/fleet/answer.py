"""A simulated fleet as plain values, for JSON and for whoever draws it.

Rates are 0 to 1, to six digits; times are in seconds, to the microsecond; a capacity of null is one
without a bound, and a decode rate of null one without.
"""

from math import isinf
from typing import Any

from stemcache.lab.fleet.outcome import Outcome, Waits
from stemcache.lab.fleet.simulate import FleetSimulation
from stemcache.lab.visit import Tally

__all__ = ["fleet_as_json"]

_PERCENTS = (50, 90, 99)


def fleet_as_json(simulation: FleetSimulation, *, trace: str, unit: str) -> dict[str, Any]:
    """Everything, in the order in which people ask for it."""
    setup, whole = simulation.setup, simulation.one_cache
    ideal, (one,) = whole.survey.ideal, whole.results
    speeds = setup.speeds
    return {
        "trace": trace,
        "requests": ideal.requests,
        "unit": unit,
        "block_size": whole.block_tokens,
        "prompt_tokens": ideal.tokens,
        "blocks": ideal.blocks,
        "distinct_blocks": whole.survey.distinct_blocks,
        "output_tokens": simulation.output_tokens,
        "span_s": 0.0 if whole.times.missing else round(whole.span_s, 3),
        "fleet": {
            "replicas": setup.replicas,
            "capacity_blocks": simulation.capacity_blocks,
            "policy": setup.eviction,
            "prefill_rate": speeds.prefill_tokens_per_s,
            "overhead_s": speeds.overhead_s,
            "decode_rate": None
            if isinf(speeds.decode_tokens_per_s)
            else speeds.decode_tokens_per_s,
            "slots": speeds.slots,
            "knowledge": str(setup.knowledge),
            "gateways": setup.routers,
            "agree": str(setup.agreement),
            "speed": None if setup.concurrency is not None else setup.speed,
            "spread_s": None if setup.concurrency is not None else setup.spread_s,
            "concurrency": setup.concurrency,
            "routing_seed": setup.seed,
        },
        "ideal": _rates(ideal),
        "one_cache": {
            "capacity_blocks": one.capacity_blocks,
            **_rates(one.total),
            "efficiency": _share(one.total.hit_tokens, ideal.hit_tokens),
            "computed_tokens": one.total.tokens - one.total.hit_tokens,
        },
        "results": [_row(each, one.total, ideal) for each in simulation.outcomes],
    }


def _row(outcome: Outcome, one: Tally, ideal: Tally) -> dict[str, Any]:
    total, end_s = outcome.total, outcome.end_s
    return {
        "routing": outcome.routing,
        **_rates(total),
        "of_one_cache": _share(total.hit_tokens, one.hit_tokens),
        "efficiency": _share(total.hit_tokens, ideal.hit_tokens),
        "hit_blocks": total.hit_blocks,
        "hit_tokens": total.hit_tokens,
        "computed_tokens": total.tokens - total.hit_tokens,
        "computed_over_one_cache": _share(
            total.tokens - total.hit_tokens, one.tokens - one.hit_tokens
        ),
        "ttft_s": _waits(outcome.waits),
        "max_over_mean": {
            "requests": round(outcome.requests_over_mean, 6),
            "computed_tokens": round(outcome.computed_over_mean, 6),
        },
        "reasons": {str(reason): count for reason, count in outcome.reasons.items()},
        "predicted_tokens": outcome.predicted_tokens,
        "mispredicted_tokens": outcome.mispredicted_tokens,
        "end_s": round(end_s, 6),
        "replicas": [
            {
                "requests": share.requests,
                "prompt_tokens": share.prompt_tokens,
                "computed_tokens": share.computed_tokens,
                "busy": round(share.busy_s / end_s, 6) if end_s else None,
            }
            for share in outcome.shares
        ],
    }


def _waits(waits: Waits) -> dict[str, float]:
    made = {"mean": round(waits.mean_s, 6)}
    made |= {f"p{percent}": round(waits.percentile_s(percent), 6) for percent in _PERCENTS}
    return made | {"max": round(waits.percentile_s(100), 6)}


def _rates(tally: Tally) -> dict[str, float | None]:
    return {
        "block_hit_rate": _share(tally.hit_blocks, tally.blocks),
        "token_hit_rate": _share(tally.hit_tokens, tally.tokens),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None
