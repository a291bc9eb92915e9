"""Choosing a seat and learning from its answer, through the real mirror and policies."""

from dataclasses import replace
from random import Random

import pytest

from stemcache.gateway.decision import Source
from stemcache.gateway.gossip import Placement
from stemcache.gateway.member import Member
from stemcache.gateway.notice import Notice, NoticeKind
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.router import Flight, Router
from stemcache.gateway.self_check import Standing
from stemcache.gateway.settings import Agree, GatewaySettings, HealthSettings, Limits
from stemcache.gateway.usage import AnswerUsage
from stemcache.policy.route import NAMES
from stemcache.policy.route.contract import Reads, Reason
from tests.gateway.prompts import nothing_to_route, text_prompt, token_prompt

LONG = "x" * 100 + "a system prompt of some length, " * 60


def specs(*names: str, **more: object) -> list[ReplicaSpec]:
    """Replicas by name."""
    """Replicas by name."""
    return [ReplicaSpec(name=name, url=f"http://{name}", **more) for name in names]  # type: ignore[arg-type]


class Bench:
    """A router, its notices, and a clock."""

    def __init__(self, *replicas: ReplicaSpec, **settings: object) -> None:
        self.notices: list[Notice] = []
        self.settings = GatewaySettings(replicas=replicas, **settings)  # type: ignore[arg-type]
        self.router = Router(self.settings, rng=Random(1), on_notice=self.notices.append)
        self.router.configure(self.settings, replicas)
        self.now_s = 100.0

    def member(self, name: str) -> Member:
        return next(each for each in self.router.members if each.spec.name == name)

    def send(self, prompt: Prompt, *, exclude: frozenset[int] = frozenset()) -> Flight:
        decision = self.router.choose(prompt, now_s=self.now_s, exclude=exclude)
        assert decision is not None, "somebody can take it"
        return self.router.sent(decision, prompt, now_s=self.now_s)

    def finish(self, flight: Flight, *, cached: int | None, prompt: int | None = None) -> None:
        self.now_s += 0.05
        self.router.first(flight, now_s=self.now_s)
        self.now_s += 0.05
        usage = AnswerUsage(prompt or flight.decision.prompt_tokens, cached, 10)
        self.router.done(flight, usage, now_s=self.now_s)

    def ask(self, prompt: Prompt, *, cached: int | None = None) -> Flight:
        flight = self.send(prompt)
        self.finish(flight, cached=cached)
        return flight

    def kinds(self) -> list[NoticeKind]:
        return [notice.kind for notice in self.notices if notice.kind is not NoticeKind.JOINED]


def test_a_second_turn_goes_where_the_first_went() -> None:
    """The guess is enough, without events, tokenizer or session."""
    bench = Bench(*specs("a", "b", "c"))
    first = bench.ask(text_prompt(LONG), cached=0)
    again = bench.send(text_prompt(LONG + "and a question. " * 10))
    assert again.decision.name == first.decision.name
    assert again.decision.choice.reason is Reason.CACHED
    assert again.decision.predicted_cached > 400
    assert again.decision.source is Source.GUESS


def test_other_prompts_are_spread() -> None:
    """One at a time and cold, nobody gets everything."""
    bench = Bench(*specs("a", "b", "c", "d"))
    for number in range(40):
        bench.ask(text_prompt(f"{number} " * 500), cached=0)
    counts = [member.seats[0].outcomes["done"] for member in bench.router.members]
    assert sum(counts) == 40
    assert max(counts) <= 13


def test_nobody_left_is_none_and_not_an_error() -> None:
    """Down, draining and excluded seats are not chosen."""
    bench = Bench(*specs("a", "b", "c"))
    bench.router.checked("a", ok=False, detail="no answer", now_s=bench.now_s)
    bench.router.drain("b", on=True)
    only = bench.send(text_prompt(LONG))
    assert only.decision.name == "c"
    assert only.decision.choice.reason is Reason.ONLY
    assert only.decision.runner_up is None
    excluded = frozenset({only.decision.seat})
    assert bench.router.choose(text_prompt(LONG), now_s=bench.now_s, exclude=excluded) is None


