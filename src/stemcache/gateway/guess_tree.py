"""The tree behind `gateway.guess`: runs of keys, and how much of each run a seat keeps.

```
    seat 1 kept A B C D         then seat 2 keeps A B X            then seat 2 drops all

    root                        root                               root
     └ [A B C D]  1:4            └ [A B]     1:2  2:2               └ [A B C D]  1:4
                                    ├ [C D]  1:2
                                    └ [X]          2:1
```

A *hold* is what one seat keeps of one run: its first `kept` keys, of which the first `units` are
believed to be in the seat's cache; the others are remembered only to notice that they still are.
The holds of a seat form a ring, from the least to the most recently used, which begins and ends at
a hold of no node.

Keys are chained, so equal keys at equal depth mean equal beginnings: a run matches whole if its
last key does, and where it does not, the place where the two part is found by bisection.

Invariants: siblings differ in their first key; a run is not empty and somebody keeps its last key;
who keeps a part of a run keeps all runs above it whole, and used them no less recently; a node
without a sibling is merged with its parent unless some seat last used them apart.

Costs: `walk` O(nodes on the path + log run); `split` and `merge` O(run, a memory move + holders);
`trim` O(1), and O(holders) where a run becomes shorter.
"""

import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Optional

from stemcache.gateway.guess_recency import Recency

__all__ = ["HOLD_BYTES", "KEY_BYTES", "NODE_BYTES", "Hold", "Node", "Ring", "Tree"]

KEY_BYTES = 48  # of an int of 64 bits, as the allocator rounds it
_SLACK_BYTES = 256  # spare room that a run may keep when it was shortened


class Hold:
    """What one seat keeps of one run."""

    __slots__ = ("kept", "less", "more", "node", "ring", "sure", "units", "used")

    def __init__(self, ring: "Ring", node: "Node", used: int) -> None:
        self.ring = ring
        self.node = node
        self.kept = 0
        self.units = 0
        self.used = used
        """The seat's number of the request that used it last."""
        self.sure = False
        """It was there when it was last used, so it need not have been computed then."""
        self.less = self
        """The next less recently used; from the end of the ring, the most recently used."""
        self.more = self

    def unlink(self) -> None:
        """Leave the ring. O(1)."""
        self.less.more, self.more.less = self.more, self.less

    def link_below(self, other: "Hold") -> None:
        """Enter the ring as the next less recent than `other`. O(1)."""
        self.more, self.less = other, other.less
        self.less.more = other.less = self


class Ring:
    """A seat's holds in the order of their use."""

    __slots__ = ("edge", "end", "holds", "kept", "recency", "seat", "units")

    def __init__(self, seat: int) -> None:
        self.seat = seat
        self.end = Hold(self, _NOWHERE, 0)
        """`end.more` is the least recent hold, `end.less` the most recent."""
        self.edge = self.end
        """The least recent hold of which something is believed held; `end` if there is none."""
        self.holds = 0
        self.kept = 0
        self.units = 0
        self.recency = Recency()


class Node:
    """A run of keys without a branch, `start` keys below the root."""

    __slots__ = ("children", "holders", "keys", "parent", "start")

    def __init__(self, parent: Optional["Node"], start: int, keys: "array[int]") -> None:
        self.parent = parent
        self.start = start
        self.keys = keys
        self.children: dict[int, Node] | None = None
        """By first key."""
        self.holders: Hold | dict[int, Hold] | None = None
        """By seat; a hold alone where there is one, as of most runs there is."""

    def hold(self, seat: int) -> Hold | None:
        """What this seat keeps of it. O(1)."""
        holders = self.holders
        if isinstance(holders, dict):
            return holders.get(seat)
        if holders is not None and holders.ring.seat == seat:
            return holders
        return None

    def all_holds(self) -> Iterable[Hold]:
        """Every seat's."""
        if isinstance(self.holders, dict):
            return self.holders.values()
        return () if self.holders is None else (self.holders,)


def _size(thing: object) -> int:
    return (sys.getsizeof(thing) + 15) & ~15


