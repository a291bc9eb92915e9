"""Every invariant of the guess, looked at from the outside."""

import sys
from collections.abc import Iterable

from stemcache.gateway.guess_tree import HOLD_BYTES, KEY_BYTES, NODE_BYTES, Node, Ring, Tree

__all__ = ["verify"]


def verify(tree: Tree, rings: Iterable[Ring]) -> None:
    """Verify tree, rings, and the account of bytes. Raises AssertionError. O(everything)."""
    order: dict[tuple[int, Node], int] = {}
    for ring in rings:
        _verify_ring(ring, order)
    used, holds = 0, 0
    nodes = [tree.root]
    assert not tree.root.keys and tree.root.holders is None, "the root is not a run"
    while nodes:
        node = nodes.pop()
        used += _bytes(node.children) + KEY_BYTES * len(node.children or ())
        nodes += _verified_children(node)
        if node is tree.root:
            continue
        holders = list(node.all_holds())
        holds += len(holders)
        used += NODE_BYTES + _bytes(node.keys) + HOLD_BYTES * len(holders)
        used += _bytes(node.holders) if isinstance(node.holders, dict) else 0
        _verify_holders(node, tree.root, order)
    assert holds == len(order), "a ring has a hold that no node has"
    assert used == tree.bytes, f"{tree.bytes} bytes are accounted for {used}"


def _verify_ring(ring: Ring, order: dict[tuple[int, Node], int]) -> None:
    hold, kept, units, place, used = ring.end.more, 0, 0, 0, 0
    edge = ring.end
    while hold is not ring.end:
        assert hold.ring is ring, "a hold of another seat"
        assert hold.more.less is hold and hold.less.more is hold, "a broken ring"
        assert hold.kept > 0 and 0 <= hold.units <= hold.kept, "a hold of impossible size"
        assert hold.node.hold(ring.seat) is hold, "a hold that its node does not know"
        assert hold.used >= used, "a ring out of order"
        if hold.units and edge is ring.end:
            edge = hold
        elif edge is not ring.end:
            assert hold.units == hold.kept, "held less than something less recent"
        order[ring.seat, hold.node] = place
        place, used = place + 1, hold.used
        kept, units = kept + hold.kept, units + hold.units
        hold = hold.more
    assert ring.edge is edge, "the edge of what is held is elsewhere"
    assert (ring.holds, ring.kept, ring.units) == (place, kept, units), "a ring counts wrongly"
    assert ring.recency.total == kept, "the units by recency are not those kept"


def _verified_children(node: Node) -> Iterable[Node]:
    stop = node.start + len(node.keys)
    assert node.children is None or node.children, "an empty table of children"
    for key, child in (node.children or {}).items():
        assert child.parent is node and child.start == stop, "a child of another node"
        assert child.keys and child.keys[0] == key, "a child under another key"
        yield child


def _verify_holders(node: Node, root: Node, order: dict[tuple[int, Node], int]) -> None:
    holders = list(node.all_holds())
    assert max(hold.kept for hold in holders) == len(node.keys), "keys that nobody keeps"
    assert not isinstance(node.holders, dict) or len(holders) > 1, "a table of one holder"
    together = True
    parent = node.parent
    assert parent is not None, "a node without a parent"
    for hold in holders:
        assert hold.node is node, "a hold of another node"
        place = order[hold.ring.seat, node]
        if parent is not root:
            above = parent.hold(hold.ring.seat)
            assert above is not None and above.kept == len(parent.keys), "held without its parent"
            assert order[hold.ring.seat, parent] > place, "used after its parent"
            together &= hold.used == above.used
    alone = parent is not root and len(parent.children or ()) == 1
    assert not (alone and together), "a node that could be merged"


def _bytes(thing: object) -> int:
    return 0 if thing is None else (sys.getsizeof(thing) + 15) & ~15