def test_a_drained_replica_finishes_what_it_has_and_can_serve_again() -> None:
    """Draining cuts nothing off."""
    bench = Bench(*specs("a"))
    flight = bench.send(text_prompt(LONG))
    assert bench.router.drain("a", on=True)
    assert bench.router.choose(text_prompt(LONG), now_s=bench.now_s) is None
    bench.finish(flight, cached=0)
    assert bench.router.drain("a", on=False)
    assert bench.send(text_prompt(LONG)).decision.name == "a"
    assert not bench.router.drain("nobody", on=True)
    assert bench.kinds() == [NoticeKind.DRAINING, NoticeKind.SERVING]


def test_failures_open_the_breaker_and_a_check_that_ends_well_closes_it() -> None:
    """Only failures that are the replica's own count."""
    bench = Bench(*specs("a", "b"), health=HealthSettings(breaker_failures=2))
    seat_b = bench.member("b").seats[0].number
    for _ in range(3):
        flight = bench.send(text_prompt(LONG), exclude=frozenset({seat_b}))
        bench.router.failed(flight, "client-left", now_s=bench.now_s, blame=False)
    assert NoticeKind.BREAKER_OPEN not in bench.kinds()
    for _ in range(2):
        flight = bench.send(text_prompt(LONG), exclude=frozenset({seat_b}))
        bench.router.failed(flight, "dropped", now_s=bench.now_s, blame=True)
    assert bench.kinds() == [NoticeKind.BREAKER_OPEN]
    assert {bench.ask(text_prompt(f"{n}" * 600)).decision.name for n in range(6)} == {"b"}
    bench.router.checked("a", ok=False, detail="no", now_s=bench.now_s)
    bench.router.checked("a", ok=True, detail="ok", now_s=bench.now_s)
    assert "a" in {bench.ask(text_prompt(f"{n}!" * 600)).decision.name for n in range(6)}


def test_a_replica_that_is_found_well_while_its_breaker_is_open_is_tried_at_once() -> None:
    """As after a restart so short that no check found it down."""
    bench = Bench(*specs("a", "b"), health=HealthSettings(breaker_failures=1))
    failing = bench.send(text_prompt(LONG))
    name = failing.decision.name
    bench.router.failed(failing, "dropped", now_s=bench.now_s, blame=True)
    assert bench.send(text_prompt(LONG)).decision.name != name
    bench.router.checked(name, ok=True, detail="ok", now_s=bench.now_s)
    assert bench.send(text_prompt(LONG)).decision.name == name


def test_only_the_one_that_tries_closes_or_opens_a_breaker_again() -> None:
    """What was sent before it opened says nothing of now."""
    health = HealthSettings(breaker_failures=1, breaker_open_s=10)
    bench = Bench(*specs("a"), health=health)
    breaker = bench.member("a").breaker
    old, other, failing = (bench.send(text_prompt(LONG)) for _ in range(3))
    bench.router.failed(failing, "dropped", now_s=bench.now_s, blame=True)
    bench.now_s += 11
    trial = bench.send(text_prompt(LONG))
    assert (old.trial, trial.trial) == (False, True)
    bench.router.failed(old, "client-left", now_s=bench.now_s, blame=False)
    assert not breaker.allows(bench.now_s), "one at a time"
    bench.finish(other, cached=0)
    assert breaker.opened == 1
    assert not breaker.allows(bench.now_s)
    bench.finish(trial, cached=0)
    assert breaker.allows(bench.now_s)


def test_what_a_reload_claims_of_a_replica_is_taken() -> None:
    """Models, engine and size of its cache, and their absence."""
    one = ReplicaSpec(name="a", url="http://a", models=("x",), kv_tokens=5000)
    bench = Bench(one)
    other = ReplicaSpec(name="a", url="http://a", models=("y",), engine=Engine.VLLM, kv_tokens=7000)
    bench.router.configure(bench.settings, [other])
    member = bench.member("a")
    assert (sorted(member.models), member.engine) == (["y"], Engine.VLLM)
    assert bench.router.mirror.capacity_tokens(member.seats[0].number) == pytest.approx(
        7000, rel=0.01
    )
    bench.router.configure(bench.settings, specs("a"))
    assert bench.member("a").models == frozenset()


