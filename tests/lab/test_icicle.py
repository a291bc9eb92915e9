from stemcache.lab.icicle import Bar, icicle
from stemcache.lab.stems import StemTree
from tests.lab.histories import visit


def tree_of(*prompts: list[int]) -> StemTree:
    """A tree that these prompts went through."""
    tree = StemTree()
    for prompt in prompts:
        each = visit(prompt)
        for stem in tree.visit(each.scope, each.ids).stems:
            stem.uses += 1
    return tree


def test_shared_stems_are_drawn_under_what_they_follow() -> None:
    """The system prompt, then a chat of two turns; what one request had alone is left out."""
    tree = tree_of([1, 2, 3], [1, 2, 3, 4], [1, 2, 9], [7])
    assert icicle([tree]) == [Bar(None, 0, 2, 3), Bar(0, 2, 1, 2)]


def test_the_widest_and_deepest_come_first_up_to_a_number() -> None:
    """Two bars of three: those with most blocks times requests."""
    tree = tree_of([1, 2, 3, 4], [1, 2, 3, 4], [5], [5], [6, 7], [6, 7])
    assert icicle([tree], most=2) == [Bar(None, 0, 4, 2), Bar(None, 0, 2, 2)]


def test_several_trees_stand_side_by_side() -> None:
    """One for each session."""
    assert len(icicle([tree_of([1], [1]), tree_of([1], [1])])) == 2


def test_nothing_shared_draws_nothing() -> None:
    """No bars."""
    assert icicle([tree_of([1], [2])]) == []