_NOWHERE = Node(None, 0, array("Q"))
NODE_BYTES = _size(_NOWHERE)
HOLD_BYTES = _size(Hold(Ring(0), _NOWHERE, 0)) + 32  # and a share of the number of the request


class Tree:
    """Nodes and holds, with the bytes that they take."""

    __slots__ = ("bytes", "changes", "root")

    def __init__(self) -> None:
        self.root = Node(None, 0, array("Q"))
        self.bytes = 0
        """As the allocator counts: objects, their tables, and room that tables keep spare."""
        self.changes = 0
        """Of runs: as long as it is the same, so is every walk."""

    def walk(self, keys: Sequence[int]) -> tuple[list[Node], int]:
        """The nodes that `keys` leads through, and how many keys match. Pure."""
        path: list[Node] = []
        children = self.root.children
        depth, stop = 0, len(keys)
        while depth < stop and children is not None:
            node = children.get(keys[depth])
            if node is None:
                break
            path.append(node)
            run = node.keys
            end = depth + len(run)
            if end > stop or run[-1] != keys[end - 1]:
                return path, depth + _shared(run, keys, depth)
            depth = end
            children = node.children
        return path, depth

    def add(self, above: Node, keys: Sequence[int]) -> Node:
        """Append keys that nobody keeps yet behind a node: the node where they are now.

        The caller puts a hold on them.
        """
        self.changes += 1
        start = above.start + len(above.keys)
        run = array("Q", keys)
        if above is not self.root and not above.children:
            self.bytes -= _size(above.keys)
            above.keys += run
            self.bytes += _size(above.keys)
            return above
        node = Node(above, start, run)
        self.bytes += NODE_BYTES + _size(run)
        self._adopt(above, node)
        return node

    def hold(self, ring: Ring, node: Node, used: int) -> Hold:
        """A hold for a seat that has none on this node; not yet in the ring, and of nothing."""
        hold = Hold(ring, node, used)
        ring.holds += 1
        self.bytes += HOLD_BYTES
        if node.holders is None:
            node.holders = hold
        else:
            self._enter(node, hold)
        return hold

    def split(self, node: Node, at: int) -> Node:
        """Move the first `at` keys of a run into a node above it: that node."""
        assert node.parent is not None, "the root was split"
        self.changes += 1
        self.bytes -= _size(node.keys)
        upper = Node(node.parent, node.start, node.keys[:at])
        node.keys = node.keys[at:]
        node.start += at
        self.bytes += NODE_BYTES + _size(upper.keys) + _size(node.keys)
        assert node.parent.children is not None, "a child of a childless node"
        node.parent.children[upper.keys[0]] = upper
        node.parent = upper
        self._adopt(upper, node)
        for hold in list(node.all_holds()):
            ring = hold.ring
            if hold.kept <= at:
                self._exit(node, hold)
                hold.node = upper
                self._enter(upper, hold)
                continue
            above = self.hold(ring, upper, hold.used)
            above.kept = at
            above.units = min(at, hold.units)
            above.sure = hold.sure
            hold.kept -= at
            hold.units -= above.units
            above.link_below(hold.more)
            if ring.edge is hold and not hold.units:
                ring.edge = above
        return upper

    def merge(self, node: Node) -> bool:
        """Join a node with its only child, if no seat last used them apart."""
        if node is self.root or node.children is None or len(node.children) != 1:
            return False
        (child,) = node.children.values()
        for hold in child.all_holds():
            if hold.more.node is not node or hold.more.used != hold.used:
                return False
        assert node.parent is not None and node.parent.children is not None, "a node without parent"
        self.changes += 1
        for hold in list(node.all_holds()):
            ring = hold.ring
            below = child.hold(ring.seat)
            if below is None:
                self._exit(node, hold)
                hold.node = child
                self._enter(child, hold)
                continue
            below.kept += hold.kept
            below.units += hold.units
            below.sure &= hold.sure
            if ring.edge is hold:
                ring.edge = below
            hold.unlink()
            self._exit(node, hold)
            ring.holds -= 1
            self.bytes -= HOLD_BYTES
        self.bytes -= NODE_BYTES + _size(node.keys) + _size(child.keys) + self._forsake(node)
        child.keys = node.keys + child.keys
        self.bytes += _size(child.keys)
        child.start, child.parent = node.start, node.parent
        node.parent.children[child.keys[0]] = child
        return True

    def trim(self, ring: Ring, most: int) -> int:
        """Let a seat forget the last keys of its least recent hold, `most` at most: how many.

        What nobody keeps is gone. O(1), but for a run that becomes shorter, O(holders).
        """
        hold = ring.end.more
        node = hold.node
        assert node.parent is not None, "there is nothing to trim"
        self.changes += 1
        took = min(most, hold.kept)
        whole = hold.kept == len(node.keys)
        hold.kept -= took
        ring.kept -= took
        ring.recency.left(hold.used, took)
        if hold.units > hold.kept:
            ring.units -= hold.units - hold.kept
            hold.units = hold.kept
        if not hold.units and ring.edge is hold:
            ring.edge = hold.more
        if not hold.kept:
            hold.unlink()
            self._exit(node, hold)
            ring.holds -= 1
            self.bytes -= HOLD_BYTES
        parent = node.parent
        if node.holders is None:
            assert not node.children, "a node that nobody holds has children"
            self.bytes -= NODE_BYTES + _size(node.keys)
            self._orphan(parent, node)
            self.merge(parent)
        elif whole and not node.children:
            self._shorten(node)
            self.merge(parent)
        else:
            self.merge(parent)
            self.merge(node)
        return took

    def _shorten(self, node: Node) -> None:
        """Keep no more of a leaf's run than somebody does."""
        kept = max(hold.kept for hold in node.all_holds())
        if kept == len(node.keys):
            return
        before = _size(node.keys)
        del node.keys[kept:]
        if _size(node.keys) > kept * 8 + kept // 2 + _SLACK_BYTES:
            node.keys = node.keys[:]
        self.bytes += _size(node.keys) - before

    def _enter(self, node: Node, hold: Hold) -> None:
        holders = node.holders
        if holders is None:
            node.holders = hold
            return
        if not isinstance(holders, dict):
            node.holders = {holders.ring.seat: holders, hold.ring.seat: hold}
            self.bytes += _size(node.holders)
            return
        before = _size(holders)
        holders[hold.ring.seat] = hold
        self.bytes += _size(holders) - before

    def _exit(self, node: Node, hold: Hold) -> None:
        holders = node.holders
        if not isinstance(holders, dict):
            node.holders = None
            return
        del holders[hold.ring.seat]
        if len(holders) == 1:
            (node.holders,) = holders.values()
            self.bytes -= _size(holders)

    def _adopt(self, parent: Node, child: Node) -> None:
        if parent.children is None:
            parent.children = {child.keys[0]: child}
            self.bytes += _size(parent.children) + KEY_BYTES
            return
        before = sys.getsizeof(parent.children)
        parent.children[child.keys[0]] = child
        self.bytes += KEY_BYTES
        if sys.getsizeof(parent.children) != before:  # seldom
            self.bytes += _size(parent.children) - ((before + 15) & ~15)

    def _orphan(self, parent: Node, child: Node) -> None:
        children = parent.children
        assert children is not None, "a child of a childless node"
        before = _size(children)
        del children[child.keys[0]]
        left = len(children)
        if not left:
            parent.children = None
            self.bytes -= before + KEY_BYTES
            return
        if not left & (left - 1) and before > 512 * left:  # a table does not shrink by itself
            parent.children = dict(children.items())
        self.bytes += _size(parent.children) - before - KEY_BYTES

    def _forsake(self, parent: Node) -> int:
        """Bytes of the table of children, which goes with its node."""
        assert parent.children is not None, "a node without children"
        return _size(parent.children) + len(parent.children) * KEY_BYTES


def _shared(run: "array[int]", keys: Sequence[int], start: int) -> int:
    """How many of a run's keys match, at least one, as they part but once. O(log run)."""
    low, high = 1, min(len(run), len(keys) - start)
    while low < high:
        middle = (low + high + 1) // 2
        if run[middle - 1] == keys[start + middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low