def test_only_the_last_answers_decide_how_a_mirror_is_repaired() -> None:
    """That it once predicted too much does not clear what now is predicted too little."""
    bench = Bench(*specs("a"))
    check = bench.member("a").seats[0].check
    for _ in range(20):
        check.add(1000, 0, 2000, slack=1)
    check.begin_again()
    for _ in range(9):
        check.add(0, 1000, 2000, slack=1)
    assert check.over > check.differing / 2
    assert not check.predicts_too_much


def test_others_that_are_silent_are_reckoned_with_as_many_as_configured() -> None:
    """With Redis gone, a gateway sees its own load only, and knows that there are others."""
    from stemcache.gateway.gossip import Batch, Load  # noqa: PLC0415

    bench = Bench(*specs("a", "b"), agree=Agree.REDIS, gateways=3)
    for _ in range(4):
        bench.send(text_prompt(LONG))
    alone = bench.router.explain(text_prompt(LONG), now_s=bench.now_s)["seats"]
    bench.router.heard(Batch("g", (), (Load("a", 0, 0),)), now_s=bench.now_s)
    told = bench.router.explain(text_prompt(LONG), now_s=bench.now_s)["seats"]
    assert sum(seat["in_flight"] for seat in told) == 4
    assert sum(seat["in_flight"] for seat in alone) > 4


def test_gateways_that_have_gone_make_room_for_others() -> None:
    """Their names are chance; of so many the silent ones are forgotten."""
    from stemcache.gateway.gossip import Batch, Load  # noqa: PLC0415

    bench = Bench(*specs("a"))
    for number in range(200):
        bench.router.heard(Batch(f"g{number}", (), (Load("a", 1, 5),)), now_s=bench.now_s)
    others = bench.member("a").seats[0].others
    assert len(others) == 64
    assert "g199" in others


def test_every_flight_ends_once() -> None:
    """Ending one twice is a mistake of the caller's, and said to be."""
    bench = Bench(*specs("a"))
    flight = bench.ask(text_prompt(LONG))
    with pytest.raises(AssertionError, match="a flight ends once"):
        bench.router.done(flight, None, now_s=bench.now_s)


def test_a_missing_report_is_unknown_and_not_zero() -> None:
    """It neither shrinks the mirror nor counts as an answer that was checked."""
    bench = Bench(*specs("a"))
    for _ in range(12):
        bench.ask(text_prompt(LONG), cached=None)
    check = bench.member("a").seats[0].check
    assert (check.answers, check.silent, check.standing) == (0, 12, Standing.UNKNOWN)
    assert bench.send(text_prompt(LONG)).decision.predicted_cached > 400


@pytest.mark.parametrize("cached", [-5, 10**9])
def test_a_report_that_cannot_be_is_taken_for_none(cached: int) -> None:
    """More cached than there are tokens, or fewer than none."""
    bench = Bench(*specs("a"))
    bench.ask(text_prompt(LONG), cached=cached)
    check = bench.member("a").seats[0].check
    assert (check.answers, check.silent) == (0, 1)


def test_a_replica_that_lost_its_cache_is_found_out_by_what_it_reports() -> None:
    """Nothing but usage tells: the mirror is corrected, and after some answers it is said aloud."""
    bench = Bench(*specs("a"))
    prompts = [text_prompt(f"{number} " * 20 + LONG) for number in range(30)]
    for prompt in prompts:
        bench.ask(prompt, cached=0)
    for prompt in prompts:
        tokens = bench.router.mirror.prompt_tokens(prompt)
        bench.ask(prompt, cached=tokens - 1)
    assert bench.member("a").seats[0].check.standing is Standing.AGREES
    for prompt in prompts:  # restarted meanwhile: nothing is found
        bench.ask(prompt, cached=0)
    told = {NoticeKind.RESTARTED, NoticeKind.DISAGREES} & set(bench.kinds())
    assert told, "the operator hears of it"


