from random import Random

import numpy as np
import pytest

from stemcache.lab.stems import StemTree
from tests.lab.histories import keys, random_trace


def ids(*blocks: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Ids of a prompt."""
    return np.array(blocks, np.int64)


def test_prompts_that_part_share_a_stem_up_to_there() -> None:
    """Two prompts with two blocks in common make one stem of two, and two behind it."""
    tree = StemTree()
    assert tree.visit("", ids(1, 2, 3, 4)).known_blocks == 0
    path = tree.visit("", ids(1, 2, 5))
    assert [stem.blocks for stem in path.stems] == [2, 1]
    assert (path.known, path.known_blocks) == (1, 2)
    assert (tree.blocks, tree.stems) == (5, 3)


def test_a_prompt_that_ends_inside_another_cuts_its_stem() -> None:
    """The end of every prompt is the end of a stem."""
    tree = StemTree()
    whole = tree.visit("", ids(1, 2, 3)).stems[-1]
    path = tree.visit("", ids(1, 2))
    assert (path.known, path.stems[-1].stop) == (1, 2)
    assert whole.parent is path.stems[-1], "the lower part keeps its identity"
    assert whole.ids.tolist() == [3]


def test_an_empty_prompt_goes_nowhere() -> None:
    """A prompt shorter than a block has no path."""
    path = StemTree().visit("", ids())
    assert path.stems == []
    assert path.known_blocks == 0


def test_scopes_share_nothing() -> None:
    """Equal ids of two scopes are different blocks."""
    tree = StemTree()
    tree.visit("a", ids(1, 2))
    assert tree.visit("b", ids(1, 2)).known_blocks == 0
    assert {scope for scope, _ in tree.roots()} == {"a", "b"}
    assert tree.blocks == 4


def test_a_split_stem_passes_on_what_it_knew() -> None:
    """The upper part has the numbers of the whole."""
    tree = StemTree()
    stem = tree.visit("", ids(1, 2, 3)).stems[0]
    stem.uses, stem.last_request, stem.last_s, stem.written_s = 4, 7, 9.5, [1.0]
    upper = tree.visit("", ids(1, 9)).stems[0]
    assert (upper.uses, upper.last_request, upper.last_s, upper.written_s) == (4, 7, 9.5, [1.0])
    assert upper.written_s is not stem.written_s, "or one would write the other's"


@pytest.mark.parametrize("seed", range(40))
def test_the_tree_is_the_set_of_prefixes(seed: int) -> None:
    """Known blocks are those that an earlier prompt had; every invariant holds on the way."""
    random = Random(seed)
    tree = StemTree()
    seen: set[tuple[str, int]] = set()
    for each in random_trace(random, 60, fan=random.choice([1, 2, 3]), scopes=2):
        blocks = keys(each)
        path = tree.visit(each.scope, each.ids)
        for stem in path.stems:
            stem.uses += 1
        assert path.known_blocks == sum(block in seen for block in blocks)
        assert [key for stem in path.stems for key in stem.ids.tolist()] == each.ids.tolist()
        seen.update(blocks)
        tree.check()
    assert tree.blocks == len(seen)
