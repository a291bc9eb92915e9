"""First in, first out."""

from tests.policy.evict.stories import Tell, both_forms


@both_forms
def test_what_entered_first_leaves_first(tell: Tell) -> None:
    """Hits do not count: the most used prompt goes first if it is the oldest."""
    story = tell("fifo")
    story.insert("ab", "cd").use("ab", "ab").insert("ef").use("ab")

    assert ["ab", "a", "cd", "c", "ef", "e"] == story.evict_all()


@both_forms
def test_a_shared_block_is_as_old_as_when_it_entered(tell: Tell) -> None:
    """Once nothing stands behind it any more, an old prefix goes before anything younger."""
    story = tell("fifo")
    story.insert("ab", "x", "acd")

    assert ["ab", "x", "acd", "ac", "a"] == story.evict_all()
    story.insert("ab", "x", "acd").remove("ac")
    assert ["ab", "a", "x"] == story.evict_all()


@both_forms
def test_a_block_that_left_and_came_back_is_young(tell: Tell) -> None:
    """Age counts from the last time a block entered."""
    story = tell("fifo")
    story.insert("a", "b").evict(1)
    story.insert("a")

    assert ["b", "a"] == story.evict_all()
