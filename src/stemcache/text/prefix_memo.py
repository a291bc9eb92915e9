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

A prompt goes through as a `Walk`, a piece at a time, so that what is known need not be held.

Cost: of a prompt whose pieces are known, one digest over them and a lookup a piece; what is not
known, `encode` and one chained key a unit. Memory: 8 bytes a key and about 1 KB a node, under the
bound given, of which an eighth goes to lists of the latest prompts' keys. The least recently used
leaf goes first; a node stays as long as one behind it does.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock

__all__ = ["Chain", "Encode", "Keyed", "PrefixMemo", "Walk"]

Chain = Callable[[list[int], bytes, Iterable[bytes]], None]
"""Appends to `keys` those of further units; `root` is the parent of the first."""

Encode = Callable[[list[bytes]], list[bytes]]
"""Makes content of each of several runs of pieces."""

_NODE_BYTES = 600
_RUN_BYTES = 250
_LISTED_KEY_BYTES = 40
_SPACING_BYTES = 4096
"""Between nodes of one prompt, but for its last two boundaries: where turns and forks go on."""
_WHOLE = b"\xff"
"""Marks the digest of a prompt's very end: no piece of UTF-8 text has this byte."""
_EXACT_BYTES = 1024
"""A shorter rest is cheaper to compute again than to keep."""


@dataclass(frozen=True, slots=True)
class Keyed:
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
        self._lists_limit = limit_bytes // 8
        self._limit = limit_bytes - self._lists_limit
        self._nodes: OrderedDict[bytes, _Node] = OrderedDict()
        self._used = 0
        # Of the prompts that came last: their keys as lists, which a next turn goes on with.
        self._lists: OrderedDict[bytes, dict[int, list[int]]] = OrderedDict()
        self._listed = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def used_bytes(self) -> int:
        """As estimated; never above the limit."""
        return self._used + self._listed

    def walk(
        self,
        *,
        namespace: bytes,
        root: bytes,
        units: Iterable[int],
        encode: Encode,
        chain: Chain,
    ) -> "Walk":
        """Begin a prompt.

        `encode` makes content of runs of pieces and must give the same for two runs as for both
        together, wherever a boundary lies between. `units` in bytes of content. Equal namespaces
        must come with equal roots.
        """

        def go_on(keys: list[int], further: Iterable[bytes]) -> None:
            chain(keys, root, further)

        return Walk(self, namespace, sorted(set(units)), encode, go_on)

    def check(self) -> None:
        """Verify every invariant."""
        assert self._used == sum(node.cost for node in self._nodes.values())
        assert self._used <= self._limit
        assert self._listed == sum(map(_listed_bytes, self._lists.values()))
        assert self._listed <= self._lists_limit
        order = {digest: at for at, digest in enumerate(self._nodes)}
        for digest, node in self._nodes.items():
            assert node.digest == digest
            if node.parent is not None:
                assert self._nodes.get(node.parent.digest) is node.parent, "its parent is kept"
                assert order[node.parent.digest] > order[digest], "parents are younger"

    def _get(self, digest: bytes) -> _Node | None:
        return self._nodes.get(digest)

    def _take_lists(self, node: _Node | None, sizes: Sequence[int]) -> dict[int, list[int]]:
        """The keys up to a node, for the caller to go on with."""
        if node is not None:
            with self._lock:
                lists = self._lists.pop(node.digest, None)
                if lists is not None:
                    self._listed -= _listed_bytes(lists)
                    return lists
        return {size: _keys_of(node, size) for size in sizes}

    def _put_lists(self, digest: bytes, lists: dict[int, list[int]]) -> None:
        with self._lock:
            earlier = self._lists.pop(digest, None)
            if earlier is not None:
                self._listed -= _listed_bytes(earlier)
            self._lists[digest] = lists
            self._listed += _listed_bytes(lists)
            while self._listed > self._lists_limit:
                _, dropped = self._lists.popitem(last=False)
                self._listed -= _listed_bytes(dropped)

    def _keep(self, found: _Node | None, nodes: Sequence[_Node]) -> None:
        """Take in nodes that hang on `found` and on one another, and mark all as used."""
        with self._lock:
            if found is not None and self._nodes.get(found.digest) is not found:
                return  # forgotten meanwhile, and what is behind it with it
            last = found
            for node in nodes:
                if node.digest in self._nodes:
                    break  # another thread was faster
                self._nodes[node.digest] = last = node
                self._used += node.cost
            # A node behind its descendants in the order: leaves are forgotten first.
            while last is not None:
                self._nodes.move_to_end(last.digest)
                last = last.parent
            while self._used > self._limit:
                _, node = self._nodes.popitem(last=False)
                self._used -= node.cost


