"""Least recently used."""

from tests.policy.evict.stories import Tell, both_forms


@both_forms
def test_what_was_used_longest_ago_leaves_first(tell: Tell) -> None:
    """Entering is a use, a hit is a use, and only the last one counts."""
    story = tell("lru")
    story.insert("ab", "cd", "ef").use("ab", "ab", "cd", "ab")

    assert ["ef", "e", "cd", "c", "ab", "a"] == story.evict_all()


@both_forms
def test_a_use_of_a_prefix_is_none_of_what_follows(tell: Tell) -> None:
    """A request that shares a beginning keeps the beginning, not the old ending."""
    story = tell("lru")
    story.insert("abcd", "x").use("ab")

    assert ["abcd", "abc", "x", "ab", "a"] == story.evict_all()


@both_forms
def test_a_use_of_what_followed_outlives_it(tell: Tell) -> None:
    """When a conversation's last turn is removed, its earlier turns are as recent as it was."""
    story = tell("lru")
    story.insert("abc", "x").use("abc").remove("abc")

    assert ["x", "ab", "a"] == story.evict_all()


@both_forms
def test_a_scan_pushes_out_everything(tell: Tell) -> None:
    """The known weakness: prompts that never return leave nothing of those that did."""
    story = tell("lru")
    story.insert("ab").use("ab", "ab")
    story.scan("cdefgh", capacity=4)

    assert [] == story.cached("a", "ab")
