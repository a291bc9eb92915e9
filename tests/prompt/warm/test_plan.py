"""Warm one, then fan out: who leads, who waits, and what that saves."""

from random import Random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.keepalive.rates import rates
from stemcache.prompt.warm.plan import Group, Queue, plan_warm, worth_waiting
from stemcache.provider.book import load_book

BOOK = load_book()
_RULE = BOOK.rule_for("anthropic", "claude-opus-4-5", marked=True)
assert _RULE is not None
RATES = rates(_RULE, BOOK.price("anthropic", "claude-opus-4-5"))
EARLIER = BOOK.rule("openai-pre-5.6", "gpt-5")


class Twin:
    """The same by looking at all calls each time."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.running: set[int] = set()
        self.over: set[int] = set()
        self.readable_keys: set[str] = set()

    def started(self) -> list[int]:
        """Calls that may start now and have not, in order; the first of a key where none runs."""
        found = []
        for key, call in self.calls:
            if call in self.running or call in self.over:
                continue
            busy = any(one == key and other in self.running for one, other in self.calls)
            if key in self.readable_keys or not busy:
                found.append(call)
                self.running.add(call)
        return found


def test_it_starts_what_a_dumb_twin_starts() -> None:
    """Under random histories of calls that come, become readable and fail."""
    random = Random(1)
    for _ in range(300):
        queue: Queue[str] = Queue()
        twin = Twin()
        for step in range(30):
            live = sorted(twin.running - twin.over)
            if live and random.random() < 0.5:
                call = random.choice(live)
                key = next(one for one, other in twin.calls if other == call)
                if random.random() < 0.5:
                    started = queue.readable(key, call)
                    twin.readable_keys.add(key)
                else:
                    following = queue.failed(key, call)
                    started = [] if following is None else [following]
                    twin.over.add(call)
                    twin.running.discard(call)
            else:
                key = random.choice("abc")
                twin.calls.append((key, step))
                started = [step] if queue.add(key, step) else []
            queue.check()
            assert started == twin.started()


def test_the_first_leads_and_the_others_wait() -> None:
    """Until it is readable; who comes later starts at once."""
    queue: Queue[str] = Queue()
    assert queue.add("a", 0)
    assert not queue.add("a", 1)
    assert not queue.add("a", 2)
    assert queue.add("b", 3)
    assert queue.readable("a", 0) == [1, 2]
    assert queue.readable("a", 1) == []
    assert queue.add("a", 4)


def test_the_next_leads_where_the_first_fails() -> None:
    """Until nobody is left; then whoever comes."""
    queue: Queue[str] = Queue()
    assert queue.add("a", 0)
    assert not queue.add("a", 1)
    assert not queue.add("a", 2)
    assert queue.failed("a", 0) == 1
    assert queue.failed("a", 1) == 2
    assert queue.failed("a", 2) is None
    assert queue.add("a", 3)


def test_a_call_that_is_given_up_while_it_waits_never_leads() -> None:
    """It is taken out of the row."""
    queue: Queue[str] = Queue()
    assert queue.add("a", 0)
    assert not queue.add("a", 1)
    assert not queue.add("a", 2)
    assert queue.failed("a", 1) is None
    assert queue.failed("a", 0) == 2


def test_a_failure_behind_readable_changes_nothing() -> None:
    """The prefix is there."""
    queue: Queue[str] = Queue()
    assert queue.add("a", 0)
    assert queue.readable("a", 0) == []
    assert queue.failed("a", 0) is None
    assert queue.add("a", 1)


def test_the_plan_has_one_leader_a_prefix_and_what_waiting_saves() -> None:
    """All but the leader read instead of writing."""
    found = plan_warm(
        [("a", 10_000), ("b", 20_000), ("a", 10_000), ("a", 10_000), ("b", 20_000)], RATES
    )
    assert found.at_once == 2
    assert [(group.leader, group.followers) for group in found.groups] == [(0, (2, 3)), (1, (4,))]
    saved = (2 * 10_000 + 20_000) * (6.25e-6 - 0.5e-6)
    assert found.saved == pytest.approx(saved)
    assert found.unit == "usd"


def test_a_prefix_below_the_minimum_is_not_waited_for() -> None:
    """Nothing would be kept of it."""
    found = plan_warm([("a", 4_095), ("a", 4_095), ("b", 4_096), ("b", 4_096)], RATES)
    assert found.groups[:2] == (
        Group(leader=0, followers=(), saved=0.0),
        Group(leader=1, followers=(), saved=0.0),
    )
    assert found.groups[2].followers == (3,)
    assert found.saved == pytest.approx(4_096 * 5.75e-6)
    assert not worth_waiting(RATES, 4_095)
    assert worth_waiting(RATES, 4_096)


def test_the_longest_length_given_for_a_prefix_counts() -> None:
    """Estimates may differ from call to call."""
    found = plan_warm([("a", 4_000), ("a", 5_000)], RATES)
    assert found.groups[0].followers == (1,)


def test_free_writes_are_waited_for_where_reads_are_cheaper() -> None:
    """Before 5.6 OpenAI charged no surcharge, but reads cost a tenth."""
    assert worth_waiting(rates(EARLIER, BOOK.price("openai", "gpt-5")), 2_000)


def test_no_calls_are_no_groups() -> None:
    """And nothing saved."""
    found = plan_warm([], RATES)
    assert (found.groups, found.saved) == ((), 0)


@pytest.mark.parametrize("tokens", [-1, 1.5, None, True, "4000"])
def test_tokens_that_are_no_number_are_refused_with_their_place(tokens: Any) -> None:
    """A length below 0 would be a prefix that is not waited for, without a word."""
    said = r"the tokens of prefixes\[1\] is .*; give a whole number from 0 on"
    with pytest.raises(UsageError, match=said):
        plan_warm([("a", 10_000), ("a", tokens)], RATES)
