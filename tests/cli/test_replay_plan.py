from collections.abc import Sequence
from typing import Any

import pytest

from stemcache.cli.replay_asking import Asking
from stemcache.cli.replay_pacing import Pacing
from stemcache.cli.replay_plan import Plan, make_plan
from stemcache.errors import UsageError
from stemcache.replay.loops import ClosedLoop, OpenLoop
from stemcache.replay.prompts import TextPrompts, TokenPrompts, TokenRange
from stemcache.replay.selection import Planned, Selection
from tests.replay.made import planned

TRACE = (planned(0, arrival_s=1.0), planned(1, arrival_s=3.0))
SESSIONS = (planned(0, session="a", arrival_s=0.0), planned(1, session="a", arrival_s=9.0))


def plan(trace: Sequence[Planned] = TRACE, url: str = "http://h:1", **flags: Any) -> Plan:
    """From flags, all at their defaults but these."""
    asking: dict[str, Any] = {
        "url": url,
        "api": None,
        "model": None,
        "key": None,
        "headers": (),
        "extra_body": None,
        "timeout_s": 600.0,
        "connect_timeout_s": 10.0,
        "probe": True,
        "metrics": True,
        "metrics_url": None,
    }
    pacing: dict[str, Any] = {
        "limit": None,
        "duration_s": None,
        "speed": 1.0,
        "rate": None,
        "concurrency": None,
        "think": None,
        "max_think_s": None,
        "max_in_flight": None,
        "tokens_per_block": None,
        "max_prompt_tokens": None,
        "max_tokens": None,
        "encoding": None,
        "tokens": TokenRange(1000, 30000),
        "salt": None,
        "reset": False,
        "cache_salt": False,
        "keep_warm": False,
        "seed": 0,
    }
    for name, value in flags.items():
        (asking if name in asking else pacing)[name] = value
    chosen = Selection(
        planned=tuple(trace), read=2, too_long=0, empty=0, unknown_outputs=0, block_tokens=4
    )
    return make_plan(Asking(**asking), Pacing(**pacing), chosen, environment={}, fresh_salt="fresh")


def test_by_default_a_trace_is_replayed_at_its_times() -> None:
    """As ids, salted with what was drawn."""
    made = plan()
    assert isinstance(made.job.loop, OpenLoop)
    assert (made.mode, made.schedule_s, made.think) == ("open loop", 2.0, None)
    assert made.job.prompts == TokenPrompts("fresh", TokenRange(1000, 30000))
    assert (made.job.isolation.kind, made.job.isolation.salt) == ("salted", "fresh")
    assert made.job.metrics is not None
    assert made.job.metrics.origin + made.job.metrics.base == "http://h:1/metrics"


def test_concurrency_closes_the_loop() -> None:
    """Users think as recorded where there are sessions, else not at all."""
    made = plan(SESSIONS, concurrency=3, speed=2.0, max_think_s=5.0)
    loop = made.job.loop
    assert isinstance(loop, ClosedLoop)
    assert (loop.think, loop.concurrency, loop.speed, loop.max_think_s) == ("recorded", 3, 2.0, 5.0)
    assert (made.mode, made.schedule_s) == ("closed loop", None)
    assert plan(concurrency=3).think == 0.0
    assert plan(SESSIONS, concurrency=3, think=0.0).think == 0.0


@pytest.mark.parametrize(
    ("flags", "kind", "prompt_salt", "salt"),
    [
        ({}, "salted", "fresh", "fresh"),
        ({"salt": "mine"}, "salted", "mine", "mine"),
        ({"reset": True}, "reset", "", "fresh"),
        ({"cache_salt": True}, "cache-salt", "", "fresh"),
        ({"cache_salt": True, "salt": "mine"}, "cache-salt", "", "mine"),
        ({"keep_warm": True}, "kept-warm", "", "fresh"),
    ],
)
def test_runs_are_kept_apart_in_one_way(
    flags: dict[str, Any], kind: str, prompt_salt: str, salt: str
) -> None:
    """That which the flags name."""
    isolation = plan(**flags).job.isolation
    assert (isolation.kind, isolation.prompt_salt, isolation.salt) == (kind, prompt_salt, salt)
    assert isolation.repeatable == ("salt" in flags)


def test_chats_get_words() -> None:
    """Completions too, if asked; ids are for completions alone."""
    assert plan(url="http://h:1/v1/messages").job.prompts == TextPrompts("fresh")
    assert plan(encoding="text").job.prompts == TextPrompts("fresh")
    with pytest.raises(UsageError) as caught:
        plan(url="http://h:1/v1/messages", encoding="tokens")
    assert str(caught.value) == (
        "anthropic-messages takes no token ids; leave --encoding out, or use openai-completions"
    )


def test_metrics_are_where_the_user_says() -> None:
    """Or beside the endpoint, or nowhere."""
    elsewhere = plan(metrics_url="http://m:9/x").job.metrics
    assert elsewhere is not None
    assert elsewhere.origin + elsewhere.base == "http://m:9/x"
    beside = plan(url="http://h:1/llm/v1").job.metrics
    assert beside is not None
    assert beside.base == "/llm/metrics"
    assert plan(metrics=False).job.metrics is None


def test_times_that_a_trace_lacks_are_drawn_from_the_seed() -> None:
    """And the report says that they were."""
    bare = (planned(0), planned(1), planned(2))
    made = plan(bare, rate=5.0, seed=7)
    assert made.times_drawn
    assert made.schedule_s == plan(bare, rate=5.0, seed=7).schedule_s
    assert made.schedule_s != plan(bare, rate=5.0, seed=8).schedule_s
