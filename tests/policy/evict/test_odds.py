"""The poorest odds of an early return first."""

from collections.abc import Callable
from itertools import count, pairwise
from random import Random
from typing import Any

import pytest

from stemcache.core.hash_index import HashIndex
from stemcache.core.hashing import BlockKey
from stemcache.core.index import RequestPolicy, Stamp
from stemcache.core.tokens import Chain
from stemcache.policy import evict
from stemcache.policy.evict import odds
from stemcache.policy.evict.odds import Odds
from tests.policy.evict.stories import Tell, both_forms


class Server:
    """A cache of one-token blocks, and requests that come one after the other."""

    def __init__(self, policy: Any, capacity: int) -> None:
        self.policy = policy
        self.index: HashIndex[None, Any] = HashIndex(block_size=1, policy=policy)
        self.capacity = capacity
        self.hits = 0
        self.asked = 0

    def ask(self, tokens: list[int], now: float, output_tokens: int | None = None) -> int:
        """One request; how many of its blocks were found."""
        chain = Chain(tokens, block_size=1, namespace=b"n")
        with self.index.pin(chain, now=now) as lease:
            found = lease.blocks
            missing = chain.blocks - found
            self.index.evict(len(self.index) + missing - self.capacity)
            self.index.insert(chain, [None] * missing, now=now, lease=lease)
            lease.release(output_tokens=output_tokens)
        self.hits += found
        self.asked += chain.blocks
        return found


Workload = Callable[[Server, Random], None]


def tool_loops(server: Server, draw: Random) -> None:
    """Forty sessions that come back about every 20 seconds, in a cache for a few of them."""
    names, clock = count(), 0.0
    prompts = [[next(names) for _ in range(10)] for _ in range(40)]
    due = [draw.uniform(0, 20) for _ in prompts]
    for _ in range(1_500):
        at = due.index(min(due))
        clock = due[at]
        server.ask(prompts[at], clock)
        prompts[at] = [*prompts[at], next(names)]
        if len(prompts[at]) > 30:
            prompts[at] = [next(names) for _ in range(10)]
        due[at] = clock + draw.uniform(18, 22)


def one_offs(server: Server, draw: Random) -> None:
    """Chats that go on, among prompts that are asked once and answered in a word."""
    names = count()
    chats = [[next(names) for _ in range(10)] for _ in range(10)]
    for clock in range(1_500):
        if draw.random() < 0.7:
            server.ask([next(names) for _ in range(20)], float(clock), 1)
        else:
            at = draw.randrange(len(chats))
            server.ask(chats[at], float(clock), 500)
            chats[at] = [*chats[at], next(names), next(names)][-40:]
            if draw.random() < 0.05:
                chats[at] = [next(names) for _ in range(10)]


def edits(server: Server, draw: Random) -> None:
    """Sessions that are cut back to some earlier place and go on from there."""
    names = count()
    chats = [[next(names) for _ in range(20)] for _ in range(12)]
    for clock in range(1_500):
        at = draw.randrange(len(chats))
        if draw.random() < 0.5:
            chats[at] = chats[at][: draw.randrange(len(chats[at]))]
        chats[at] = [*chats[at], *(next(names) for _ in range(8))]
        server.ask(chats[at], float(clock))


@pytest.mark.parametrize(
    ("workload", "capacity", "gain"),
    [(tool_loops, 200, 0.1), (one_offs, 150, 0.05), (edits, 150, 0)],
)
def test_it_finds_more_than_lru_where_there_is_something_to_learn(
    workload: Workload, capacity: int, gain: float
) -> None:
    """Returns that are due, prompts that never return, endings that were edited away."""
    rates = []
    for name in ("lru", "odds"):
        server = Server(evict.make(name), capacity)
        workload(server, Random(11))
        server.index.check()
        rates.append(server.hits / server.asked)

    assert rates[1] > rates[0] + gain


def test_it_finds_as_much_as_lru_where_there_is_nothing_to_learn() -> None:
    """Prompts drawn at random from many, all alike: within two points."""
    rates = []
    for name in ("lru", "odds"):
        server, draw = Server(evict.make(name), 400), Random(5)
        for clock in range(2_000):
            first = int(draw.paretovariate(0.6)) % 5_000 * 10
            server.ask(list(range(first, first + 10)), float(clock), 7)
        rates.append(server.hits / server.asked)

    assert rates[1] > rates[0] - 0.02


@both_forms
def test_before_it_has_learnt_it_is_lru(tell: Tell) -> None:
    """What was used longest ago leaves first."""
    story = tell("odds")
    story.insert("ab", "cd", "ef").use("ab", "ab", "cd", "ab")

    assert ["ef", "e", "cd", "c", "ab", "a"] == story.evict_all()


def stamp(seq: int, blocks: int = 4, now: float | None = None) -> Stamp:
    """One use or insert a second, unless said otherwise."""
    return Stamp(seq, float(seq) if now is None else now, 0, blocks)


def named(name: str) -> Callable[[], BlockKey]:
    """A key that anybody may ask for."""
    return lambda: BlockKey(name.encode())


def unasked() -> BlockKey:
    """A key that costs hashing, and must not be asked for."""
    raise AssertionError("asked for a key")


