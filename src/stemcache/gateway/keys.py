"""Keys of prompts for routing: chained, 64 bits, the same in every gateway.

```
root(namespace) ─► k0 = H(root, unit 0) ─► k1 = H(k0, unit 1) ─► …
```
A *unit* is a block of token ids, or a run of bytes of the request where there is no tokenizer. Keys
choose a replica; they never decide what KV a request may read, which the replica does by its own
hash. They are cut from SHA-256 all the same, so that nobody finds two prompts that collide without
2^32 tries, nor a prompt of a namespace whose salt he does not know.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from stemcache.core.namespace import fields_digestible

__all__ = ["TEXT_UNIT_BYTES", "Keys", "extend_keys", "root_key"]

TEXT_UNIT_BYTES = 128
"""About 32 tokens of English."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one prompt's whole units. Do not mutate; lists are shared between turns."""

    keys: list[int]
    unit: int
    """Tokens in a unit, or bytes where `exact` is False."""
    exact: bool
    """Whether units are blocks of token ids."""

    def __len__(self) -> int:
        return len(self.keys)


def root_key(*fields: str | None) -> bytes:
    """The parent of unit 0: adapter and salt for token units, the model too for text. 8 bytes."""
    parts = [b"\x00" if field is None else b"\x01" + _bytes(field) for field in fields]
    return sha256(fields_digestible(b"route/1", *parts)).digest()[:8]


def extend_keys(keys: list[int], root: bytes, units: Iterable[bytes]) -> None:
    """Append the keys of further units. `keys` may be empty; then `root` is the first parent."""
    chained = keys[-1].to_bytes(8, "little") if keys else root
    for unit in units:
        chained = sha256(chained + unit).digest()[:8]
        keys.append(int.from_bytes(chained, "little"))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
