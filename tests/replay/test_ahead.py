import json
from collections.abc import Iterator

from stemcache.replay.ahead import Ahead, make_in_steps
from stemcache.replay.body import BodyMaker
from stemcache.replay.prompts import TokenPrompts, TokenRange
from stemcache.replay.selection import Planned
from tests.replay.made import planned

BODIES = BodyMaker(
    api="openai-completions", model="m", prompts=TokenPrompts("", TokenRange(1000, 30000))
)


def prompt(body: list[bytes]) -> list[int]:
    """The ids of a made body."""
    ids: list[int] = json.loads(b"".join(body))["prompt"]
    return ids


def test_a_long_body_is_made_in_many_steps() -> None:
    """So that others may run between; it is one part in the end."""
    long, short = planned(0, [1], block=100_000), planned(1, [2])
    body: list[bytes] = []
    assert len(list(make_in_steps(BODIES, long, body))) > 20
    assert len(body) == 1
    assert len(prompt(body)) == 100_000
    assert list(make_in_steps(BODIES, short, [])) == []


def test_bodies_come_in_order_whether_made_ahead_or_not() -> None:
    """Some steps before, none before, or all of them."""
    trace = [planned(number, [number], block=3000) for number in range(4)]
    alone: list[list[bytes]] = [[] for _ in trace]
    for each, body in zip(trace, alone, strict=True):
        list(make_in_steps(BODIES, each, body))
    for steps in (0, 1, 3, 1000):
        ahead = Ahead(BODIES, iter(trace))
        found = []
        for _ in trace:
            for _ in range(steps):
                ahead.step()
            found.append(ahead.take())
        assert found == alone
        assert not ahead.step()


def test_what_is_made_ahead_is_bounded() -> None:
    """In bytes, and in bodies; the iterator is not read further."""
    read = 0

    def endless() -> Iterator[Planned]:
        nonlocal read
        while True:
            read += 1
            yield planned(read, [read], block=100)

    few = Ahead(BODIES, endless(), max_bodies=3)
    while few.step():
        pass
    assert read == 3
    few.take()
    assert few.step()
    read = 0
    small = Ahead(BODIES, endless(), max_bytes=1500)
    while small.step():
        pass
    assert read == 3
