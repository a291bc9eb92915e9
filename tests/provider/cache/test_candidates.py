"""Which cuts are looked up where a cache can be read anywhere."""

import numpy as np

from stemcache.provider.cache.candidates import answers, candidates
from stemcache.provider.cache.cut import EVERYWHERE, NOWHERE, Cuts
from stemcache.provider.shape import Shape
from stemcache.wire.api import Api
from tests.provider.cache.prompts import block, shape


def test_positions_are_looked_up_as_they_stand() -> None:
    """With their chains and tokens."""
    prompt = shape(block("a", 10), block("b", 5), block("c", 3))
    places = candidates(prompt, Cuts(everywhere=False, positions=(0, 2)))
    assert places.positions == [0, 2]
    assert places.tokens == [10, 18]
    assert places.chains == [prompt.positions[0].chain, prompt.positions[2].chain]
    assert len(candidates(prompt, NOWHERE)) == 0


def test_of_fine_cuts_a_sample_is_looked_up_and_every_position() -> None:
    """The sample is told by the chain, about one in four."""
    prompt = shape(block("a", 4_000), block("b", 4_001), fine_tokens=4)
    places = candidates(prompt, EVERYWHERE)
    fine = [chain for chain in prompt.fine_chain.tolist() if chain % 4 == 0]
    ends = [place.chain for place in prompt.positions]
    assert set(places.chains) == {*fine, *ends}
    assert 400 < len(places) < 600
    assert places.tokens == sorted(places.tokens)
    assert [number for number in places.positions if number >= 0] == [0, 1]


def test_without_fine_cuts_positions_are_all_there_is() -> None:
    """A shape may leave them out where its cache does not need them."""
    whole = shape(block("a", 10), block("b", 5))
    none = np.array([], dtype=np.uint64)
    bare = Shape(whole.positions, none, none.astype(np.int64), Api.CHAT)
    assert candidates(bare, EVERYWHERE).positions == [0, 1]


def test_an_answer_is_looked_up_by_the_prompt_before_it() -> None:
    """One candidate for each whole message of the assistant's."""
    prompt = shape(
        block("system", 100, "system"),
        block("hello", 10),
        block("thinking", 20, "assistant", ends=False),
        block("hi", 30, "assistant"),
        block("more", 10),
        block("on", 5, "assistant"),
    )
    places = answers(prompt)
    assert places.chains == [prompt.positions[1].chain, prompt.positions[4].chain]
    assert places.tokens == [160, 175]
    assert places.positions == [3, 5]


def test_an_answer_that_a_prompt_begins_with_or_leaves_open_is_none() -> None:
    """There is no prompt before the first, and the last is not over."""
    prompt = shape(
        block("hi", 30, "assistant"), block("a", 10), block("open", 5, "assistant", ends=False)
    )
    assert len(answers(prompt)) == 0
