from random import Random

import pytest

from stemcache.lab.recency import Recency


def test_counts_what_was_used_later() -> None:
    """The example of the docstring."""
    recency = Recency()
    for blocks in (7, 0, 3, 1, 2):
        recency.append(blocks)
    assert recency.newer_than(2) == 3
    assert recency.blocks == 13
    assert recency.held(0) == 7


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_list(seed: int) -> None:
    """Sums over a plain list, while it grows far beyond its first size."""
    random = Random(seed)
    recency, plain = Recency(), list[int]()
    for _ in range(5000):
        if plain and random.random() < 0.4:
            request = random.randrange(len(plain))
            blocks = random.randint(-plain[request], 5)
            recency.move(request, blocks)
            plain[request] += blocks
        else:
            plain.append(random.randrange(9))
            recency.append(plain[-1])
        if random.random() < 0.05:
            request = random.randrange(len(plain))
            assert recency.newer_than(request) == sum(plain[request + 1 :])
            assert recency.held(request) == plain[request]
    assert recency.blocks == sum(plain)