def test_a_prompt_that_goes_on_is_the_next_turn() -> None:
    """Its gap, its growth and its number are known; a chunk is no turn, and asks for no key."""
    policy = Odds()
    first = policy.entered(None, stamp(1, blocks=4), named("a"))
    policy.ended(first, 100)
    begun = policy.used(first, stamp(11, blocks=4))
    second = policy.entered(begun, stamp(12, blocks=9), unasked)
    chunk = policy.entered(second, stamp(13, blocks=12), unasked)
    policy.ended(chunk, None)

    assert begun.turn is second.turn is chunk.turn
    assert (2, 10.0, 4, 12) == (
        chunk.turn.number,
        chunk.turn.gap_s,
        chunk.turn.grown_from,
        chunk.turn.blocks,
    )
    assert first.turn.session is chunk.turn.session
    assert (1, 2, 5, 1, 0) == chunk.turn.told()
    assert (0, 0, 0, 1, 4) == first.turn.told()


def test_the_first_to_leave_early_edits_and_the_second_is_another_session() -> None:
    """Nobody can tell an edit from a shared beginning until it has happened twice."""
    policy = Odds()
    system = policy.entered(None, stamp(1, blocks=8), named("a"))
    edit = policy.used(system, stamp(2, blocks=3))
    policy.entered(edit, stamp(3, blocks=9), unasked)
    other = policy.used(edit, stamp(4, blocks=3))

    assert edit.turn.session is system.turn.session
    assert 2 == system.turn.superseded
    assert other.turn.session is not system.turn.session
    assert (1, 2) == (edit.forks, other.forks)


def test_what_a_shared_beginning_is_left_for_is_known_by_its_first_block() -> None:
    """A session that was evicted down to the system prompt, or altogether, is recognised."""
    policy = Odds()
    system = policy.entered(None, stamp(1, blocks=8), named("a"))
    edit = policy.used(system, stamp(2, blocks=3))
    policy.entered(edit, stamp(3, blocks=9), unasked)
    forked = policy.used(edit, stamp(4, blocks=3))
    mine = policy.entered(forked, stamp(5, blocks=9), named("mine"))
    policy.ended(mine, None)
    for _ in range(6):
        policy.evicted(mine)
    between = policy.used(forked, stamp(40, blocks=3))
    policy.entered(between, stamp(41, blocks=7), named("other"))
    again = policy.used(between, stamp(50, blocks=3))
    back = policy.entered(again, stamp(51, blocks=12), named("mine"))
    whole = policy.entered(None, stamp(60, blocks=5), named("mine"))

    assert mine.turn.session is back.turn.session is whole.turn.session
    assert [1, 2, 3] == [state.turn.number for state in (mine, back, whole)]
    assert 1 == between.turn.number


def test_memory_of_sessions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was quiet longest is forgotten; its blocks may still be used."""
    monkeypatch.setattr(odds, "_REMEMBERED", 3)
    policy, states = Odds(), []
    for seq in range(0, 90, 10):
        states.append(policy.entered(None, stamp(seq, blocks=6), named(str(seq))))
        policy.entered(policy.used(states[-1], stamp(seq + 1, blocks=2)), stamp(seq + 2), unasked)
    policy.used(states[0], stamp(91, blocks=6))

    assert 3 == len(policy._sessions) == len(policy._aside)
    assert len(policy._by_first) <= 3
    assert 1 == policy.entered(None, stamp(99), named("10")).turn.number


def test_ranks_change_only_where_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time, lessons and superseding reach a rank when the index can act on it, and not before."""
    monkeypatch.setattr(odds, "_FIT_REQUESTS", (8, 8))
    policy = Odds()
    state = policy.entered(None, stamp(1, blocks=6), named("a"))
    ranks, told = [policy.rank(state)], []
    for seq in range(2, 12):
        policy.entered(None, stamp(seq, blocks=6), named(str(seq)))
    ranks.append(policy.rank(state))
    told += [policy.turned(10_000), policy.turned(10)]
    ranks.append(policy.rank(state))
    policy.used(state, stamp(500, blocks=2))
    ranks.append(policy.rank(state))
    told += [policy.turned(10_000), policy.turned(10)]
    ranks.append(policy.rank(state))

    assert [False, True, False, True] == told
    assert [True, False, True, False] == [before == after for before, after in pairwise(ranks)]


def test_a_clock_that_goes_back_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be a negative age is none."""
    monkeypatch.setattr(odds, "_FIT_REQUESTS", (2, 2))
    policy = Odds()
    for seq, now in enumerate([100.0, 50.0, 75.0, -3.0, 0.0, 60.0], start=1):
        state = policy.entered(None, stamp(seq, now=now), named("a"))
        policy.used(policy.used(state, stamp(20 + seq, 1, now - 10)), stamp(40 + seq, 1, now - 20))
        policy.turned(1)

    assert 0 < policy.rank(state)[0] < 100


def test_an_engine_can_tell_which_policies_follow_requests() -> None:
    """By their hooks."""
    following = [name for name in evict.NAMES if isinstance(evict.make(name), RequestPolicy)]

    assert ["odds"] == following


def test_features_are_free_of_scale() -> None:
    """Logarithms, from nothing to more than ever occurs, and never out of range."""
    values = [odds._log(amount, 2, 8) for amount in (-5, 0, 1, 2, 3, 15, 63, 1e9, 1e30)]

    assert values == sorted(values)
    assert (0, 8) == (values[0], values[-1])
    assert [0, 0, 0, 0, 1, 2, 3] == values[:7]