def test_another_start_of_the_process_clears_the_mirror() -> None:
    """A replica's own start time is compared, where it gives one."""
    bench = Bench(*specs("a"))
    bench.ask(text_prompt(LONG), cached=0)
    bench.router.learned("a", now_s=1.0, started=1000.0)
    assert bench.send(text_prompt(LONG)).decision.predicted_cached > 400
    bench.router.learned("a", now_s=2.0, started=2000.0)
    assert bench.kinds() == [NoticeKind.RESTARTED]
    fresh = bench.router.choose(text_prompt(LONG), now_s=3.0)
    assert fresh is not None
    assert fresh.predicted_cached == 0


def test_models_decide_who_can_be_asked() -> None:
    """A model that nobody serves goes to somebody all the same, whose refusal it is."""
    a, b = specs("a", "b")
    bench = Bench(a, b)
    bench.router.learned("a", now_s=0.0, models=["llama"])
    bench.router.learned("b", now_s=0.0, models=["qwen", "qwen-sql"], adapters=["qwen-sql"])
    assert {bench.ask(text_prompt(f"{n}" * 900, model="qwen")).decision.name for n in range(5)} == {
        "b"
    }
    assert bench.router.choose(text_prompt(LONG, model="gpt"), now_s=0.0) is not None
    bench.router.drain("a", on=True)
    assert bench.router.choose(text_prompt(LONG, model="llama"), now_s=0.0) is None
    assert bench.router.adapter_of("qwen-sql") == "qwen-sql"
    assert bench.router.adapter_of("qwen") is None


def test_who_can_be_asked_follows_every_change_of_a_replica() -> None:
    """What is remembered of it is forgotten with the change, and bounded whatever clients name."""
    bench = Bench(*specs("a", "b"))

    def able() -> set[str]:
        left_out = bench.router.explain(text_prompt(LONG, model="m"), now_s=bench.now_s)["left_out"]
        return {"a", "b"} - set(left_out)

    assert able() == {"a", "b"}
    bench.router.drain("a", on=True)
    assert able() == {"b"}
    bench.router.drain("a", on=False)
    bench.router.checked("b", ok=False, detail="gone", now_s=0.0)
    assert able() == {"a"}
    bench.router.checked("b", ok=True, detail="back", now_s=0.0)
    bench.router.learned("a", now_s=0.0, models=["n"])
    assert able() == {"b"}
    bench.router.learned("a", now_s=0.0, models=["m", "n"])
    assert able() == {"a", "b"}
    for number in range(300):
        bench.router.choose(text_prompt(LONG, model=f"m{number}"), now_s=0.0)
    assert len(bench.router._able) <= 64
    bench.router.configure(bench.settings, specs("b"))
    assert bench.router.choose(text_prompt(LONG, model="m"), now_s=0.0).name == "b"  # type: ignore[union-attr]


def test_a_policy_that_reads_nothing_does_not_see_what_the_one_before_it_found() -> None:
    """After a reload: tokens that nobody looks for are not counted as cached."""
    bench = Bench(*specs("a", "b"))
    bench.ask(text_prompt(LONG), cached=0)
    assert bench.send(text_prompt(LONG)).decision.predicted_cached > 400
    bench.router.configure(replace(bench.settings, policy="round-robin"), specs("a", "b"))
    bench.send(text_prompt(LONG))
    seats = [member.seats[0] for member in bench.router.members]
    assert [seat.view.cached_tokens for seat in seats] == [0, 0]
    assert [seat.view.held_tokens for seat in seats] == [0, 0]


