"""Conversations that share a beginning, one request at a time, behind the default policy."""

from collections import Counter

import pytest

from stemcache.gateway.usage import AnswerUsage
from tests.gateway.prompts import text_prompt
from tests.gateway.test_router import Bench, specs

SYSTEM = "You are the concierge of a hotel. " * 280
"""9,520 bytes, 74 units: between two beginnings that are counted, of 64 and of 128 units."""


class Talks:
    """Eight of them, and seats that really hold what was sent there, in blocks of 64 bytes."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.held: dict[str, set[int]] = {}
        self.texts = [SYSTEM + f"user {each} asks " + f"about {each} " * 300 for each in range(8)]

    def ask(self, text: str, *, stream: bool) -> str:
        """Which seat; a token that it does not hold takes it 20 us."""
        flight = self.bench.send(text_prompt(text, stream=stream))
        name = flight.decision.name
        held = self.held.setdefault(name, set())
        blocks = [hash(text[:end]) for end in range(64, len(text), 64)]
        cached = next((at for at, one in enumerate(blocks) if one not in held), len(blocks))
        held.update(blocks)
        bench, tokens = self.bench, len(text) // 4
        bench.now_s += 0.001 + 20e-6 * (tokens - 16 * cached)
        bench.router.first(flight, now_s=bench.now_s)
        bench.now_s += 0.02
        bench.router.done(flight, AnswerUsage(tokens, 16 * cached, 2), now_s=bench.now_s)
        return name

    def turn(self, number: int, *, stream: bool) -> list[str]:
        """One of each; where it went."""
        went = []
        for at, text in enumerate(self.texts):
            went.append(self.ask(text, stream=stream))
            self.texts[at] = text + f" answer and turn {number}" * 20
        return went


@pytest.mark.parametrize("stream", [True, False])
def test_conversations_stay_where_they_are(stream: bool) -> None:  # noqa: FBT001
    """With nothing in flight none moves, though all share a beginning that everybody asks for.

    But for one, where one seat had all of them: it brings the beginning to the other.
    """
    bench = Bench(*specs("a", "b"))
    talks = Talks(bench)
    for doc in range(4):
        for question in range(4):
            talks.ask(f"{doc} " + "words of a contract " * 4000 + f"? {question}", stream=False)
    went = [talks.turn(number, stream=stream) for number in range(12)]
    moved = sum(
        one != other for at in range(11) for one, other in zip(went[at], went[at + 1], strict=True)
    )
    assert moved <= 1, went


def test_new_ones_are_shared_out_and_their_common_beginning_copied_once() -> None:
    """From cold: both seats work, and each computes the beginning once."""
    bench = Bench(*specs("a", "b"))
    talks = Talks(bench)
    first = Counter(talks.turn(0, stream=True))
    assert min(first[name] for name in "ab") >= 2
    reasons = Counter[str]()
    for member in bench.router.members:
        reasons += member.seats[0].reasons
    assert reasons["cached"] == 6
    assert reasons["cold"] == 1
