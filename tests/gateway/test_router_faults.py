"""Whose fault it is that a request fails, and who is asked when all have failed."""

import pytest

from stemcache.gateway.breaker import BreakerState
from stemcache.gateway.notice import NoticeKind
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.router import Flight
from stemcache.gateway.settings import HealthSettings
from tests.gateway.prompts import text_prompt
from tests.gateway.test_router import Bench, specs

BAD = text_prompt("what no replica survives, " * 40)
GOOD = text_prompt("a question, " * 40)


def attempts(bench: Bench, prompt: Prompt, *, fails: int, kind: str = "dropped") -> Flight | None:
    """Send it as the relay does, one after the other; the flight that does not fail, if one."""
    tried: frozenset[int] = frozenset()
    before: Flight | None = None
    for attempt in range(3):
        decision = bench.router.choose(prompt, now_s=bench.now_s, exclude=tried)
        if decision is None:
            return None
        flight = bench.router.sent(decision, prompt, now_s=bench.now_s, after=before)
        if attempt >= fails:
            return flight
        bench.router.failed(flight, kind, now_s=bench.now_s, blame=True)
        before, tried = flight, tried | {decision.seat}
    return None


def states(bench: Bench) -> list[str]:
    """Of all breakers."""
    return [str(member.breaker.state(bench.now_s)) for member in bench.router.members]


@pytest.mark.parametrize("kind", ["dropped", "no-answer", "timeout", "status-503", "bad-answer"])
def test_requests_that_fail_everywhere_do_not_close_the_fleet(kind: str) -> None:
    """Five of one client: of each, the first attempt counts, and the others blame nobody."""
    bench = Bench(*specs("a", "b", "c"))
    for _ in range(5):
        assert attempts(bench, BAD, fails=3, kind=kind) is None
    assert states(bench).count("open") <= 1
    for _ in range(10):
        bench.finish(bench.send(GOOD), cached=0)


def test_a_fleet_that_has_failed_all_over_is_asked_all_the_same() -> None:
    """However many of them a client sends: good requests go on, and close what has opened."""
    bench = Bench(*specs("a", "b"))
    for _ in range(60):
        attempts(bench, BAD, fails=3)
    assert states(bench) == ["open", "open"]
    assert bench.router.can_take()
    flight = bench.send(GOOD)
    assert flight.trial
    bench.finish(flight, cached=0)
    assert states(bench).count("closed") == 1
    again = bench.send(GOOD)
    assert again.decision.name == flight.decision.name
    assert bench.router.explain(GOOD, now_s=bench.now_s)["left_out"].keys() == {"a", "b"} - {
        flight.decision.name
    }


def test_a_request_that_another_answers_was_not_at_fault() -> None:
    """Two that drop what a third answers are broken, and both count."""
    bench = Bench(*specs("a", "b", "c"), health=HealthSettings(breaker_failures=1))
    flight = attempts(bench, GOOD, fails=2)
    assert flight is not None
    assert states(bench).count("open") == 1, "the second is not known to be at fault yet"
    bench.finish(flight, cached=0)
    assert states(bench).count("open") == 2
    assert states(bench).count("closed") == 1
    assert bench.kinds() == [NoticeKind.BREAKER_OPEN] * 2


def test_an_answer_that_does_not_stream_tells_it_too() -> None:
    """Its first part and its end may be one."""
    bench = Bench(*specs("a", "b", "c"), health=HealthSettings(breaker_failures=1))
    flight = attempts(bench, GOOD, fails=2)
    assert flight is not None
    bench.router.done(flight, None, now_s=bench.now_s)
    assert states(bench).count("open") == 2


def test_a_refused_connection_is_no_request_s_doing() -> None:
    """It counts for every replica that refuses, so that each is checked at once."""
    bench = Bench(*specs("a", "b", "c"), health=HealthSettings(breaker_failures=1))
    assert attempts(bench, GOOD, fails=3, kind="refused") is None
    assert states(bench) == ["open"] * 3


def test_replicas_that_fail_all_they_get_do_not_stay_first_choice() -> None:
    """Three of four drop everything at once, and seem idle: they are left out one by one."""
    bench = Bench(*specs("a", "b", "c", "d"))
    answered = 0
    for number in range(80):
        prompt = text_prompt(f"{number} " * 300)
        tried: frozenset[int] = frozenset()
        before: Flight | None = None
        for _ in range(3):
            decision = bench.router.choose(prompt, now_s=bench.now_s, exclude=tried)
            if decision is None:
                break
            flight = bench.router.sent(decision, prompt, now_s=bench.now_s, after=before)
            if decision.name == "d":
                bench.finish(flight, cached=0)
                answered += number >= 20
                break
            bench.router.failed(flight, "dropped", now_s=bench.now_s, blame=True)
            before, tried = flight, tried | {decision.seat}
    assert answered == 60


def test_a_try_that_fails_as_others_do_frees_its_place() -> None:
    """A request that fails everywhere says nothing of the one that it tries second."""
    bench = Bench(*specs("a", "b"), health=HealthSettings(breaker_failures=1, breaker_open_s=10))
    b = bench.member("b")
    seat_a = frozenset({bench.member("a").seats[0].number})
    bench.router.failed(bench.send(GOOD, exclude=seat_a), "dropped", now_s=bench.now_s, blame=True)
    assert b.breaker.state(bench.now_s) is BreakerState.OPEN
    bench.now_s += 11
    decision = bench.router.choose(BAD, now_s=bench.now_s, exclude=seat_a)
    assert decision is not None
    before = bench.send(BAD)
    trial = bench.router.sent(decision, BAD, now_s=bench.now_s, after=before)
    assert trial.trial
    bench.router.failed(trial, "dropped", now_s=bench.now_s, blame=True)
    assert b.breaker.state(bench.now_s) is BreakerState.HALF_OPEN
    assert b.breaker.allows(bench.now_s)


