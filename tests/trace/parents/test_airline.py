"""Real conversations, interleaved, ids removed, with clocks, rewrites and forks planted in them."""

from pathlib import Path

import pytest

from benchmarks.parents.run import score, trajectories
from benchmarks.parents.traffic import Message, traffic

AIRLINE = Path(__file__).parents[4] / "shared" / "traces" / "tau_bench_airline.json.gz"

pytestmark = pytest.mark.skipif(not AIRLINE.is_file(), reason="the trajectories are not there")


@pytest.fixture(scope="module")
def conversations() -> list[list[Message]]:
    """70 of the 200; all of them are played by `benchmarks.parents.run`."""
    return trajectories(AIRLINE)[:70]


@pytest.mark.parametrize("at_once", [8, 50])
def test_the_true_parent_is_found_for_99_of_100_requests(
    conversations: list[list[Message]], at_once: int
) -> None:
    """Over every conversation's requests but its first, which has none in it."""
    result = score(traffic(conversations, at_once=at_once, seed=1))
    assert result.asked.total() > 800
    assert all(result.asked[how] > 15 for how in ("fork", "shortened", "truncated"))
    assert result.share >= 0.99, f"{at_once} at once: {result}"
