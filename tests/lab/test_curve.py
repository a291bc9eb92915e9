from random import Random

import pytest

from stemcache.lab.curve import LruCurve


def test_the_drawing() -> None:
    """Three blocks at 2 to 4 and four at 3 to 6."""
    curve = LruCurve()
    curve.add(2, 3)
    curve.add(3, 4)
    assert curve.block_hits([0, 1, 2, 3, 4, 5, 6, 7, 100]).tolist() == [0, 0, 1, 3, 5, 6, 7, 7, 7]
    assert curve.largest == 6


def test_an_empty_curve_has_no_hits() -> None:
    """Nothing was ever found again."""
    curve = LruCurve()
    assert curve.block_hits([1, 10]).tolist() == [0, 0]
    assert curve.token_hits([1, 10], 16).tolist() == [0, 0]
    assert curve.largest == 0


def test_a_partial_block_counts_its_own_tokens() -> None:
    """The block at distance 3 lacks 5 of 16 tokens, where it is found."""
    curve = LruCurve()
    curve.add(2, 2)
    curve.shorten(3, 5)
    assert curve.token_hits([1, 2, 3, 4], 16).tolist() == [0, 16, 27, 27]


@pytest.mark.parametrize("seed", range(10))
def test_agrees_with_counting(seed: int) -> None:
    """Every distance counted one by one, at every capacity and in every bin."""
    random = Random(seed)
    curve, distances, short = LruCurve(), list[int](), list[tuple[int, int]]()
    for _ in range(random.randrange(1, 50)):
        first, blocks = random.randrange(1, 40), random.randrange(1, 9)
        curve.add(first, blocks)
        distances += range(first, first + blocks)
        if random.random() < 0.3:
            short.append((first + blocks - 1, random.randrange(1, 16)))
            curve.shorten(*short[-1])
    capacities = list(range(60))
    counted = [sum(d <= c for d in distances) for c in capacities]
    assert curve.block_hits(capacities).tolist() == counted
    tokens = [
        16 * hits - sum(lacks for at, lacks in short if at <= c)
        for c, hits in zip(capacities, counted, strict=True)
    ]
    assert curve.token_hits(capacities, 16).tolist() == tokens
    assert curve.largest == max(distances)
    edges = [1, 2, 4, 8, 16, 32]
    bins = [
        sum(low <= d < high for d in distances)
        for low, high in zip(edges, [*edges[1:], 10**9], strict=True)
    ]
    assert curve.histogram(edges) == bins
