"""Segmented least recently used."""

from tests.policy.evict.stories import Tell, both_forms


@both_forms
def test_what_was_never_used_again_leaves_first(tell: Tell) -> None:
    """Probation before protection, each by recency."""
    story = tell("slru")
    story.insert("a", "b", "c", "d").use("c", "a")

    assert ["b", "d", "c", "a"] == story.evict_all()


@both_forms
def test_a_shared_block_is_protected_by_any_use_of_what_followed(tell: Tell) -> None:
    """A prefix that one of its conversations came back to is worth keeping."""
    story = tell("slru")
    story.insert("ab", "ac").use("ab").insert("x").remove("ab")

    assert ["ac", "x", "a"] == story.evict_all()


@both_forms
def test_a_scan_pushes_out_nothing_that_was_used(tell: Tell) -> None:
    """Prompts that never return push out one another."""
    story = tell("slru")
    story.insert("ab").use("ab")
    story.scan("cdefgh", capacity=4)

    assert ["a", "ab"] == story.cached("a", "ab")


@both_forms
def test_what_was_used_once_is_never_forgotten(tell: Tell) -> None:
    """The known weakness: protection does not age."""
    story = tell("slru")
    story.insert("a").use("a")
    for letter in "bcde":
        story.insert(letter).evict(1)

    assert ["a"] == story.cached("a", "b", "c", "d", "e")
