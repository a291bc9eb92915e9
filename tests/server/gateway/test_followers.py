"""What subscriptions to KV events say, told to the router."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from random import Random
from typing import Any

from stemcache.errors import UsageError
from stemcache.gateway.kv_events import Batch, Stored
from stemcache.gateway.notice import Notice, NoticeKind
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Router
from stemcache.gateway.settings import GatewaySettings
from stemcache.server.gateway.followers import Followers
from tests.server.gateway.quiet import Said

ONE = ReplicaSpec(name="a", url="http://a:1", events="tcp://a:5557")
TWO = ReplicaSpec(name="b", url="http://b:1", events="tcp://b:5557", ranks=2)
PLAIN = ReplicaSpec(name="c", url="http://c:1")

BLOCK_TOKENS = 16

EMPTY = Batch(events=(), rank=None, unknown={})


class Fake:
    """A subscription that says what a test says."""

    def __init__(
        self,
        spec: ReplicaSpec,
        rank: int = 0,
        *,
        on_batch: Callable[[Batch], None],
        on_gap: Callable[[int], None],
        on_reset: Callable[[str], None],
    ) -> None:
        self.spec, self.rank = spec, rank
        self.on_batch, self.on_gap, self.on_reset = on_batch, on_gap, on_reset
        self.complete = False
        self.error: Exception | None = None
        self.wake = asyncio.Event()
        self.ended = False

    async def run(self) -> None:
        try:
            await self.wake.wait()
            assert self.error is not None
            raise self.error
        finally:
            self.ended = True

    def say(self, *, complete: bool) -> None:
        """A batch has come."""
        self.complete = complete
        self.on_batch(EMPTY)


def stored(start: int, count: int) -> Batch:
    """So many blocks, in chains of ten."""
    chains = [range(at, at + 10) for at in range(start, start + count, 10)]
    return Batch(
        events=tuple(
            Stored(
                hashes=tuple(chain),
                parent=None,
                tokens=b"".join(at.to_bytes(4 * BLOCK_TOKENS, "little") for at in chain),
                block_tokens=BLOCK_TOKENS,
                tier="GPU",
            )
            for chain in chains
        )
    )


class Bench:
    """Followers of a router's seats."""

    def __init__(self, *specs: ReplicaSpec, most_bytes: int = 2**20) -> None:
        self.notices: list[Notice] = []
        self.said = Said()
        self.made: list[Fake] = []
        settings = GatewaySettings(tokenizer="t")
        self.router = Router(settings, rng=Random(1), on_notice=self._noticed)
        self.followers = Followers(
            self.router, most_bytes=most_bytes, logger=self.said.logger, subscribe=self._subscribe
        )
        self.configure(*specs)

    def _noticed(self, notice: Notice) -> None:
        self.notices.append(notice)
        if notice.kind is NoticeKind.RESTARTED:
            self.followers.resync(notice.seat)

    def _subscribe(self, *arguments: Any, **callbacks: Any) -> Fake:
        self.made.append(Fake(*arguments, **callbacks))
        return self.made[-1]

    def configure(self, *specs: ReplicaSpec) -> None:
        """Have these replicas."""
        self.router.configure(self.router.settings, specs)
        self.followers.configure()

    def seat(self, name: str) -> int:
        """Its number."""
        return next(
            seat.number
            for member in self.router.members
            for seat in member.seats
            if seat.name == name
        )

    def held(self, name: str) -> int:
        """How many blocks its events have told of."""
        holdings = self.router.mirror.holdings(self.seat(name))
        assert holdings is not None
        return len(holdings)

    def follows(self, name: str) -> bool:
        """Whether its events are trusted alone."""
        return self.router.mirror.follows(self.seat(name))


def running(
    work: Callable[[Bench], Coroutine[Any, Any, None]],
    *specs: ReplicaSpec,
    most_bytes: int = 2**20,
) -> None:
    """In a loop, closed in the end."""

    async def main() -> None:
        bench = Bench(*specs, most_bytes=most_bytes)
        await asyncio.sleep(0)
        await work(bench)
        await asyncio.sleep(0)
        await bench.followers.close()
        assert all(fake.ended for fake in bench.made)
        bench.router.mirror.check()

    asyncio.run(main())


def test_every_seat_with_events_is_followed() -> None:
    """Each rank by a subscription of its own; replicas without are left alone."""

    async def work(bench: Bench) -> None:
        found = [(fake.spec.name, fake.rank) for fake in bench.made]
        assert found == [("a", 0), ("b", 0), ("b", 1)]
        assert bench.router.mirror.holdings(bench.seat("c")) is None

    running(work, ONE, TWO, PLAIN)


def test_events_are_trusted_alone_once_they_are_complete() -> None:
    """And no longer when they are not."""

    async def work(bench: Bench) -> None:
        assert bench.router.mirror.holdings(bench.seat("a")) is not None
        bench.made[0].say(complete=False)
        assert not bench.follows("a")
        bench.made[0].say(complete=True)
        assert bench.follows("a")
        bench.made[0].say(complete=False)
        assert not bench.follows("a")

    running(work, ONE)


def test_gaps_and_resets_are_told() -> None:
    """A reset that the events say is not answered by beginning anew."""

    async def work(bench: Bench) -> None:
        fake = bench.made[0]
        fake.say(complete=True)
        fake.on_gap(7)
        fake.complete = False
        fake.on_reset("it has restarted")
        await asyncio.sleep(0)
        member = bench.router.members[0]
        assert (member.seats[0].gaps, member.seats[0].resets) == (1, 1)
        assert bench.notices[-1] == Notice(NoticeKind.RESTARTED, "a", "it has restarted")
        assert not bench.follows("a")
        assert len(bench.made) == 1

    running(work, ONE)