def test_that_rates_are_only_assumed_is_shown() -> None:
    """The first token of an answer that does not stream is not seen, so it teaches none."""
    bench = Bench(*specs("a", "b"))

    def learned() -> list[int]:
        replicas = bench.router.fleet(now_s=bench.now_s)["replicas"]
        return [one["seats"][0]["rates"]["learned_from_streams"] for one in replicas]

    for _ in range(5):
        bench.ask(text_prompt(LONG, stream=False), cached=0)
    assert learned() == [0, 0]
    for _ in range(3):
        bench.ask(text_prompt(LONG), cached=0)
    assert learned() == [3, 3]


def test_a_full_replica_is_left_out() -> None:
    """The bound on flights holds for a replica, not for the fleet."""
    bench = Bench(*specs("a", "b"), limits=Limits(per_replica=2))
    flights = [bench.send(text_prompt(LONG)) for _ in range(4)]
    assert sorted(flight.decision.name for flight in flights) == ["a", "a", "b", "b"]
    assert bench.router.choose(text_prompt(LONG), now_s=bench.now_s) is None
    bench.finish(flights[0], cached=0)
    assert bench.router.choose(text_prompt(LONG), now_s=bench.now_s) is not None


def test_ranks_are_seats_of_their_own() -> None:
    """Each has a cache, and the decision names the rank to ask for."""
    bench = Bench(*specs("a", ranks=3))
    names = {bench.ask(text_prompt(f"{n}" * 900), cached=0).decision.name for n in range(9)}
    assert names == {"a#0", "a#1", "a#2"}
    first = bench.ask(text_prompt(LONG), cached=0)
    again = bench.send(text_prompt(LONG))
    assert again.decision.rank == first.decision.rank
    assert again.decision.rank is not None


def test_a_replica_that_is_taken_out_ends_what_it_has() -> None:
    """It is forgotten when its last flight has ended, and gets nothing new before."""
    a, b = specs("a", "b")
    bench = Bench(a)
    flight = bench.send(text_prompt(LONG))
    bench.router.configure(bench.settings, [b])
    assert [member.spec.name for member in bench.router.members] == ["a", "b"]
    assert bench.ask(text_prompt(LONG)).decision.name == "b"
    bench.finish(flight, cached=0)
    assert [member.spec.name for member in bench.router.members] == ["b"]
    assert bench.kinds() == [NoticeKind.LEFT]


def test_a_reload_that_changes_nothing_forgets_nothing() -> None:
    """Equal specs are the same replica; another weight is too; another address is not."""
    bench = Bench(*specs("a"))
    bench.ask(text_prompt(LONG), cached=0)
    bench.router.configure(bench.settings, specs("a"))
    bench.router.configure(bench.settings, specs("a", weight=2.0))
    assert bench.send(text_prompt(LONG)).decision.predicted_cached > 400
    moved = ReplicaSpec(name="a", url="http://elsewhere")
    bench.router.configure(bench.settings, [moved])
    decision = bench.router.choose(text_prompt(LONG), now_s=0.0)
    assert decision is not None
    assert (decision.predicted_cached, decision.replica.url) == (0, "http://elsewhere")


def test_a_flight_to_a_replica_that_is_gone_ends_quietly() -> None:
    """Its end says nothing to anybody."""
    bench = Bench(*specs("a"))
    flight = bench.send(text_prompt(LONG))
    bench.router.configure(bench.settings, [ReplicaSpec(name="a", url="http://elsewhere")])
    bench.router.first(flight, now_s=bench.now_s)
    bench.router.done(flight, AnswerUsage(10, 5, 1), now_s=bench.now_s)
    assert bench.member("a").seats[0].outcomes == {}


def test_a_request_without_a_prompt_goes_by_load() -> None:
    """An embedding, a file: routed, and never checked against a cache."""
    bench = Bench(*specs("a", "b"))
    names = [bench.send(nothing_to_route()).decision.name for _ in range(4)]
    assert sorted(names) == ["a", "a", "b", "b"]
    assert bench.send(nothing_to_route()).decision.source is Source.NONE


