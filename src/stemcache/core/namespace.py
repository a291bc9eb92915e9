"""What must be equal before tokens are compared."""

from dataclasses import dataclass

__all__ = ["Namespace", "fields_digestible"]


def fields_digestible(*fields: bytes) -> bytes:
    """Join byte strings so that no two different lists of them give the same result.

    Each field goes behind its length as 8 little-endian bytes. Separators would not do: a field
    may contain them.
    """
    return b"".join(len(field).to_bytes(8, "little") + field for field in fields)


@dataclass(frozen=True, slots=True)
class Namespace:
    """All that must be equal before tokens are compared; the extra of a chain's block 0.

    Fields are compared as exact code points: two spellings that look alike are two namespaces.
    `None` and the empty string differ.
    """

    model: str
    """Which model: a name, not a path."""
    revision: str = ""
    """Which weights: a digest or a revision."""
    kv_dtype: str = ""
    """Precision that keys and values are kept in."""
    adapter: str | None = None
    """LoRA or other adapter, if any."""
    salt: str | None = None
    """What a tenant adds so that nobody else can hit its prefixes."""
    epoch: int = 0
    """Raised by a reset of the cache: what was published before can no longer be matched."""

    def encode(self) -> bytes:
        """The namespace as bytes: equal if and only if every field is equal."""
        return fields_digestible(
            b"namespace/1",
            _text(self.model),
            _text(self.revision),
            _text(self.kv_dtype),
            _optional(self.adapter),
            _optional(self.salt),
            str(self.epoch).encode(),
        )


def _text(value: str) -> bytes:
    # A Python string may hold lone surrogates; they must be told apart, not refused here.
    return value.encode("utf-8", "surrogatepass")


def _optional(value: str | None) -> bytes:
    return b"\x00" if value is None else b"\x01" + _text(value)
