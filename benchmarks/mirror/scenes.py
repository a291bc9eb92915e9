"""What the mirror's figures are taken on: prompts of many groups, and long shared conversations."""

from collections.abc import Iterator
from random import Random

from stemcache.gateway.guess import Guess

__all__ = ["KEYS", "SEATS", "Conversations", "distinct", "shared_by_groups", "spine"]

SEATS = 64
KEYS = 6_250
"""100,000 tokens in blocks of 16."""
PROMPT = 35
"""2,200 characters in units of 64."""
_TURNS = 20
_FRESH = 50


def fresh(random: Random, count: int) -> list[int]:
    """Keys that nobody has had; real ones are cut from SHA-256."""
    return [random.getrandbits(64) for _ in range(count)]


def distinct(random: Random) -> Iterator[list[int]]:
    """Prompts that share nothing."""
    while True:
        yield fresh(random, PROMPT)


def shared_by_groups(random: Random) -> Iterator[list[int]]:
    """Prompts of 2,000 groups, each with a beginning of its own, and all with one system prompt."""
    system = fresh(random, 8)
    groups = [system + fresh(random, 22) for _ in range(2_000)]
    while True:
        group = random.choice(groups)
        yield group + fresh(random, PROMPT - len(group))


def spine(random: Random) -> Iterator[list[int]]:
    """Prompts that leave one long prompt at every place: what makes a tree split, and merge."""
    trunk = fresh(random, 400)
    while True:
        yield trunk[: random.randrange(400)] + fresh(random, 5)


class Conversations:
    """Eight conversations of 6,250 keys and 20 turns, each branching at its turns, over all seats.

    At each turn, side questions leave the conversation at some seats; every seat has seen each
    conversation up to some turn. Between them, 4,000 short prompts.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self.guess = Guess(most_bytes=256 * 2**20)
        self._chains = [fresh(random, KEYS) for _ in range(8)]
        self._turns = [sorted(random.sample(range(200, KEYS), _TURNS - 1)) for _ in self._chains]

    def routed(self) -> Iterator[tuple[int, list[int]]]:
        """What was sent where before."""
        random = self._random
        for number in range(4_000):
            yield number % SEATS, fresh(random, PROMPT)
        for chain, turns in zip(self._chains, self._turns, strict=True):
            for turn in turns:
                for seat in random.sample(range(SEATS), 3):
                    yield seat, chain[:turn] + fresh(random, 30)
            for seat in range(SEATS):
                yield seat, chain[: random.choice([*turns, KEYS])]

    def follow_ups(self) -> Iterator[list[int]]:
        """The next turns: conversations that go on behind their last turn, or an earlier one."""
        random = self._random
        while True:
            at = random.randrange(len(self._chains))
            cut = random.choice((*self._turns[at][-4:], KEYS - _FRESH))
            yield self._chains[at][:cut] + fresh(random, KEYS - cut)
