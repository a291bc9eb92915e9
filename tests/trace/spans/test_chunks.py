from itertools import pairwise
from random import Random

import pytest

from stemcache.trace.spans.chunks import LEAST_BYTES, MOST_BYTES, cuts


def words(size: int, *, seed: int = 1) -> bytes:
    """Text of some variety."""
    chance = Random(seed)
    lengths = [chance.randint(2, 9) for _ in range(999)]
    vocabulary = ["".join(chance.choices("etaoinshrdlu", k=length)) for length in lengths]
    text = " ".join(chance.choices(vocabulary, k=size // 3 + 2))
    return text.encode()[:size]


def test_nothing_has_no_units() -> None:
    """And little is one."""
    assert cuts(b"") == []
    assert cuts(b"abc") == [3]
    assert cuts(b"a" * 128) == [128]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 127, 1_024, 1_025, 2**16 - 1, 2**16 + 7, 300_001])
def test_units_are_of_bounded_size_and_cover_everything(size: int) -> None:
    """Only the last may be short; ends ascend to the length."""
    ends = cuts(words(size))
    sizes = [end - start for start, end in pairwise([0, *ends])]
    assert ends[-1] == size
    assert all(LEAST_BYTES <= unit <= MOST_BYTES for unit in sizes[:-1])
    assert 0 < sizes[-1] <= MOST_BYTES


def test_units_of_text_are_512_bytes_on_average() -> None:
    """Within a tenth, over a thousand units."""
    ends = cuts(words(600_000))
    assert 460 < 600_000 / len(ends) < 564


def test_a_text_without_variety_is_cut_at_the_most() -> None:
    """Ten thousand blanks are three units."""
    assert cuts(b" " * 10_000) == [4_096, 8_192, 10_000]


def test_a_text_of_nothing_but_candidates_is_cut_at_the_least() -> None:
    """A window of zeros has the hash zero, so that each place might be a cut."""
    assert cuts(b"\0" * 200_000) == [*range(LEAST_BYTES, 200_000, LEAST_BYTES), 200_000]


def test_cuts_are_the_same_wherever_a_text_is_looked_at_from() -> None:
    """Of what follows text in front, all but the first units; blocks of the pass do not show."""
    text = words(400_000)
    for front in (1, 20, 777, 2**16):
        moved = {end - front for end in cuts(words(front, seed=2) + text)}
        assert len(moved.intersection(cuts(text))) > 0.98 * len(cuts(text))


def test_cuts_hang_on_nothing_but_the_bytes() -> None:
    """They are stated here, so that a store of digests stays good."""
    assert cuts(words(3_000)) == [1_333, 3_000]
