"""The toy model notices what it is there to notice."""

import numpy as np
import pytest

from stemcache.engine.model import Logits, Step
from stemcache.engine.toy import ToyModel


def ask(model: ToyModel, tokens: list[int], start: int, pages: list[int]) -> Logits:
    """One step for one sequence."""
    return model.forward(
        [Step(np.array(tokens, np.int32), start, np.array(pages, np.int32), sample=True)]
    )


def test_chunks_give_what_the_whole_gives() -> None:
    """Logits depend on the tokens, not on how they were cut."""
    whole, chunked = ToyModel(), ToyModel()
    whole.allocate(8, 4)
    chunked.allocate(8, 4)

    ask(chunked, [1, 2, 3], 0, [5, 2])
    expected = ask(whole, [1, 2, 3, 4, 5], 0, [0, 1])

    assert np.array_equal(expected, ask(chunked, [4, 5], 3, [5, 2]))


def test_a_page_that_was_never_written_is_noticed() -> None:
    """A block table with a wrong page fails the step."""
    model = ToyModel()
    model.allocate(8, 4)
    ask(model, [1, 2, 3, 4], 0, [0])

    with pytest.raises(AssertionError, match="do not hold positions"):
        ask(model, [5], 4, [3, 1])


def test_another_requests_page_changes_the_answer() -> None:
    """KV of other tokens at the right positions shows in the logits."""
    model = ToyModel()
    model.allocate(8, 4)
    ask(model, [1, 2, 3, 4, 5, 6, 7, 8], 0, [0, 1])
    ask(model, [9, 2, 3, 4, 5, 6, 7, 8], 0, [2, 3])

    mine = ask(model, [1], 8, [0, 1, 4])

    assert not np.array_equal(mine, ask(model, [1], 8, [2, 1, 5]))