def test_a_restart_that_others_noticed_begins_the_events_anew() -> None:
    """What was followed so far was cleared; a replay brings it back."""

    async def work(bench: Bench) -> None:
        bench.made[0].say(complete=True)
        bench.router.restarted("a", "another process answers", now_s=1.0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(bench.made) == 2
        assert bench.made[0].ended
        assert not bench.follows("a")
        bench.made[1].say(complete=True)
        assert bench.follows("a")

    running(work, ONE)


def test_a_mirror_that_disagrees_begins_anew() -> None:
    """Of that seat alone."""

    async def work(bench: Bench) -> None:
        bench.followers.resync("b#1")
        bench.followers.resync("nobody")
        await asyncio.sleep(0)
        assert [(fake.spec.name, fake.rank) for fake in bench.made[3:]] == [("b", 1)]

    running(work, ONE, TWO)


def test_a_replica_that_leaves_is_followed_no_more() -> None:
    """Others go on as they were."""

    async def work(bench: Bench) -> None:
        bench.configure(TWO)
        await asyncio.sleep(0)
        assert [fake.ended for fake in bench.made] == [True, False, False]

    running(work, ONE, TWO)


def test_a_replica_that_publishes_elsewhere_is_followed_there() -> None:
    """It is another seat then."""

    async def work(bench: Bench) -> None:
        bench.made[0].say(complete=True)
        bench.configure(replace(ONE, events="tcp://a:6000"))
        await asyncio.sleep(0)
        assert [fake.spec.events for fake in bench.made] == ["tcp://a:5557", "tcp://a:6000"]
        assert bench.made[0].ended
        assert not bench.follows("a")

    running(work, ONE)


def test_a_change_that_is_none_of_the_events_leaves_them_alone() -> None:
    """A weight, for one."""

    async def work(bench: Bench) -> None:
        bench.configure(replace(ONE, weight=2.0))
        await asyncio.sleep(0)
        assert len(bench.made) == 1

    running(work, ONE)


def test_events_that_cannot_be_followed_are_told_and_guessed_instead() -> None:
    """The gateway goes on."""

    async def work(bench: Bench) -> None:
        fake = bench.made[0]
        fake.say(complete=True)
        fake.error = UsageError("that is no endpoint")
        fake.wake.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not bench.follows("a")
        assert bench.router.mirror.holdings(bench.seat("a")) is None
        assert bench.said.lines == [
            {
                "event": "KV events cannot be followed",
                "level": "error",
                "replica": "a",
                "error": "that is no endpoint",
            }
        ]

    running(work, ONE)


def test_events_that_cannot_even_be_asked_for_are_told() -> None:
    """And the others are followed."""

    async def work(bench: Bench) -> None:
        made = bench._subscribe

        def refuse(spec: ReplicaSpec, *arguments: Any, **callbacks: Any) -> Fake:
            if spec.name == "a":
                raise UsageError("pyzmq is not installed")
            return made(spec, *arguments, **callbacks)

        bench.followers._subscribe = refuse
        bench.configure(ONE, TWO)
        bench.followers.resync("a")
        assert bench.said.lines[0]["error"] == "pyzmq is not installed"
        assert [fake.spec.name for fake in bench.made] == ["b", "b"]

    running(work)


def test_a_mistake_of_ours_in_following_is_logged() -> None:
    """With where it was."""

    async def work(bench: Bench) -> None:
        bench.made[0].error = ValueError("odd")
        bench.made[0].wake.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert bench.said.events == ["following KV events has ended"]

    running(work, ONE)


def test_shares_follow_the_number_of_seats() -> None:
    """Who was first gives up what is over its share, in steps, and gets it back later."""

    async def work(bench: Bench) -> None:
        for start in range(0, 40_000, 500):
            bench.made[0].on_batch(stored(start, 500))
        assert bench.held("a") == 30_000
        bench.configure(ONE, TWO)
        await asyncio.sleep(0)
        assert 29_000 < bench.held("a") < 30_000
        for _ in range(150):
            await asyncio.sleep(0)
        assert bench.held("a") == 10_000
        for start in range(100_000, 120_000, 500):
            for fake in bench.made:
                fake.on_batch(stored(start, 500))
        assert [bench.held(name) for name in ("a", "b#0", "b#1")] == [10_000] * 3
        bench.configure(ONE)
        for start in range(200_000, 240_000, 500):
            bench.made[0].on_batch(stored(start, 500))
        assert bench.held("a") == 30_000

    running(work, ONE, most_bytes=30_000 * 380)


def test_what_a_seat_held_that_left_is_freed_in_steps() -> None:
    """Between them everybody else gets a turn; in the end nothing is left to do."""

    async def work(bench: Bench) -> None:
        bench.made[0].on_batch(stored(0, 20_000))
        holdings = bench.router.mirror.holdings(bench.seat("a"))
        assert holdings is not None
        bench.configure(TWO)
        assert len(holdings) == 0
        turns = 0
        while bench.followers._tending:
            await asyncio.sleep(0)
            turns += 1
        assert 256 <= turns < 300
        assert not holdings.tend()

    running(work, ONE, TWO, most_bytes=2**26)
