"""Least frequently used, with ageing."""

from stemcache.core.index import Stamp
from stemcache.policy.evict.lfu import Lfu
from tests.policy.evict.stories import Tell, both_forms


@both_forms
def test_what_was_used_least_leaves_first(tell: Tell) -> None:
    """Entering is no use; among equals the least recent goes first."""
    story = tell("lfu")
    story.insert("a", "b", "c", "d").use("a", "a", "c", "b")

    assert ["d", "c", "b", "a"] == story.evict_all()


@both_forms
def test_a_shared_block_has_the_uses_of_all_that_followed(tell: Tell) -> None:
    """A system prompt under many conversations is worth the sum of them."""
    story = tell("lfu")
    story.insert("ab", "ac", "x").use("ab", "ab", "ac", "x", "x").remove("ab")

    assert ["ac", "x", "a"] == story.evict_all()


@both_forms
def test_a_scan_pushes_out_nothing_that_was_used(tell: Tell) -> None:
    """Prompts that never return push out one another."""
    story = tell("lfu")
    story.insert("ab").use("ab", "ab", "ab")
    story.scan("cdefgh", capacity=4)

    assert ["a", "ab"] == story.cached("a", "ab")


@both_forms
def test_what_was_popular_long_ago_is_overtaken(tell: Tell) -> None:
    """Each generation that leaves raises the age at which the next one is counted."""
    story = tell("lfu")
    story.insert("a").use("a", "a", "a")
    for letter in "bcde":
        story.insert(letter).use(letter).evict(1)

    assert [] == story.cached("a")
    assert ["e"] == story.cached("b", "c", "d", "e")


def test_the_age_is_the_score_of_the_last_victim() -> None:
    """It never falls, and enters a state only when the block enters or is used."""
    policy = Lfu()
    old = policy.used(policy.inserted(Stamp(1, 0.0, 0)), Stamp(2, 0.0, 0))
    policy.evicted(old)
    fresh = policy.inserted(Stamp(3, 0.0, 0))
    policy.evicted(policy.inserted(Stamp(4, 0.0, 0))._replace(age=0))

    assert (1, 2) == policy.rank(old)
    assert (1, 3) == policy.rank(fresh)
    assert (2, 5) == policy.rank(policy.used(fresh, Stamp(5, 0.0, 0)))
    assert (1, 6) == policy.rank(policy.inserted(Stamp(6, 0.0, 0)))
