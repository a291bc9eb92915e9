"""What is made of a load's report and the workers' counts."""

from typing import Any

import pytest

from benchmarks.route.faults import recovered, windows
from benchmarks.route.measure import figures, one_cache


def _report(*shots: tuple[float, float | None, float, int, str]) -> dict[str, Any]:
    return {"shots": [[*shot, 0] for shot in shots], "wall_s": 2.0, "cpu_s": 0.1}


def test_rates_and_times_are_of_what_was_asked() -> None:
    """Times count from when a request was due; failures are told by kind and not timed."""
    report = _report(
        (0.0, 0.010, 0.020, 200, "ok"),
        (0.5, 0.530, 0.540, 200, "ok"),
        (1.0, None, 9.0, 0, "refused"),
    )
    counts = [
        {"requests": 3, "characters": 640, "cached_blocks": 5, "busy_s": 1.0},
        {"requests": 1, "characters": 640, "cached_blocks": 5, "busy_s": 0.5},
    ]
    found = figures(report, counts)
    assert found["hit_rate"] == 0.5
    assert found["max_over_mean"] == 1.5
    assert found["busy_share"] == 0.375
    assert found["requests_per_s"] == 1.0
    assert found["ttft_mean_ms"] == pytest.approx(20.0)
    assert found["total_p50_ms"] == pytest.approx(30.0)
    assert found["failed"] == {"refused": 1}


def test_nothing_asked_is_unknown() -> None:
    """Without an answer there is no time, without a prompt no hit rate."""
    found = figures(_report((0.0, None, 1.0, 0, "refused")), [{}, {}])
    assert found["hit_rate"] is None
    assert found["ttft_p99_ms"] is None
    assert found["max_over_mean"] is None


def test_one_cache_sees_all_in_order() -> None:
    """Half of the blocks of two equal prompts are found, none in a cache that is too small."""
    assert one_cache([[1, 2], [1, 2]], 10) == 0.5
    assert one_cache([[1], [2], [1], [2]], 1) == 0.0
    assert one_cache([], 5) == 0.0


def test_recovery_is_from_the_last_restart_on() -> None:
    """The first window since then that is within two points of the usual rate."""
    samples = [(float(at), at * 100, at * 90 if at < 5 else 450 - 90 + at * 1) for at in range(6)]
    samples += [(6.0, 600, 400), (7.0, 700, 489), (8.0, 800, 579)]
    rates = windows(samples, span=1)
    assert rates[0] == (1.0, 0.9)
    assert recovered(rates, 5.0, 0.9) == 2.0
    assert recovered(rates, 5.0, 0.99) is None
    assert recovered(rates, 5.0, None) is None
