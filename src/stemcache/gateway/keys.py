"""Keys of prompts for routing: chained, 64 bits, the same in every gateway.

```
root(namespace) ─► k0 = H(root, unit 0) ─► k1 = H(k0, unit 1) ─► …
```
A *unit* is a block of token ids, or a run of bytes of the request where there is no tokenizer. Keys
choose a replica; they never decide what KV a request may read, which the replica does by its own
hash. They are digests all the same, so that nobody finds two prompts that collide without 2^32
tries, nor a prompt of a namespace whose salt he does not know.

H is BLAKE2b of 8 bytes over the unit, with the parent as its salt: one block of the hash for a unit
of up to 128 bytes, where SHA-256 over parent and unit takes three. All gateways of a fleet must
compute alike, so what changes any key changes the name of the scheme in the root too.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from struct import unpack

from stemcache.core.namespace import fields_digestible

__all__ = ["FIRST_RUNG", "TEXT_UNIT_BYTES", "Keys", "extend_keys", "root_key"]

TEXT_UNIT_BYTES = 128
"""About 32 tokens of English."""
FIRST_RUNG = 2
"""Units of the shortest beginning that is counted; each after it has twice as many."""
_LAST_OF_RUNG = [FIRST_RUNG * 2**rung - 1 for rung in range(64)]


@dataclass(slots=True)
class Keys:
    """The keys of one prompt's whole units. Do not mutate; lists are shared between turns.

    Not frozen only because they are made for each request, and that takes three times as long.
    """

    keys: list[int]
    unit: int
    """Tokens in a unit, or bytes where `exact` is False."""
    exact: bool
    """Whether units are blocks of token ids."""
    _rungs: list[int] | None = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.keys)

    def rungs(self) -> list[int]:
        """Those of beginnings of 2, 4, 8 … units, shortest first. Do not mutate."""
        rungs = self._rungs
        if rungs is None:
            keys = self.keys
            count = (len(keys) // FIRST_RUNG).bit_length()
            rungs = self._rungs = [keys[last] for last in _LAST_OF_RUNG[:count]]
        return rungs


def root_key(*fields: str | None) -> bytes:
    """The parent of unit 0: adapter and salt for token units, the model too for text. 8 bytes."""
    parts = [b"\x00" if field is None else b"\x01" + _bytes(field) for field in fields]
    return sha256(fields_digestible(b"route/2", *parts)).digest()[:8]


def extend_keys(keys: list[int], root: bytes, units: Iterable[bytes]) -> None:
    """Append the keys of further units. `keys` may be empty; then `root` is the first parent.

    About 0.7 µs a unit of 128 bytes.
    """
    parent = keys[-1].to_bytes(8, "little") if keys else root
    digests = []
    for unit in units:
        parent = blake2b(unit, digest_size=8, salt=parent).digest()
        digests.append(parent)
    keys.extend(unpack(f"<{len(digests)}Q", b"".join(digests)))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
