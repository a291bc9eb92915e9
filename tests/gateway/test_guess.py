"""What seats hold, by what was routed to them."""

import gc
import tracemalloc
from random import Random

import pytest

from stemcache.gateway.guess import Guess, Verdict
from stemcache.gateway.guess_seat import Seat
from tests.gateway.guess_cases import Cache, chain

PLENTY = 1 << 30


def guess_of(*capacities: int | None, most_bytes: int = PLENTY) -> Guess:
    """One with a seat for each capacity."""
    guess = Guess(most_bytes=most_bytes * 5 // 4)  # a fifth is for the allocator
    for seat, capacity in enumerate(capacities):
        guess.join(seat, capacity_units=capacity)
    return guess


def test_nothing_is_held_by_a_seat_that_was_sent_nothing() -> None:
    """A seat that holds none of a prompt is left out."""
    guess = guess_of(None, None)
    assert guess.held(chain("abc")) == {}
    guess.routed(0, chain("abc"))
    assert guess.held(chain("abc")) == {0: 3}
    assert guess.held(chain("xbc")) == {}


def test_a_prompt_is_held_as_far_as_it_agrees() -> None:
    """Shorter, longer and parting prompts are found up to where they end or part."""
    guess = guess_of(None)
    guess.routed(0, chain("abcdef"))
    held = {text: guess.held(chain(text)).get(0, 0) for text in ("abc", "abcdefgh", "abcxyz", "")}
    assert held == {"abc": 3, "abcdefgh": 6, "abcxyz": 3, "": 0}


def test_each_seat_is_found_where_its_own_prompts_end() -> None:
    """Five seats hold five beginnings of one prompt."""
    guess = guess_of(*[None] * 5)
    for seat, stop in enumerate((6, 2, 4, 6, 1)):
        guess.routed(seat, chain("abcdef"[:stop]))
    assert guess.held(chain("abcdefg")) == {0: 6, 1: 2, 2: 4, 3: 6, 4: 1}
    assert guess.held(chain("abcx")) == {0: 3, 1: 2, 2: 3, 3: 3, 4: 1}
    guess.check()


def test_to_ask_changes_nothing() -> None:
    """What was only looked up is no more recent, and takes no memory."""
    guess = guess_of(4)
    guess.routed(0, chain("ab"))
    guess.routed(0, chain("xy"))
    before = guess.bytes_used
    for _ in range(3):
        assert guess.held(chain("abq")) == {0: 2}
    assert guess.bytes_used == before
    guess.routed(0, chain("z"))
    assert guess.held(chain("ab")) == {0: 1}, "the least recent, its end first"
    assert guess.held(chain("xy")) == {0: 2}


def test_an_empty_prompt_is_nothing() -> None:
    """No unit, no use, no report."""
    guess = guess_of(None)
    guess.routed(0, [])
    assert guess.held([]) == {}
    assert guess.correct(0, [], held=0) is Verdict.UNKNOWN
    guess.check()


def test_a_prompt_longer_than_the_cache_leaves_its_beginning() -> None:
    """Its end is trimmed."""
    guess = guess_of(3)
    guess.routed(0, chain("abcdef"))
    assert guess.held(chain("abcdef")) == {0: 3}
    assert guess.held_units(0) == 3


def test_a_shared_beginning_outlives_what_was_behind_it() -> None:
    """It is used with each prompt; the ends go one after another."""
    guess = guess_of(6)
    for end in "123456":
        guess.routed(0, chain("sys" + end))
    assert [guess.held(chain("sys" + end))[0] for end in "123456"] == [3, 3, 3, 4, 4, 4]


def test_seats_do_not_evict_each_other() -> None:
    """One seat's requests leave another's alone."""
    guess = guess_of(4, 4)
    guess.routed(0, chain("abcd"))
    for end in range(20):
        guess.routed(1, chain(f"{end}abc"))
    assert guess.held(chain("abcd")) == {0: 4}


def test_what_a_seat_is_cleared_of_is_gone_and_nobody_else_loses_it() -> None:
    """The others share the same runs."""
    guess = guess_of(None, None)
    for seat in (0, 1):
        guess.routed(seat, chain("abcd"))
    guess.routed(0, chain("abxy"))
    guess.clear(0)
    assert guess.held(chain("abcd")) == {1: 4}
    assert guess.held(chain("abxy")) == {1: 2}
    assert (guess.held_units(0), guess.held_units(1)) == (0, 4)
    guess.check()
    guess.routed(0, chain("ab"))
    assert guess.held(chain("abcd")) == {0: 2, 1: 4}


def test_all_memory_comes_back_when_seats_leave() -> None:
    """Nothing is left of a seat, and its number may be given again."""
    guess = guess_of()
    empty = guess.bytes_used
    for seat in (3, 700):
        guess.join(seat, capacity_units=None)
        for end in range(50):
            guess.routed(seat, chain(f"shared{end % 7}{end}"))
    for seat in (700, 3):
        guess.leave(seat)
        guess.check()
    assert guess.bytes_used == empty
    guess.join(3, capacity_units=None)
    assert guess.held(chain("shared00")) == {}


def test_a_seat_that_shrinks_forgets_and_one_that_grows_gets_nothing_back() -> None:
    """Its cache was rebuilt, for all that is known."""
    guess = guess_of(6)
    guess.routed(0, chain("abcdef"))
    guess.resize(0, 2)
    assert guess.held(chain("abcdef")) == {0: 2}
    guess.resize(0, 6)
    assert guess.held(chain("abcdef")) == {0: 2}
    guess.resize(0, None)
    guess.routed(0, chain("abcdefgh"))
    assert guess.held(chain("abcdefgh")) == {0: 8}


def reports(guess: Guess, real: int, count: int, seed: int = 1) -> None:
    """So many requests of 20 keys in 40 groups, answered by a cache of `real` units."""
    random = Random(seed)
    cache = Cache(real)
    groups = [[random.getrandbits(64) for _ in range(19)] for _ in range(40)]
    for _ in range(count):
        keys = [*random.choice(groups), random.getrandbits(64)]
        guess.routed(0, keys)
        guess.correct(0, keys, held=cache.request(keys))


def test_what_was_learned_outlives_an_estimate_s_last_digits_and_no_more() -> None:
    """A capacity in units is estimated anew all the time; a cache twice as large is another."""
    guess = guess_of(1000)
    reports(guess, 400, 600)
    learned = guess.capacity_units(0)
    assert learned is not None
    assert 380 <= learned <= 420
    guess.resize(0, 1000)
    guess.resize(0, 1030)
    guess.resize(0, 990)
    assert guess.capacity_units(0) == learned
    guess.resize(0, 2000)
    assert guess.capacity_units(0) == 2000
    guess.check()


def test_a_capacity_that_no_answer_contradicts_follows_what_is_told() -> None:
    """To the unit."""
    guess = guess_of(400)
    reports(guess, 400, 300)
    guess.resize(0, 410)
    assert guess.capacity_units(0) == 410
    guess.check()


def test_a_seat_that_is_emptied_keeps_what_was_learned_of_it() -> None:
    """The machine is the same."""
    guess = guess_of(None)
    reports(guess, 400, 600)
    learned = guess.capacity_units(0)
    guess.clear(0)
    assert (guess.capacity_units(0), guess.held_units(0)) == (learned, 0)
    assert learned is not None


def test_what_comes_out_to_be_held_after_all_is_believed_again() -> None:
    """A seat that was thought to be small still has what was remembered beyond that."""
    guess = guess_of(200)
    reports(guess, 400, 600)
    learned = guess.capacity_units(0)
    assert learned is not None
    assert learned >= 380
    assert guess.held_units(0) >= 380


def test_a_seat_of_no_capacity_holds_nothing() -> None:
    """Zero is a capacity."""
    guess = guess_of(0)
    guess.routed(0, chain("abc"))
    assert guess.held(chain("abc")) == {}
    guess.check()


def test_runs_that_part_no_more_are_one_again() -> None:
    """A million prompts that came and went leave one run, not a million pieces of it."""
    guess = guess_of(None, None)
    spine = chain(range(200))
    guess.routed(0, spine)
    alone = guess.bytes_used
    sent = guess.correct(0, spine, held=0)
    assert sent is Verdict.AGREED
    alone = guess.bytes_used
    for at in range(1, 199):
        guess.routed(1, [*spine[:at], at], answered=False)
    assert guess.bytes_used > 3 * alone
    guess.clear(1)
    guess.check()
    assert guess.bytes_used <= alone + 64, "but for what the allocator rounds"


@pytest.mark.parametrize("shape", ["alone", "shared", "growing"])
def test_memory_stays_below_its_bound_and_the_account_is_honest(shape: str) -> None:
    """Never more is accounted than allowed, nor more allocated than is accounted."""
    random = Random(5)
    shared = [random.getrandbits(64) for _ in range(20)]
    most = 4 * Seat.BYTES + 600_000
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    guess = guess_of(*[None] * 4, most_bytes=most)
    keys: list[int] = []
    for number in range(1500):
        fresh = [random.getrandbits(64) for _ in range(15)]
        if shape == "alone":
            keys = fresh
        elif shape == "shared":
            keys = shared[: random.randrange(20)] + fresh
        else:
            keys = (keys if number % 40 else []) + fresh * 5
        guess.routed(number % 4, keys)
        assert guess.bytes_used <= most
    del keys, fresh
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    guess.check()
    assert after - before <= guess.bytes_used
    assert guess.bytes_used > most - 80_000, "what is allowed is made use of"


def test_where_memory_is_short_the_largest_holder_gives() -> None:
    """A busy seat does not make a quiet one forget."""
    random = Random(6)
    guess = guess_of(None, None, most_bytes=2 * Seat.BYTES + 200_000)
    quiet = [random.getrandbits(64) for _ in range(500)]
    guess.routed(1, quiet)
    for _ in range(2000):
        guess.routed(0, [random.getrandbits(64) for _ in range(20)], answered=False)
    assert guess.held(quiet) == {1: 500}


def test_a_prompt_larger_than_the_bound_is_remembered_in_part() -> None:
    """It takes all there is, and no more."""
    guess = guess_of(None, most_bytes=Seat.BYTES + 40_000)
    keys = list(range(1, 100_000))
    guess.routed(0, keys)
    assert guess.bytes_used <= Seat.BYTES + 40_000
    assert 1000 < guess.held(keys)[0] < 6000


def test_a_report_is_compared_with_what_was_believed_when_the_prompt_was_sent() -> None:
    """Not with what is believed since it was routed, which is all of it."""
    guess = guess_of(None)
    keys = chain("abcdefgh")
    for found, verdict in (
        (0, Verdict.AGREED),
        (8, Verdict.AGREED),
        (7, Verdict.AGREED),
        (2, Verdict.LESS),
    ):
        guess.routed(0, keys)
        assert guess.correct(0, keys, held=found) is verdict
    guess.routed(0, longer := chain("abcdefghijklm"))
    assert guess.correct(0, longer, held=12) is Verdict.MORE


def test_a_report_of_a_prompt_that_was_never_sent_says_nothing() -> None:
    """Nor a second one, nor one from before the seat was emptied."""
    guess = guess_of(None)
    keys = chain("abc")
    assert guess.correct(0, keys, held=3) is Verdict.UNKNOWN
    guess.routed(0, keys)
    guess.correct(0, keys, held=0)
    assert guess.correct(0, keys, held=0) is Verdict.UNKNOWN
    guess.routed(0, keys)
    guess.clear(0)
    assert guess.correct(0, keys, held=3) is Verdict.UNKNOWN
    guess.routed(0, keys, answered=False)
    assert guess.correct(0, keys, held=3) is Verdict.UNKNOWN
    guess.check()


def test_what_waits_for_answers_is_bounded() -> None:
    """Requests that are never answered are forgotten, the oldest first."""
    guess = guess_of(None)
    prompts = [chain([number]) for number in range(2000)]
    for keys in prompts:
        guess.routed(0, keys)
    assert guess.correct(0, prompts[0], held=0) is Verdict.UNKNOWN
    assert guess.correct(0, prompts[-1], held=0) is Verdict.AGREED
    guess.check()


def test_a_run_trimmed_key_by_key_gives_its_memory_back() -> None:
    """A cache that fills up slowly eats a long prompt from its end."""
    guess = guess_of(6000)
    guess.routed(0, list(range(1, 6001)), answered=False)
    full = guess.bytes_used
    for number in range(5990):
        guess.routed(0, [10_000_000 + number % 5], answered=False)
        if number < 5:
            assert guess.held(list(range(1, 6001))) == {0: 6000 - 1 - number}
    guess.resize(0, 8)
    assert guess.bytes_used - Seat.BYTES < (full - Seat.BYTES) / 10
    guess.check()
