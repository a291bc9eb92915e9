"""The guess beside one cache a seat that is too simple to be wrong."""

from random import Random

import pytest

from stemcache.gateway.guess import Guess
from tests.gateway.guess_cases import Cache, chain

PLENTY = 1 << 30


class History:
    """Random prompts that continue, repeat and cut off one another."""

    def __init__(self, random: Random, letters: str, longest: int) -> None:
        self.random = random
        self.letters = letters
        self.longest = longest
        self.asked = [""]

    def prompt(self) -> str:
        """Another."""
        old = self.random.choice(self.asked)
        kept = old[: self.random.randint(0, len(old))]
        grown = self.random.choices(self.letters, k=self.random.randint(0, self.longest))
        self.asked.append((kept + "".join(grown))[: self.longest])
        return self.asked[-1]


@pytest.mark.parametrize("seed", range(24))
def test_any_history_is_believed_as_an_lru_of_keys_holds_it(seed: int) -> None:
    """After any history of requests, seats and sizes, every prompt is held as by the twins."""
    random = Random(seed)
    guess = Guess(most_bytes=PLENTY)
    twins: dict[int, Cache] = {}
    history = History(random, "ab" if seed % 2 else "abcd", random.choice((4, 9, 30)))
    for _ in range(150):
        act = random.random()
        if not twins or (act < 0.03 and len(twins) < 5):
            seat = min(set(range(6)) - set(twins))
            capacity = random.choice((None, 0, 1, 5, 12, 40))
            guess.join(seat, capacity_units=capacity)
            twins[seat] = Cache(capacity)
        seat = random.choice(list(twins))
        if act > 0.99:
            guess.leave(seat)
            del twins[seat]
        elif act > 0.97:
            guess.clear(seat)
            twins[seat].keys.clear()
        elif act > 0.94:
            capacity = random.choice((None, 1, 7, 20))
            guess.resize(seat, capacity)
            twins[seat].capacity = capacity
            twins[seat].fit()
        else:
            keys = chain(history.prompt())
            if random.random() < 0.7:  # as before most requests; sometimes another comes between
                guess.held(keys)
                if random.random() < 0.2:
                    other = chain(history.prompt())
                    guess.routed(seat, other)
                    twins[seat].request(other)
            guess.routed(seat, keys, answered=random.random() < 0.5)
            twins[seat].request(keys)
        guess.check()
        for text in random.sample(history.asked, min(5, len(history.asked))):
            keys = chain(text)
            expected = {seat: n for seat, twin in twins.items() if (n := twin.held(keys))}
            assert guess.held(keys) == expected, text
        for seat, twin in twins.items():
            assert guess.held_units(seat) == len(twin.keys)


@pytest.mark.parametrize("seed", range(12))
def test_any_history_of_true_and_false_reports_keeps_the_invariants(seed: int) -> None:
    """Reports may contradict one another, and everything: nothing breaks, bounds hold."""
    random = Random(seed)
    most = 130_000 + random.randrange(20_000)
    guess = Guess(most_bytes=most * 5 // 4)  # a fifth is for the allocator
    history = History(random, "abc", 40)
    for seat in range(4):
        guess.join(seat, capacity_units=random.choice((None, 3, 60)))
    for _ in range(300):
        seat = random.randrange(4)
        keys = chain(history.prompt())
        before = guess.held(keys).get(seat, 0)
        guess.routed(seat, keys)
        if random.random() < 0.7:
            held = random.choice((before, 0, len(keys), random.randint(-5, 50)))
            guess.correct(seat, keys, held=held)
        if random.random() < 0.02:
            guess.clear(seat)
        guess.check()
        assert guess.bytes_used <= most
