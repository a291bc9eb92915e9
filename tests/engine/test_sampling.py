"""Choosing tokens: what is kept, how chance is drawn, what is reported."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.engine.request import Sampling
from stemcache.engine.sampling import Row, choose, greedy, logprobs
from stemcache.errors import RequestError


def row(*logits: float) -> Row:
    """Logits of a small vocabulary."""
    return np.array(logits, np.float32)


def kept(logits: Row, sampling: Sampling, draws: int = 400) -> set[int]:
    """Tokens that come up."""
    return {choose(logits, sampling, seed=7, number=n) for n in range(draws)}


def test_greedy_takes_the_most_probable_and_the_first_among_equals() -> None:
    """Ties go to the smaller id, so that greedy is a function."""
    assert greedy(row(1, 5, 5, 0)) == 1
    assert choose(row(1, 5, 5, 0), Sampling(temperature=0), seed=1, number=0) == 1


def test_top_k_keeps_that_many() -> None:
    """Nothing outside the k most probable is ever drawn."""
    assert kept(row(1, 3, 2, 2.5), Sampling(top_k=2)) == {1, 3}


def test_top_p_keeps_the_smallest_sufficient_set() -> None:
    """Probabilities .5 .3 .2: a nucleus of .6 needs two."""
    logits = np.log(np.array([0.2, 0.5, 0.3], np.float32))

    assert kept(logits, Sampling(top_p=0.6)) == {1, 2}
    assert kept(logits, Sampling(top_p=0.4)) == {1}
    assert kept(logits, Sampling(top_p=1.0)) == {0, 1, 2}


def test_top_p_counts_only_what_top_k_left() -> None:
    """The nucleus is taken within the k most probable, renormalised."""
    logits = np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32))

    assert kept(logits, Sampling(top_k=2, top_p=0.5)) == {0}


def test_a_flat_distribution_is_wider_than_the_sorted_head() -> None:
    """A nucleus larger than the candidates sorted at first is found whole."""
    logits = np.zeros(5000, np.float32)

    drawn = kept(logits, Sampling(top_p=0.9), draws=3000)

    assert max(drawn) == pytest.approx(4500, abs=30)


def test_frequencies_follow_probabilities() -> None:
    """Draws come up as often as the softmax says, within three standard errors."""
    probabilities = np.array([0.6, 0.3, 0.1])
    logits = np.log(probabilities).astype(np.float32)
    draws = 4000

    counts = Counter(choose(logits, Sampling(), seed=3, number=n) for n in range(draws))

    for token, expected in enumerate(probabilities):
        error = 3 * (expected * (1 - expected) / draws) ** 0.5
        assert counts[token] / draws == pytest.approx(expected, abs=error)


def test_temperature_sharpens() -> None:
    """Near zero, sampling is greedy."""
    assert kept(row(1, 2, 3), Sampling(temperature=0.01)) == {2}


@pytest.mark.parametrize("temperature", [5e-324, 1e-310, 1e-100, 1e-9])
@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"top_p": 0.5}, {"top_k": 3, "top_p": 0.9}])
def test_the_smallest_temperatures_are_greedy(temperature: float, options: dict[str, Any]) -> None:
    """A temperature that overflows when logits are divided by it picks the most probable."""
    logits = row(-30, 20, 19.5, -3e38, 3)

    assert kept(logits, Sampling(temperature=temperature, **options), draws=20) == {1}


def test_impossible_tokens_are_never_drawn() -> None:
    """A logit of minus infinity has no probability."""
    assert kept(row(1, float("-inf"), 1), Sampling()) == {0, 2}
    assert kept(row(1, float("-inf"), 1), Sampling(top_k=3)) == {0, 2}


@given(st.integers(-(2**63), 2**64 - 1), st.integers(0, 2**31))
def test_a_draw_depends_on_seed_and_number_alone(seed: int, number: int) -> None:
    """Equal seed and number, equal token."""
    logits = np.linspace(0, 1, 50, dtype=np.float32)

    first = choose(logits, Sampling(), seed=seed, number=number)

    assert choose(logits, Sampling(), seed=seed, number=number) == first


def test_logprobs_are_those_of_the_untempered_softmax() -> None:
    """Chosen and alternatives, most probable first."""
    logits = np.log(np.array([0.2, 0.5, 0.3], np.float32))

    shown = logprobs(logits, 0, 2)

    assert shown.chosen == pytest.approx(np.log(0.2), abs=1e-6)
    assert [1, 2] == [token for token, _ in shown.top]
    assert logprobs(logits, 0, 0).top == ()


@pytest.mark.parametrize(
    ("options", "text", "param"),
    [
        ({"temperature": -1}, "temperature is -1; use a number from 0 to 2", "temperature"),
        (
            {"temperature": float("nan")},
            "temperature is nan; use a number from 0 to 2",
            "temperature",
        ),
        ({"top_p": 0}, "top_p is 0; use a number above 0 and up to 1", "top_p"),
        ({"top_k": -2}, "top_k is -2; use 0 (all) or more", "top_k"),
        ({"logprobs": 21}, "21 alternatives were asked for; use 0 to 20", "top_logprobs"),
        ({"seed": 2**63}, "seed does not fit 64 bits; use a smaller one", "seed"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, float], text: str, param: str) -> None:
    """Each refusal names the field, the value and the range."""
    with pytest.raises(RequestError) as caught:
        Sampling(**options)  # type: ignore[arg-type]

    assert (text, param) == (str(caught.value), caught.value.param)
