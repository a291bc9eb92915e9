"""By the caller's priority, then least recently used."""

from tests.policy.evict.stories import Tell, both_forms


@both_forms
def test_the_lowest_priority_leaves_first(tell: Tell) -> None:
    """Recency decides among equals only."""
    story = tell("priority")
    story.insert("a", priority=5).insert("b").insert("c", priority=-1).insert("d").use("b")

    assert ["c", "d", "b", "a"] == story.evict_all()


@both_forms
def test_a_use_raises_a_priority_and_never_lowers_it(tell: Tell) -> None:
    """Blocks have the highest priority of whoever used them."""
    story = tell("priority")
    story.insert("a", "b", priority=1)
    story.use("a", priority=9).use("a", priority=0).use("b", priority=3)

    assert ["b", "a"] == story.evict_all()


@both_forms
def test_a_shared_block_has_the_highest_priority_of_what_followed(tell: Tell) -> None:
    """What an urgent request stands on is as urgent, also after its own end has gone."""
    story = tell("priority")
    story.insert("ab").insert("ac", priority=7).insert("x", priority=3)
    story.remove("ac")

    assert ["ab", "x", "a"] == story.evict_all()


@both_forms
def test_a_priority_given_to_a_pin_counts(tell: Tell) -> None:
    """A hit by an urgent request protects the blocks that it hit."""
    story = tell("priority")
    story.insert("abc", "x").use("ab", priority=2)

    assert ["abc", "x", "ab", "a"] == story.evict_all()
