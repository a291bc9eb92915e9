"""The heap against a sorted list."""

import weakref
from random import Random

import pytest

from stemcache.core.leaf_heap import LeafHeap


class Node:
    """Anything that can stand in the heap; never compared."""

    def __init__(self) -> None:
        self.ticket: int | None = None


def test_the_smallest_rank_comes_first() -> None:
    """Nodes come out by rank, whatever the order they went in, and then None."""
    heap, nodes = LeafHeap[Node](), [Node() for _ in range(5)]
    for at in (3, 0, 4, 1, 2):
        heap.offer(nodes[at], (at, 0))

    assert [*nodes, None] == [heap.take() for _ in range(6)]


def test_an_offer_moves_a_node_to_its_new_rank() -> None:
    """A node stands once, where it was last put."""
    heap, first, second = LeafHeap[Node](), Node(), Node()
    heap.offer(first, (1,))
    heap.offer(second, (2,))
    heap.offer(first, (3,))

    assert 2 == len(heap)
    assert [second, first, None] == [heap.take() for _ in range(3)]


def test_a_node_withdrawn_is_not_taken() -> None:
    """Withdrawing twice, or what never stood, is harmless."""
    heap, first, second = LeafHeap[Node](), Node(), Node()
    heap.withdraw(first)
    heap.offer(first, (1,))
    heap.offer(second, (2,))
    heap.withdraw(first)
    heap.withdraw(first)

    assert 1 == len(heap)
    assert [second, None] == [heap.take() for _ in range(2)]


def test_a_node_withdrawn_may_come_back() -> None:
    """Its old entry is not mistaken for the one it has now."""
    heap, node, other = LeafHeap[Node](), Node(), Node()
    heap.offer(node, (1,))
    heap.withdraw(node)
    heap.offer(node, (5,))
    heap.offer(other, (3,))

    assert [other, node] == [heap.take() for _ in range(2)]


def test_an_exchange_gives_back_what_is_smallest() -> None:
    """The node that enters comes straight out if nothing stands before it."""
    heap, low, high = LeafHeap[Node](), Node(), Node()

    assert low is heap.exchange(low, (1,))
    assert 0 == len(heap)
    heap.offer(low, (1,))
    assert low is heap.exchange(high, (2,))
    assert [high, None] == [heap.take(), heap.take()]


def test_an_exchange_is_not_misled_by_the_nodes_own_old_entry() -> None:
    """A stale entry of the same node at a smaller rank does not count."""
    heap, node, other = LeafHeap[Node](), Node(), Node()
    heap.offer(node, (1,))
    heap.withdraw(node)
    heap.offer(other, (5,))

    assert other is heap.exchange(node, (9,))
    assert [node, None] == [heap.take(), heap.take()]


def test_reordering_ranks_every_node_anew() -> None:
    """Those that left stay out; those that stand are taken in the new order."""
    heap, nodes = LeafHeap[Node](), [Node() for _ in range(4)]
    for at, node in enumerate(nodes):
        heap.offer(node, (at,))
    heap.offer(nodes[0], (9,))
    heap.withdraw(nodes[1])
    heap.reorder(lambda node: (-nodes.index(node),))

    assert 3 == len(heap) == len(heap._heap)
    assert [nodes[3], nodes[2], nodes[0], None] == [heap.take() for _ in range(4)]


@pytest.mark.parametrize("seed", range(20))
def test_a_history_gives_what_a_sorted_list_gives(seed: int) -> None:
    """Offers, withdrawals, takes and exchanges agree with a list; stale entries stay few."""
    random = Random(seed)
    nodes = [Node() for _ in range(200)]
    heap, twin = LeafHeap[Node](), dict[Node, float]()
    ranks = iter(random.sample(range(100_000), 4_000))
    for _ in range(2_000):
        node, rank = random.choice(nodes), next(ranks)
        action = random.choice(["offer", "offer", "withdraw", "withdraw", "take", "exchange"])
        if action == "offer":
            heap.offer(node, (rank,))
            twin[node] = rank
        elif action == "withdraw":
            heap.withdraw(node)
            twin.pop(node, None)
        elif action == "exchange" and node not in twin:
            twin[node] = rank
            expected = min(twin, key=twin.__getitem__)
            del twin[expected]

            assert expected is heap.exchange(node, (rank,))
        elif action == "take" and twin:
            expected = min(twin, key=twin.__getitem__)
            del twin[expected]

            assert expected is heap.take()

        assert {node: (rank,) for node, rank in twin.items()} == dict(heap.entries())
        assert len(twin) == len(heap)
        assert len(heap._heap) <= 2 * len(twin) + 64


def test_a_node_that_left_is_not_kept_alive() -> None:
    """However nodes leave, memory is that of the nodes that stand, plus a constant."""
    heap, nodes = LeafHeap[Node](), [Node() for _ in range(1_000)]
    for rank, node in enumerate(nodes):
        heap.offer(node, (rank,))
    for node in nodes:
        heap.withdraw(node)
    alive = [weakref.ref(node) for node in nodes]
    del node, nodes

    assert sum(ref() is not None for ref in alive) <= 64