def test_tokens_are_exact_where_the_prompt_has_them() -> None:
    """Whole blocks, and never the last token."""
    bench = Bench(*specs("a"), tokenizer="somewhere")
    bench.ask(token_prompt(list(range(64))), cached=0)
    same = bench.send(token_prompt(list(range(64)))).decision
    assert (same.predicted_cached, same.prompt_tokens, same.exact) == (48, 64, True)
    longer = bench.send(token_prompt(list(range(70)))).decision
    assert longer.predicted_cached == 64


def test_two_gateways_that_hash_agree_on_cold_prompts() -> None:
    """Neither knows of the other, nor do they see the same requests."""
    one, other = (Bench(*specs("a", "b", "c", "d"), agree=Agree.HASH, gateways=2) for _ in "12")
    same = 0
    for number in range(60):
        prompt = text_prompt(f"group {number} " * 80)
        same += one.ask(prompt, cached=0).decision.name == other.ask(prompt).decision.name
    assert same >= 54


def test_what_another_gateway_tells_is_believed() -> None:
    """Its placements are guesses here, and its load counts."""
    told: list[Placement] = []
    one = Bench(*specs("a", "b"), agree=Agree.REDIS)
    other = Bench(*specs("a", "b"), agree=Agree.REDIS)
    one.router.on_placed = told.append
    flight = one.send(text_prompt(LONG))
    from stemcache.gateway.gossip import decode_batch, encode_batch  # noqa: PLC0415

    batch = decode_batch(encode_batch("one", told, one.router.loads()))
    other.router.heard(batch, now_s=other.now_s)
    decision = other.router.choose(text_prompt(LONG), now_s=other.now_s)
    assert decision is not None
    assert decision.name == flight.decision.name
    assert decision.predicted_cached > 400
    seats = other.router.explain(text_prompt(LONG), now_s=other.now_s)["seats"]
    assert {seat["replica"]: seat["in_flight"] for seat in seats}[flight.decision.name] == 1
    later = other.router.explain(text_prompt(LONG), now_s=other.now_s + 10)["seats"]
    assert all(seat["in_flight"] == 0 for seat in later), "what was told long ago is not counted"


def test_the_header_says_where_why_and_what_else() -> None:
    """One line, of the fleet's own words only."""
    bench = Bench(*specs("a", "b"))
    bench.ask(text_prompt(LONG), cached=0)
    text = bench.send(text_prompt(LONG)).decision.header().decode()
    fields = dict(part.split("=", 1) for part in text.split("; "))
    assert set(fields) == {
        "replica",
        "reason",
        "cached",
        "prompt",
        "source",
        "ttft",
        "runner-up",
        "runner-up-ttft",
    }
    assert fields["reason"] == "cached"
    assert "x" * 20 not in text


def test_a_stranger_is_told_of_its_own_request_alone() -> None:
    """Neither who answers, nor how long the queues of others are."""
    bench = Bench(*specs("a", "b"))
    bench.ask(text_prompt(LONG), cached=0)
    decision = bench.send(text_prompt(LONG)).decision
    own = decision.own_header().decode()
    fields = dict(part.split("=", 1) for part in own.split("; "))
    assert set(fields) == {"reason", "cached", "prompt", "source"}
    assert f"; {own}; " in decision.header().decode()


UNREADING = ("least-load", "power-of-two", "random", "round-robin")


@pytest.mark.parametrize("policy", UNREADING)
def test_a_policy_that_looks_at_no_prompts_predicts_and_remembers_nothing(policy: str) -> None:
    """No figure is shown that nobody computed, and what was sent takes no memory."""
    bench = Bench(*specs("a", "b"), policy=policy)
    assert bench.router.reads() is Reads.NOTHING
    before = bench.router.mirror.bytes_used
    for _ in range(4):
        flight = bench.ask(text_prompt(LONG), cached=0)
        assert flight.decision.source is Source.NONE
        assert b"cached=" not in flight.decision.header()
        assert b"source=none; ttft=" in flight.decision.header()
        assert flight.decision.as_json()["predicted_cached_tokens"] is None
    seats = bench.router.explain(text_prompt(LONG), now_s=bench.now_s)["seats"]
    assert [seat["cached_tokens"] for seat in seats] == [None, None]
    assert bench.router.mirror.bytes_used == before
    checks = [bench.member(name).seats[0].check for name in ("a", "b")]
    assert sum(check.unpredicted for check in checks) == 4
    assert {check.standing for check in checks} == {Standing.UNKNOWN}


