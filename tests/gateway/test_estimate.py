"""Bytes a token, learned by model."""

import pytest

from stemcache.gateway.estimate import TokenEstimate


def test_before_any_answer_four_bytes_are_a_token() -> None:
    """The prior."""
    assert TokenEstimate().tokens("m", 400) == 100


def test_the_first_answer_counts_whole_and_later_ones_a_little() -> None:
    """It moves towards what is seen."""
    estimate = TokenEstimate()
    estimate.learn("m", 300, 100)
    assert estimate.bytes_a_token("m") == 3.0
    estimate.learn("m", 500, 100)
    assert estimate.bytes_a_token("m") == pytest.approx(3.1)
    assert estimate.bytes_a_token("other") == 4.0


@pytest.mark.parametrize(("size", "tokens"), [(0, 10), (10, 0), (-1, 5), (5, -1)])
def test_figures_that_cannot_be_are_passed_over(size: int, tokens: int) -> None:
    """Zero and less teach nothing."""
    estimate = TokenEstimate()
    estimate.learn("m", size, tokens)
    assert estimate.bytes_a_token("m") == 4.0


@pytest.mark.parametrize(("size", "tokens", "kept"), [(10**9, 1, 64.0), (1, 10**9, 1.0)])
def test_a_replica_cannot_make_the_estimate_absurd(size: int, tokens: int, kept: float) -> None:
    """It is kept within what tokenizers do."""
    estimate = TokenEstimate()
    estimate.learn("m", size, tokens)
    assert estimate.bytes_a_token("m") == kept


def test_a_text_has_never_more_tokens_than_bytes() -> None:
    """Short ones seem to: their template has more tokens than they have bytes."""
    estimate = TokenEstimate()
    for _ in range(100):
        estimate.learn("m", 2, 50)
    assert estimate.tokens("m", 33_000_000) == 33_000_000


def test_names_that_clients_make_up_do_not_fill_the_memory() -> None:
    """Beyond a bound the prior serves."""
    estimate = TokenEstimate()
    for number in range(1000):
        estimate.learn(f"m{number}", 800, 100)
    assert estimate.bytes_a_token("m0") == 8.0
    assert estimate.bytes_a_token("m999") == 4.0


def test_a_text_has_at_least_one_token() -> None:
    """Nothing is divided by zero behind this."""
    assert TokenEstimate().tokens("m", 0) == 1
