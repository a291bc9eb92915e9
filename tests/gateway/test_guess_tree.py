"""The tree of runs and holds, by itself."""

from array import array

import pytest

from stemcache.gateway.guess_check import verify
from stemcache.gateway.guess_tree import Node, Ring, Tree
from tests.gateway.guess_cases import chain


def use(tree: Tree, ring: Ring, text: str, number: int) -> None:
    """As `Guess.routed`, but for what concerns capacity."""
    keys = chain(text)
    path, depth = tree.walk(keys)
    if path and depth - path[-1].start < len(path[-1].keys):
        path[-1] = tree.split(path[-1], depth - path[-1].start)
    if depth < len(keys):
        last = path[-1] if path else tree.root
        node = tree.add(last, keys[depth:])
        if node is not last:
            path.append(node)
    for node in reversed(path):
        hold = node.hold(ring.seat)
        if hold is None:
            hold = tree.hold(ring, node, number)
        else:
            if ring.edge is hold:
                ring.edge = hold.more
            hold.unlink()
            ring.recency.left(hold.used, hold.kept)
        ring.kept += len(node.keys) - hold.kept
        ring.units += len(node.keys) - hold.units
        hold.kept = hold.units = len(node.keys)
        hold.used = number
        hold.link_below(ring.end)
        if ring.edge is ring.end:
            ring.edge = hold
    ring.recency.used(number, len(keys))
    for node in path:
        tree.merge(node)


def drawing(node: Node, names: dict[int, str]) -> object:
    """A nested picture: letters of a run, who keeps how much, what is below."""
    below = [drawing(child, names) for child in (node.children or {}).values()]
    letters = "".join(names[key] for key in node.keys)
    holds = {hold.ring.seat: hold.kept for hold in node.all_holds()}
    return (letters, holds, below) if letters else below


def names_of(*texts: str) -> dict[int, str]:
    """The letter behind each key."""
    return {key: text[at] for text in texts for at, key in enumerate(chain(text))}


def test_the_tree_is_as_drawn() -> None:
    """It splits where prompts part, and is one run again once the other is gone."""
    tree, one, two = Tree(), Ring(1), Ring(2)
    names = names_of("abcd", "abx")
    use(tree, one, "abcd", 1)
    assert drawing(tree.root, names) == [("abcd", {1: 4}, [])]
    use(tree, two, "abx", 1)
    assert drawing(tree.root, names) == [
        ("ab", {1: 2, 2: 2}, [("cd", {1: 2}, []), ("x", {2: 1}, [])])
    ]
    verify(tree, (one, two))
    while two.holds:
        tree.trim(two, 1)
        verify(tree, (one, two))
    assert drawing(tree.root, names) == [("abcd", {1: 4}, [])]


def test_a_conversation_grows_its_run_in_place() -> None:
    """Turns of one seat make no further nodes."""
    tree, one = Tree(), Ring(1)
    for number, stop in enumerate((3, 5, 9), start=1):
        use(tree, one, "abcdefghi"[:stop], number)
    assert drawing(tree.root, names_of("abcdefghi")) == [("abcdefghi", {1: 9}, [])]
    assert one.holds == 1


def test_who_keeps_less_of_a_run_does_not_split_it() -> None:
    """A seat that holds a beginning is a number at the run, not a node."""
    tree, one, two = Tree(), Ring(1), Ring(2)
    use(tree, one, "abcdef", 1)
    use(tree, two, "abcdef", 1)
    tree.trim(two, 2)
    assert drawing(tree.root, names_of("abcdef")) == [("abcdef", {1: 6, 2: 4}, [])]
    tree.trim(one, 3)
    assert drawing(tree.root, names_of("abcdef")) == [("abcd", {1: 3, 2: 4}, [])]
    verify(tree, (one, two))


def test_runs_that_were_last_used_apart_stay_apart() -> None:
    """The beginning is more recent than the end, and must outlive it."""
    tree, one = Tree(), Ring(1)
    use(tree, one, "abcd", 1)
    use(tree, one, "ab", 2)
    names = names_of("abcd")
    assert drawing(tree.root, names) == [("ab", {1: 2}, [("cd", {1: 2}, [])])]
    use(tree, one, "abcd", 3)
    assert drawing(tree.root, names) == [("abcd", {1: 4}, [])]


@pytest.mark.parametrize(
    ("asked", "matched"),
    [("abcdefgh", 8), ("abcdefghi", 8), ("abcdefgx", 7), ("abx", 2), ("a", 1), ("x", 0), ("", 0)],
)
def test_the_place_where_a_prompt_parts_is_found_inside_of_a_run(asked: str, matched: int) -> None:
    """To the key, by bisection."""
    tree, one = Tree(), Ring(1)
    use(tree, one, "abcdefgh", 1)
    path, depth = tree.walk(chain(asked))
    assert depth == matched
    assert len(path) == (matched > 0)


def test_a_tree_that_was_emptied_takes_nothing() -> None:
    """Every byte that was added is taken off again."""
    tree, rings = Tree(), [Ring(seat) for seat in range(5)]
    for number in range(1, 60):
        use(tree, rings[number % 5], f"shared{number % 7}{number}", number)
    verify(tree, rings)
    for ring in rings:
        while ring.holds:
            tree.trim(ring, 3)
    assert (tree.bytes, tree.root.children) == (0, None)


def test_a_table_of_children_shrinks_with_them() -> None:
    """A hundred thousand prompts that are gone leave no large table behind."""
    tree, one = Tree(), Ring(1)
    for number in range(5000):
        node = tree.add(tree.root, [number + 1])
        hold = tree.hold(one, node, number)
        hold.kept = hold.units = 1
        hold.link_below(one.end)
        one.kept += 1
        one.units += 1
        one.recency.used(number, 1)
    one.edge = one.end.more
    full = tree.bytes
    while one.holds > 10:
        tree.trim(one, 1)
    verify(tree, [one])
    assert tree.bytes < full / 50


def test_keys_of_64_bits_are_kept_whole() -> None:
    """The largest key is found again."""
    tree = Tree()
    keys = [2**64 - 1, 0, 2**63]
    assert tree.add(tree.root, keys).keys == array("Q", keys)
    assert tree.walk(keys)[1] == 3
