"""What is told of a choice that is not made."""

import pytest

from stemcache.policy.route import NAMES
from tests.gateway.prompts import text_prompt
from tests.gateway.test_router import LONG, Bench, specs


def test_each_seat_is_told_with_its_wait_and_its_whole_cost() -> None:
    """The least is chosen, and its parts add up."""
    bench = Bench(*specs("a", "b", "c"))
    bench.ask(text_prompt(LONG), cached=0)
    explained = bench.router.explain(text_prompt(LONG), now_s=bench.now_s)
    seats = {seat["replica"]: seat for seat in explained["seats"]}
    decision = explained["decision"]
    chosen = seats[decision["replica"]]
    assert chosen["cost_ms"] == min(seat["cost_ms"] for seat in seats.values())
    assert chosen["predicted_ttft_ms"] == decision["predicted_ttft_ms"]
    for seat in seats.values():
        parts = seat["cost_parts_ms"]
        assert list(parts) == ["wait", "copy", "pressure", "turn", "place"]
        assert sum(parts.values()) == pytest.approx(seat["cost_ms"], abs=0.01)
        assert parts["wait"] == seat["predicted_ttft_ms"]
    others = [seat for name, seat in seats.items() if name != decision["replica"]]
    assert all(seat["cost_parts_ms"]["copy"] > 100 for seat in others)
    assert seats[decision["runner_up"]]["predicted_ttft_ms"] == decision["runner_up_ttft_ms"]


@pytest.mark.parametrize("policy", [name for name in NAMES if name != "auto"])
def test_policies_that_weigh_nothing_else_tell_the_wait(policy: str) -> None:
    """And no cost, rather than one of nothing."""
    bench = Bench(*specs("a", "b"), policy=policy)
    for seat in bench.router.explain(text_prompt(LONG), now_s=bench.now_s)["seats"]:
        assert seat["predicted_ttft_ms"] > 50.0
        assert (seat["cost_ms"], seat["cost_parts_ms"]) == (None, None)


def test_explaining_weighs_without_counting() -> None:
    """As often as one likes: the next request finds all as it was."""
    bench = Bench(*specs("a", "b"))
    bench.ask(text_prompt(LONG), cached=0)
    told = [bench.router.explain(text_prompt(LONG), now_s=bench.now_s) for _ in range(50)]
    assert told[0]["seats"] == told[49]["seats"]


def test_nobody_to_choose_from_is_no_seat_to_tell_of() -> None:
    """Neither a wait nor a cost."""
    bench = Bench(*specs("a"))
    bench.router.drain("a", on=True)
    explained = bench.router.explain(text_prompt(LONG), now_s=bench.now_s)
    assert (explained["decision"], explained["seats"]) == (None, [])