def test_who_is_kept_away_from_is_asked_where_nobody_else_is_left() -> None:
    """As by a retry, or a request that only one replica can answer."""
    bench = Bench(*specs("a", "b"), health=HealthSettings(breaker_failures=1))
    failing = bench.send(GOOD)
    bench.router.failed(failing, "dropped", now_s=bench.now_s, blame=True)
    other = bench.send(GOOD)
    assert other.decision.name != failing.decision.name
    left = frozenset({other.decision.seat})
    assert bench.send(GOOD, exclude=left).decision.name == failing.decision.name


def busy(bench: Bench, prompt: Prompt, *, for_s: float, blame: bool = True) -> str:
    """A request is refused by a replica that says when to come again; which one."""
    flight = bench.send(prompt)
    bench.router.failed(flight, "status-503", now_s=bench.now_s, blame=blame, busy_s=for_s)
    return flight.decision.name


def test_a_replica_that_says_to_be_busy_is_avoided_as_long_as_it_says() -> None:
    """It is not broken: its breaker stays closed, and it needs no try afterwards."""
    bench = Bench(*specs("a", "b"), health=HealthSettings(breaker_failures=1))
    name = busy(bench, GOOD, for_s=3.0)
    other = ({"a", "b"} - {name}).pop()
    report = bench.router.fleet(now_s=bench.now_s)["replicas"]
    told = {one["name"]: one for one in report}
    assert (told[name]["breaker"], told[name]["busy_left_s"]) == ("closed", 3.0)
    assert (told[other]["busy_left_s"], told[other]["breaker_open_left_s"]) == (0.0, 0.0)
    explained = bench.router.explain(GOOD, now_s=bench.now_s)
    assert explained["left_out"] == {name: "busy, as it says, for 3.0 s more"}
    for number in range(6):
        assert bench.ask(text_prompt(f"{number} " * 400)).decision.name == other
    bench.now_s += 3.0
    assert bench.member(name).breaker.rests(bench.now_s)
    assert name in {bench.ask(text_prompt(f"{n}! " * 400)).decision.name for n in range(6)}


def test_where_all_are_busy_somebody_is_asked_all_the_same() -> None:
    """Its refusal, with the time that it says, is worth more than one of ours."""
    bench = Bench(*specs("a", "b"))
    assert {busy(bench, GOOD, for_s=5.0), busy(bench, GOOD, for_s=5.0)} == {"a", "b"}
    assert bench.router.choose(GOOD, now_s=bench.now_s) is not None


def test_who_has_failed_is_asked_before_who_says_to_be_busy() -> None:
    """One of them may answer; the other has said that it will not."""
    bench = Bench(*specs("a", "b"), health=HealthSettings(breaker_failures=1))
    name = busy(bench, GOOD, for_s=5.0)
    failing = bench.send(GOOD)
    bench.router.failed(failing, "dropped", now_s=bench.now_s, blame=True)
    assert bench.send(GOOD).decision.name == failing.decision.name != name


def test_a_client_that_is_told_to_wait_everywhere_closes_nobody() -> None:
    """A quota of its own, as 429 may mean: of each request the first attempt counts."""
    bench = Bench(*specs("a", "b", "c"))
    tried: frozenset[int] = frozenset()
    before: Flight | None = None
    for _ in range(3):
        decision = bench.router.choose(BAD, now_s=bench.now_s, exclude=tried)
        assert decision is not None
        flight = bench.router.sent(decision, BAD, now_s=bench.now_s, after=before)
        bench.router.failed(flight, "status-429", now_s=bench.now_s, blame=False, busy_s=9.0)
        before, tried = flight, tried | {decision.seat}
    left = [member.breaker.busy_left_s(bench.now_s) for member in bench.router.members]
    assert sorted(left) == [0.0, 0.0, 9.0]


@pytest.mark.parametrize(("open_s", "left"), [(10.0, "10.0"), (60.0, "60.0")])
def test_why_a_replica_is_left_out_says_for_how_long(open_s: float, left: str) -> None:
    """For who looks at the fleet, or asks why a request did not go there."""
    health = HealthSettings(breaker_failures=1, breaker_open_s=open_s)
    bench = Bench(*specs("a", "b"), health=health)
    seat_b = frozenset({bench.member("b").seats[0].number})
    bench.router.failed(bench.send(GOOD, exclude=seat_b), "dropped", now_s=bench.now_s, blame=True)
    why = bench.router.explain(GOOD, now_s=bench.now_s)["left_out"]
    assert why == {"a": f"its breaker is open for {left} s more"}
    bench.now_s += open_s
    trial = bench.send(GOOD, exclude=seat_b)
    assert trial.trial
    why = bench.router.explain(GOOD, now_s=bench.now_s)["left_out"]
    assert why == {"a": "its breaker is half-open, and one request tries"}


def test_down_replicas_are_not_asked_however_many_have_failed() -> None:
    """That nobody is up is another matter than that all have failed."""
    bench = Bench(*specs("a"))
    bench.router.checked("a", ok=False, detail="gone", now_s=bench.now_s)
    assert bench.router.choose(GOOD, now_s=bench.now_s) is None
    assert not bench.router.can_take()
