import numpy as np
import numpy.typing as npt
import pytest

from stemcache.replay.resample import difference, paired_difference

Floats = npt.NDArray[np.float64]


def mean(samples: Floats) -> Floats:
    """Of the first value of each sample's rows."""
    return np.asarray(samples[..., 0].mean(axis=-1))


def test_a_sample_does_not_differ_from_itself() -> None:
    """Paired, the interval is a point."""
    rows = np.random.default_rng(1).exponential(size=(300, 1))
    found = paired_difference(rows, rows, mean, random=np.random.default_rng(2))
    assert (found.value, found.low, found.high, found.distinguishable) == (0, 0, 0, False)


def test_a_shift_of_all_is_seen_in_pairs_however_wide_the_spread() -> None:
    """That is what pairing is for; without it the spread hides the shift."""
    random = np.random.default_rng(3)
    a = random.exponential(10.0, size=(400, 1))
    b = a + random.normal(0.3, 0.1, size=(400, 1))
    paired = paired_difference(a, b, mean, random=np.random.default_rng(4))
    assert paired.distinguishable
    assert 0.2 < paired.low < paired.value < paired.high < 0.4
    apart = difference(a, b, mean, random=np.random.default_rng(4))
    assert not apart.distinguishable


def test_the_same_seed_gives_the_same_interval() -> None:
    """To the last digit."""
    random = np.random.default_rng(5)
    a, b = random.normal(size=(2, 50, 1))
    one, two = (difference(a, b, mean, random=np.random.default_rng(6)) for _ in range(2))
    assert one == two


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_hold_the_truth_about_as_often_as_they_say(*, paired: bool) -> None:
    """Two samples of one distribution, neighbours alike: the interval misses zero rarely."""
    random = np.random.default_rng(7)
    how = paired_difference if paired else difference
    missed = 0
    for _ in range(40):
        noise = random.normal(size=(2, 401))
        a, b = (noise[:, 1:] + noise[:, :-1])[:, :, None]
        missed += how(a, b, mean, random=random, draws=200).distinguishable
    assert missed <= 7


def test_neighbours_that_are_late_together_widen_the_interval() -> None:
    """Drawn one by one they would seem to be many independent witnesses."""
    random = np.random.default_rng(8)
    bursts = np.repeat(random.normal(size=(2, 50)), 8, axis=1)[:, :, None]
    mixed = random.permuted(bursts, axis=1)

    def width(pair: Floats) -> float:
        found = difference(pair[0], pair[1], mean, random=np.random.default_rng(9))
        return found.high - found.low

    assert width(bursts) > 1.5 * width(mixed)


def test_one_row_is_enough_to_be_drawn() -> None:
    """And an empty sample is a mistake of the caller."""
    one = np.array([[2.0]])
    assert difference(one, one + 1, mean, random=np.random.default_rng(0)).value == 1
    with pytest.raises(AssertionError, match="empty sample"):
        difference(one[:0], one, mean, random=np.random.default_rng(0))
    with pytest.raises(AssertionError, match="pairs have two sides, not 1 and 2 rows"):
        paired_difference(one, np.zeros((2, 1)), mean, random=np.random.default_rng(0))
