"""By what recomputing would cost, with ageing."""

import pytest

from stemcache.core.index import Stamp
from stemcache.policy import evict
from stemcache.policy.evict.cost import Cost
from tests.policy.evict.stories import Tell, both_forms


@both_forms
def test_what_was_used_least_leaves_first(tell: Tell) -> None:
    """Prompts of equal length go by uses, then by recency."""
    story = tell("cost")
    story.insert("a", "b", "c", "d").use("a", "a", "c", "b")

    assert ["d", "c", "b", "a"] == story.evict_all()


@both_forms
def test_of_two_used_alike_the_shorter_leaves_first(tell: Tell) -> None:
    """A token far behind costs more than one in front, since attention reads all between."""
    story = tell("cost")
    story.insert("abcdefgh").insert("x", "y").use("abcdefgh", "x", "y")

    assert ["x", "y"] == story.evict(2)


@both_forms
def test_a_shared_block_has_the_uses_of_all_that_followed(tell: Tell) -> None:
    """Entering counts once for a block, not once for each that followed."""
    story = tell("cost")
    story.insert("ab", "ac", "x").use("ab", "ac", "x", "x").remove("ab")

    assert ["ac", "x", "a"] == story.evict_all()


@both_forms
def test_what_was_popular_long_ago_is_overtaken(tell: Tell) -> None:
    """Each generation that leaves raises the age at which the next one is counted."""
    story = tell("cost")
    story.insert("a").use("a", "a", "a")
    for letter in "bcdefg":
        story.insert(letter).use(letter).evict(1)

    assert [] == story.cached("a")


@pytest.mark.parametrize(("block_tokens", "double"), [(16, 1_536), (512, 48), (1, 24_576)])
def test_a_block_costs_twice_as_much_24576_tokens_behind(block_tokens: int, double: int) -> None:
    """Whatever the block size; `make` passes it on."""
    policy = evict.make("cost", block_tokens=block_tokens)
    front = policy.inserted(Stamp(1, 0.0, 0, blocks=0))
    behind = policy.inserted(Stamp(2, 0.0, 0, blocks=double))

    assert (1.0, 1) == policy.rank(front)
    assert (2.0, 2) == policy.rank(behind)


def test_the_age_is_the_score_of_the_last_victim() -> None:
    """It never falls, and enters a state only when the block enters or is used."""
    policy = Cost()
    old = policy.used(policy.inserted(Stamp(1, 0.0, 0)), Stamp(2, 0.0, 0))
    policy.evicted(old)
    policy.evicted(policy.inserted(Stamp(3, 0.0, 0))._replace(age=0.0))

    assert (2.0, 2) == policy.rank(old)
    assert (3.0, 4) == policy.rank(policy.inserted(Stamp(4, 0.0, 0)))