class Walk:
    """One prompt on its way through a memo: `add` its pieces, then `finish`. Used once."""

    def __init__(
        self,
        memo: PrefixMemo,
        namespace: bytes,
        sizes: Sequence[int],
        encode: Encode,
        chain: Callable[[list[int], Iterable[bytes]], None],
    ) -> None:
        self._memo = memo
        self._sizes = sizes
        self._encode = encode
        self._chain = chain
        # Other unit sizes are another tree: a node has the keys of all sizes that are wanted.
        self._running = sha256(sha256(namespace).digest() + repr(sizes).encode())
        self._found: _Node | None = None
        self._known_bytes = 0
        self._passed_bytes = 0
        self._pieces: list[bytes | memoryview] = []
        self._digests: list[bytes] = []

    def add(self, piece: bytes | memoryview) -> None:
        """The next piece, which ends at a boundary. About 1.5 microseconds, and its digest."""
        self._running.update(piece)
        self._passed_bytes += len(piece)
        digest = self._running.copy().digest()
        node = self._memo._get(digest)  # noqa: SLF001  # a walk is the memo's
        if node is not None:
            self._found = node
            self._known_bytes = self._passed_bytes
            self._pieces.clear()
            self._digests.clear()
        else:
            self._pieces.append(piece)
            self._digests.append(digest)

    def finish(
        self, rest: bytes | memoryview | None = None, *, remember_rest: bool = False
    ) -> Keyed:
        """Content length and keys of it all. `rest` is what stands behind the last boundary.

        Computes what is not known and remembers it; the rest only if asked to, for the same prompt
        sent again, and if it is long.
        """
        whole = b""
        if rest is not None and remember_rest and len(rest) >= _EXACT_BYTES:
            self._running.update(rest)
            self._running.update(_WHOLE)
            whole = self._running.digest()
            node = self._memo._get(whole)  # noqa: SLF001
            if node is not None:
                self._memo._keep(node, ())  # noqa: SLF001
                return self._keyed(node, known_bytes=self._passed_bytes + len(rest))
        keys = self._memo._take_lists(self._found, self._sizes)  # noqa: SLF001
        ends = self._ends()
        runs = [
            b"".join(self._pieces[start:end]) for start, end in zip([0, *ends], ends, strict=False)
        ]
        contents = self._encode([*runs, *(() if rest is None else (bytes(rest),))])
        nodes: list[_Node] = []
        node = self._found
        for end, content in zip(ends, contents, strict=False):
            node = self._grown(node, self._digests[end - 1], content, keys)
            nodes.append(node)
        if node is not None:
            lists = {size: so_far.copy() for size, so_far in keys.items()}
            self._memo._put_lists(node.digest, lists)  # noqa: SLF001
        if rest is not None:
            node = self._grown(node, whole, contents[-1], keys)
            if whole:
                nodes.append(node)
        self._memo._keep(self._found, nodes)  # noqa: SLF001
        return Keyed(node.content_bytes if node else 0, keys, self._known_bytes)

    def _keyed(self, node: _Node, *, known_bytes: int) -> Keyed:
        keys = {size: _keys_of(node, size) for size in self._sizes}
        return Keyed(node.content_bytes, keys, known_bytes)

    def _grown(
        self, parent: _Node | None, digest: bytes, content: bytes, keys: dict[int, list[int]]
    ) -> _Node:
        """The node behind `parent` with further content; its keys go into `keys` too."""
        runs = {}
        cost = _NODE_BYTES
        for size, so_far in keys.items():
            before = len(so_far)
            fresh = parent.runs[size].tail + content if parent is not None else content
            whole = len(fresh) - len(fresh) % size
            self._chain(so_far, (fresh[i : i + size] for i in range(0, whole, size)))
            run = _Run(array("Q", so_far[before:]), fresh[whole:])
            runs[size] = run
            cost += _RUN_BYTES + 8 * len(run.keys) + len(run.tail)
        length = (parent.content_bytes if parent is not None else 0) + len(content)
        return _Node(parent, digest, length, runs, cost)

    def _ends(self) -> list[int]:
        """Behind which of the pieces that are not known a node is made: the last two, and apart."""
        ends = []
        size = 0
        for end, piece in enumerate(self._pieces, start=1):
            size += len(piece)
            if size >= _SPACING_BYTES or end >= len(self._pieces) - 1:
                ends.append(end)
                size = 0
        return ends


def _listed_bytes(lists: dict[int, list[int]]) -> int:
    return _RUN_BYTES + _LISTED_KEY_BYTES * sum(map(len, lists.values()))


def _keys_of(node: _Node | None, size: int) -> list[int]:
    runs = []
    while node is not None:
        runs.append(node.runs[size].keys)
        node = node.parent
    keys: list[int] = []
    for run in reversed(runs):
        keys.extend(run)
    return keys