def test_a_policy_that_looks_at_no_prompts_still_learns_how_long_they_are() -> None:
    """From reports: a queue is counted in tokens."""
    bench = Bench(*specs("a", "b"), policy="least-load")
    guessed = bench.send(text_prompt(LONG)).decision.prompt_tokens
    for _ in range(3):
        bench.finish(bench.send(text_prompt(LONG)), cached=0, prompt=2 * guessed)
    assert abs(bench.send(text_prompt(LONG)).decision.prompt_tokens - 2 * guessed) <= 2


def test_a_session_is_followed_without_its_prompt() -> None:
    """One without a session goes by its beginning."""
    bench = Bench(*specs("a", "b", "c"), policy="session")
    assert bench.router.reads() is Reads.SESSION
    bare = nothing_to_route()
    bare.session = "-/s"
    seats = {bench.ask(bare, cached=None).decision.name for _ in range(6)}
    assert len(seats) == 1
    reasons = {bench.ask(text_prompt(LONG)).decision.choice.reason for _ in range(3)}
    assert reasons == {Reason.HASHED}


def test_a_reload_with_a_policy_that_looks_at_no_prompts_forgets_what_was_guessed() -> None:
    """It would be wrong by the time that another looks at it."""
    bench = Bench(*specs("a"), policy="cache-aware")
    bench.ask(text_prompt(LONG), cached=0)
    flight = bench.send(text_prompt(LONG))
    assert flight.decision.predicted_cached > 400
    for policy in ("round-robin", "cache-aware"):
        settings = GatewaySettings(replicas=bench.settings.replicas, policy=policy)
        bench.router.configure(settings, settings.replicas)
    bench.finish(flight, cached=0)
    assert bench.send(text_prompt(LONG)).decision.predicted_cached == 0
    bench.router.mirror.check()


def test_explain_sends_nothing_and_says_who_was_left_out() -> None:
    """It may be asked as often as one likes."""
    bench = Bench(*specs("a", "b", "c"))
    bench.ask(text_prompt(LONG), cached=0)
    bench.router.drain("c", on=True)
    before = bench.router.fleet(now_s=bench.now_s)
    told = bench.router.explain(text_prompt(LONG), now_s=bench.now_s)
    assert told == bench.router.explain(text_prompt(LONG), now_s=bench.now_s)
    assert told["decision"]["predicted_cached_tokens"] > 400
    assert told["left_out"] == {"c": "draining"}
    assert bench.router.fleet(now_s=bench.now_s) == before


@pytest.mark.parametrize("policy", NAMES)
def test_explain_changes_nothing_of_what_is_chosen_next(policy: str) -> None:
    """Neither a turn, nor what is counted, nor chance."""
    told, silent = (Bench(*specs("a", "b", "c"), policy=policy) for _ in range(2))
    for number in range(30):
        prompt = text_prompt(f"{number % 4} " * 600)
        explained = told.router.explain(prompt, now_s=told.now_s)["decision"]
        decisions = [bench.ask(prompt, cached=0).decision for bench in (told, silent)]
        assert decisions[0].header() == decisions[1].header()
        assert explained == decisions[0].as_json()


def test_the_fleet_page_has_no_secret() -> None:
    """Keys of replicas are not in it, nor in what a spec prints."""
    spec = ReplicaSpec(name="a", url="http://a", api_key="s3cret", engine=Engine.VLLM)
    bench = Bench(spec)
    bench.ask(text_prompt(LONG), cached=0)
    assert "s3cret" not in f"{bench.router.fleet(now_s=0.0)} {spec!r} {bench.settings!r}"
