"""What has been computed along a prompt, so that its next turn computes what is new only.

```
pieces of a prompt   p0 ─────┬───── p1 ─────┬───── p2 ──────┬── rest
digests                      d1             d2              d3
nodes                        ●◄─── parent ──●◄───────────── ●
each node: the keys of the whole units since its parent, the length so far, the tail after the
last whole unit
```
A piece is a run of bytes that is turned into *content* on its own: the text between two boundaries
becomes token ids, the bytes of a message stay as they are. Keys are chained over units of content.
A node is found by the SHA-256 of its namespace and of all pieces before it, so a node that is found
stands for exactly these bytes; neither text nor token ids are kept.

Cost: of a prompt whose pieces are known, one digest over them and a lookup a piece; what is not
known, `encode` and one chained key a unit. Memory: 8 bytes a key and about 1 KB a node, under the
bound given. The least recently used leaf goes first; a node stays as long as one behind it does.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock

__all__ = ["Chain", "Extended", "PrefixMemo"]

Chain = Callable[[list[int], bytes, Iterable[bytes]], None]
"""Appends to `keys` those of further units; `root` is the parent of the first."""

_NODE_BYTES = 600
_RUN_BYTES = 250
_SPACING_BYTES = 4096
"""Between nodes of one prompt, but for its last two boundaries: where turns and forks go on."""
_WHOLE = b"\xff"
"""Marks the digest of a prompt's very end: no piece of UTF-8 text has this byte."""
_EXACT_BYTES = 1024
"""From this length on the rest behind the last boundary is worth remembering as a whole."""


@dataclass(frozen=True, slots=True)
class Extended:
    """A prompt's content and keys. The lists are the caller's own."""

    content_bytes: int
    keys: dict[int, list[int]]
    """By unit size in bytes of content: one key a whole unit."""
    known_bytes: int
    """Bytes of pieces that were found in the memo."""


@dataclass(slots=True)
class _Run:
    """Of one unit size: what a node adds, and what is needed to go on."""

    keys: "array[int]"
    tail: bytes


@dataclass(slots=True)
class _Node:
    parent: "_Node | None"
    digest: bytes
    content_bytes: int
    runs: dict[int, _Run]
    cost: int


class PrefixMemo:
    """Remembers prefixes under a bound in bytes. Safe to call from several threads."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._nodes: OrderedDict[bytes, _Node] = OrderedDict()
        self._used = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def used_bytes(self) -> int:
        """As estimated; never above the limit."""
        return self._used

    def extend(
        self,
        pieces: Sequence[bytes | memoryview],
        *,
        closed: bool,
        namespace: bytes,
        root: bytes,
        units: Iterable[int],
        encode: Callable[[bytes], bytes],
        chain: Chain,
    ) -> Extended:
        """Content length and keys of a prompt in `pieces`, remembering what they were.

        `closed`: whether the last piece ends at a boundary like the others, where the prompt's next
        turn goes on. `encode` makes content of a run of pieces and must give the same for two runs
        as for both together, wherever a boundary lies between. `units` in bytes of content.
        Equal namespaces must come with equal roots.
        """
        sizes = sorted(set(units))
        digests, whole = self._digests(pieces, namespace, sizes)
        with self._lock:
            # The very end first: a prompt sent again needs nothing computed.
            found = self._nodes.get(whole)
            known = len(pieces)
            if found is None:
                found, known = self._deepest(digests if closed else digests[:-1])
            keys = {size: _keys_of(found, size) for size in sizes}
            self._touch(found)
        known_bytes = sum(map(len, pieces[:known]))
        nodes: list[_Node] = []
        node, at = found, known
        for end in self._ends(pieces, known, closed=closed):
            content = encode(b"".join(pieces[at:end]))
            node = _grown(node, content, keys, root, chain)
            node.digest = whole if end == len(pieces) and not closed else digests[end - 1]
            nodes.append(node)
            at = end
        if nodes and not closed and len(pieces[-1]) < _EXACT_BYTES:
            # Cheaper to compute again than to keep.
            nodes.pop()
        with self._lock:
            self._keep(nodes)
        return Extended(node.content_bytes if node else 0, keys, known_bytes)

    def check(self) -> None:
        """Verify every invariant."""
        assert self._used == sum(node.cost for node in self._nodes.values())
        assert self._used <= self._limit or not self._nodes
        order = {digest: at for at, digest in enumerate(self._nodes)}
        for digest, node in self._nodes.items():
            assert node.digest == digest
            if node.parent is not None:
                assert self._nodes.get(node.parent.digest) is node.parent, "its parent is kept"
                assert order[node.parent.digest] > order[digest], "parents are younger"

    @staticmethod
    def _digests(
        pieces: Sequence[bytes | memoryview], namespace: bytes, sizes: Sequence[int]
    ) -> tuple[list[bytes], bytes]:
        # Other unit sizes are another tree: a node has the keys of all sizes that are wanted.
        running = sha256(sha256(namespace).digest() + repr(sizes).encode())
        digests = []
        for piece in pieces:
            running.update(piece)
            digests.append(running.copy().digest())
        running.update(_WHOLE)
        return digests, running.digest()

    def _deepest(self, digests: Sequence[bytes]) -> tuple[_Node | None, int]:
        for at in range(len(digests), 0, -1):
            node = self._nodes.get(digests[at - 1])
            if node is not None:
                return node, at
        return None, 0

    @staticmethod
    def _ends(pieces: Sequence[bytes | memoryview], known: int, *, closed: bool) -> list[int]:
        """Where nodes begin and end, as counts of pieces; the last is all of them."""
        count = len(pieces)
        boundaries = count if closed else count - 1
        ends = []
        size = 0
        for end in range(known + 1, count + 1):
            size += len(pieces[end - 1])
            if size >= _SPACING_BYTES or end >= boundaries - 1:
                ends.append(end)
                size = 0
        return ends

    def _touch(self, node: _Node | None) -> None:
        while node is not None:
            self._nodes.move_to_end(node.digest)
            node = node.parent

    def _keep(self, nodes: Sequence[_Node]) -> None:
        """Take in nodes that hang on one another, or none of them."""
        if not nodes or nodes[0].digest in self._nodes:
            return  # another thread was faster
        parent = nodes[0].parent
        if parent is not None and self._nodes.get(parent.digest) is not parent:
            return  # forgotten meanwhile
        for node in nodes:
            self._nodes[node.digest] = node
            self._used += node.cost
        self._touch(nodes[-1])
        while self._used > self._limit:
            _, node = self._nodes.popitem(last=False)
            self._used -= node.cost


def _keys_of(node: _Node | None, size: int) -> list[int]:
    runs = []
    while node is not None:
        runs.append(node.runs[size].keys)
        node = node.parent
    keys: list[int] = []
    for run in reversed(runs):
        keys.extend(run)
    return keys


def _grown(
    parent: _Node | None, content: bytes, keys: dict[int, list[int]], root: bytes, chain: Chain
) -> _Node:
    runs = {}
    cost = _NODE_BYTES
    for size, so_far in keys.items():
        before = len(so_far)
        fresh = parent.runs[size].tail + content if parent is not None else content
        whole = len(fresh) - len(fresh) % size
        chain(so_far, root, (fresh[i : i + size] for i in range(0, whole, size)))
        run = _Run(array("Q", so_far[before:]), fresh[whole:])
        runs[size] = run
        cost += _RUN_BYTES + 8 * len(run.keys) + len(run.tail)
    length = (parent.content_bytes if parent is not None else 0) + len(content)
    return _Node(parent, b"", length, runs, cost)
