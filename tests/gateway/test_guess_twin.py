"""The guess beside a cache of keys that is too simple to be wrong."""

from collections import OrderedDict
from hashlib import sha256
from random import Random

import pytest

from stemcache.gateway.guess import Guess

PLENTY = 1 << 30


class Twin:
    """One seat: keys in the order of their use, the end of a prompt before its beginning."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self.keys: OrderedDict[int, None] = OrderedDict()

    def routed(self, keys: list[int]) -> None:
        """Use all of them."""
        for key in reversed(keys):
            self.keys[key] = None
            self.keys.move_to_end(key)
        self.fit()

    def fit(self) -> None:
        """Drop what does not fit, the least recent first."""
        while self.capacity is not None and len(self.keys) > self.capacity:
            self.keys.popitem(last=False)

    def held(self, keys: list[int]) -> int:
        """How many leading keys are there."""
        for at, key in enumerate(keys):
            if key not in self.keys:
                return at
        return len(keys)


def chain(units: str) -> list[int]:
    """Chained keys, one for each letter."""
    keys, state = [], b""
    for unit in units:
        state = sha256(state + unit.encode()).digest()[:8]
        keys.append(int.from_bytes(state, "little"))
    return keys


@pytest.mark.parametrize("seed", range(40))
def test_any_history_is_believed_as_an_lru_of_keys_holds_it(seed: int) -> None:
    """After any history of requests, seats and sizes, every prompt is held as by the twin."""
    random = Random(seed)
    guess = Guess(most_bytes=PLENTY)
    twins: dict[int, Twin] = {}
    letters = "ab" if seed % 2 else "abcd"
    longest = random.choice((4, 9, 30))
    asked: list[str] = [""]

    def prompt() -> str:
        old = random.choice(asked)
        kept = old[: random.randint(0, len(old))]
        grown = "".join(random.choices(letters, k=random.randint(0, longest)))
        return (kept + grown)[:longest]

    for _ in range(300):
        act = random.random()
        if not twins or (act < 0.03 and len(twins) < 5):
            seat = min(set(range(6)) - set(twins))
            capacity = random.choice((None, 0, 1, 5, 12, 40))
            guess.join(seat, capacity_units=capacity)
            twins[seat] = Twin(capacity)
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
            text = prompt()
            asked.append(text)
            guess.routed(seat, chain(text))
            twins[seat].routed(chain(text))
        guess.check()
        for text in random.sample(asked, min(5, len(asked))):
            keys = chain(text)
            expected = {seat: n for seat, twin in twins.items() if (n := twin.held(keys))}
            assert guess.held(keys) == expected, text
        for seat, twin in twins.items():
            assert guess.held_units(seat) == len(twin.keys)
