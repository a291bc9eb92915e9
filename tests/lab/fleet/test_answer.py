"""The JSON of a simulated fleet."""

import json
import math

from stemcache.lab.fleet.answer import fleet_as_json
from stemcache.lab.fleet.setup import Speeds
from stemcache.lab.fleet.simulate import simulate_fleet
from stemcache.lab.question import Capacity, Question
from tests.lab.fleet.fleets import request, setup

TALKS = [
    request(0.0, 1, 2, output=11),
    request(10.0, 11, 12, output=21),
    request(20.0, 1, 2, 3),
    request(30.0, 11, 12, 13),
]


def test_every_field_of_a_little_fleet() -> None:
    """Two conversations over two replicas in turn, to the last digit."""
    told = fleet_as_json(simulate_fleet(TALKS, setup(), Question()), trace="t", unit="tokens")
    assert told == {
        "trace": "t",
        "requests": 4,
        "unit": "tokens",
        "block_size": 100,
        "prompt_tokens": 1000,
        "blocks": 10,
        "distinct_blocks": 6,
        "output_tokens": 32,
        "span_s": 30.0,
        "fleet": {
            "replicas": 2,
            "capacity_blocks": 100,
            "policy": "lru",
            "prefill_rate": 100.0,
            "overhead_s": 0.0,
            "decode_rate": 10.0,
            "slots": 4,
            "knowledge": "exact",
            "gateways": 1,
            "agree": "alone",
            "speed": 1.0,
            "spread_s": 0.0,
            "concurrency": None,
            "routing_seed": 0,
        },
        "ideal": {"block_hit_rate": 0.4, "token_hit_rate": 0.4},
        "one_cache": {
            "capacity_blocks": 200,
            "block_hit_rate": 0.4,
            "token_hit_rate": 0.4,
            "efficiency": 1.0,
            "computed_tokens": 600,
        },
        "results": [
            {
                "routing": "round-robin",
                "block_hit_rate": 0.4,
                "token_hit_rate": 0.4,
                "of_one_cache": 1.0,
                "efficiency": 1.0,
                "hit_blocks": 4,
                "hit_tokens": 400,
                "computed_tokens": 600,
                "computed_over_one_cache": 1.0,
                "ttft_s": {"mean": 1.5, "p50": 1.0, "p90": 2.0, "p99": 2.0, "max": 2.0},
                "max_over_mean": {"requests": 1.0, "computed_tokens": 1.0},
                "reasons": {"turn": 4},
                "predicted_tokens": 400,
                "mispredicted_tokens": 0,
                "end_s": 31.0,
                "replicas": [
                    {
                        "requests": 2,
                        "prompt_tokens": 500,
                        "computed_tokens": 300,
                        "busy": 0.096774,
                    },
                    {
                        "requests": 2,
                        "prompt_tokens": 500,
                        "computed_tokens": 300,
                        "busy": 0.096774,
                    },
                ],
            }
        ],
    }


def test_what_has_no_bound_is_null_and_json_stays_json() -> None:
    """Capacity and decode rate; speed where clients wait; rates where there are no tokens."""
    fleet = setup(capacity=Capacity(), speeds=Speeds(100.0, 0.0, math.inf, 4), concurrency=1)
    empty = [request(None), request(None)]
    told = fleet_as_json(simulate_fleet(empty, fleet, Question()), trace="t", unit="tokens")
    assert told["fleet"]["capacity_blocks"] is None
    assert told["fleet"]["decode_rate"] is None
    assert (told["fleet"]["speed"], told["fleet"]["spread_s"]) == (None, None)
    assert told["one_cache"]["capacity_blocks"] is None
    assert told["results"][0]["token_hit_rate"] is None
    assert told["results"][0]["replicas"][0]["busy"] is None
    json.dumps(told, allow_nan=False)
