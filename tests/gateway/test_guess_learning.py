"""The guess against real LRU caches, through nothing but what they report."""

from bisect import bisect
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

import pytest

from stemcache.gateway.guess import Guess, Verdict
from tests.gateway.guess_cases import Cache

BLOCKS = 800
PREFIX, TAIL = 31, 3  # blocks of 64 characters in 2,000 shared and 200 own characters


@dataclass
class Outcome:
    """How predictions and reports went together, once there was time to learn."""

    capacity: int | None
    wrong: float
    """Share of the second half of the requests whose prediction was off by more than a block."""
    verdicts: Counter[Verdict]
    resets: list[int] = field(default_factory=list)


@dataclass(kw_only=True)
class Play:
    """Requests of Zipf groups to one seat."""

    told: int | None = None
    real: int = BLOCKS
    groups: int = 60
    requests: int = 2000
    others: float = 0.0
    """Share of the requests that come through another gateway."""
    in_flight: int = 1
    noise: int = 0
    events: dict[int, Callable[[Cache], None]] = field(default_factory=dict)
    seed: int = 1

    def run(self) -> Outcome:
        """Play."""
        random = Random(self.seed)
        guess = Guess(most_bytes=1 << 28)
        guess.join(0, capacity_units=self.told)
        cache = Cache(self.real)
        prefixes = [[random.getrandbits(64) for _ in range(PREFIX)] for _ in range(self.groups)]
        weights = list(accumulate(1 / (rank + 1) ** 0.8 for rank in range(self.groups)))
        outcome = Outcome(None, 0.0, Counter())
        waiting: deque[tuple[list[int], int]] = deque()
        wrong = seen = 0
        for number in range(self.requests):
            if number in self.events:
                self.events[number](cache)
            group = bisect(weights, random.random() * weights[-1])
            keys = prefixes[group] + [random.getrandbits(64) for _ in range(TAIL)]
            if random.random() < self.others:
                cache.request(keys)
                continue
            believed = guess.held(keys).get(0, 0)
            guess.routed(0, keys)
            found = cache.request(keys)
            if number >= self.requests // 2:
                seen += 1
                wrong += abs(believed - found) > 1
            noisy = found + random.randint(-self.noise, self.noise)
            waiting.append((keys, max(0, min(len(keys), noisy))))
            if len(waiting) >= self.in_flight:
                asked, reported = waiting.popleft()
                verdict = guess.correct(0, asked, held=reported)
                outcome.verdicts[verdict] += 1
                if verdict is Verdict.RESET_SUSPECTED:
                    outcome.resets.append(number)
        guess.check()
        outcome.capacity, outcome.wrong = guess.capacity_units(0), wrong / seen
        return outcome


def emptied(cache: Cache) -> None:
    """The replica restarts."""
    cache.keys.clear()


def switched_off(cache: Cache) -> None:
    """It comes back with prefix caching off."""
    cache.keys.clear()
    cache.capacity = 0


@pytest.mark.parametrize("told", [None, 8000, 1000, 640, 200])
def test_predictions_come_true_whatever_capacity_was_told(told: int | None) -> None:
    """Within a few percent of the real one, and 97 of 100 predictions to the block."""
    outcome = Play(told=told).run()
    assert outcome.capacity is not None
    assert abs(outcome.capacity - BLOCKS) <= 0.03 * BLOCKS
    assert outcome.wrong <= 0.03
    assert not outcome.resets


def test_a_seat_of_known_capacity_is_predicted_without_an_error() -> None:
    """What is right is left alone."""
    outcome = Play(told=BLOCKS).run()
    assert (outcome.capacity, outcome.wrong) == (BLOCKS, 0.0)
    assert set(outcome.verdicts) == {Verdict.AGREED}


def test_a_cache_that_holds_everything_is_never_given_a_capacity() -> None:
    """There is no evidence of one."""
    outcome = Play(real=1_000_000, requests=600).run()
    assert (outcome.capacity, outcome.wrong) == (None, 0.0)


@pytest.mark.parametrize("in_flight", [6, 24])
def test_requests_in_flight_teach_nothing_wrong(in_flight: int) -> None:
    """Answers come later than the next requests are sent."""
    outcome = Play(in_flight=in_flight).run()
    assert outcome.capacity is not None
    assert abs(outcome.capacity - BLOCKS) <= 0.03 * BLOCKS
    assert not outcome.resets


def test_reports_that_are_off_by_some_blocks_are_good_enough() -> None:
    """Tokens do not divide into units of text."""
    outcome = Play(noise=2).run()
    assert outcome.capacity is not None
    assert abs(outcome.capacity - BLOCKS) <= 0.05 * BLOCKS
    assert outcome.wrong <= 0.03


@pytest.mark.parametrize("others", [0.25, 0.5])
def test_another_gateway_s_share_of_the_cache_is_left_out(others: float) -> None:
    """Predictions are about as good as with the best capacity that could have been told."""
    learned = Play(others=others, requests=3000).run()
    told = [Play(told=units, others=others, requests=3000) for units in (500, 600, 700)]
    best = min(unlearned(play).wrong for play in told)
    assert learned.wrong <= best + 0.025
    assert len(learned.resets) <= 1


def unlearned(play: Play) -> Outcome:
    """The same requests, but nothing is reported."""
    play.in_flight = play.requests + 1
    return play.run()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("in_flight", [1, 6])
def test_a_restart_is_noticed_and_not_learned(in_flight: int, seed: int) -> None:
    """Within a few requests; the capacity stays, and predictions come true again."""
    play = Play(in_flight=in_flight, events={1000: emptied}, seed=seed, requests=2400)
    outcome = play.run()
    assert len(outcome.resets) == 1
    assert 1000 < outcome.resets[0] <= 1000 + 30
    assert outcome.capacity is not None
    assert abs(outcome.capacity - BLOCKS) <= 0.03 * BLOCKS
    assert outcome.wrong <= 0.03


def test_prefix_caching_that_was_switched_off_is_learned() -> None:
    """One suspicion, then a cache of next to nothing."""
    outcome = Play(events={1000: switched_off}, requests=3000).run()
    assert len(outcome.resets) == 1
    assert outcome.capacity is not None
    assert outcome.capacity <= PREFIX + TAIL
    assert outcome.wrong <= 0.05


def test_a_seat_that_never_finds_anything_is_believed_to_hold_nothing() -> None:
    """Nor is it suspected of anything."""
    outcome = Play(real=0, requests=600).run()
    assert outcome.wrong == 0.0
    assert not outcome.resets
