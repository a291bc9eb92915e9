"""What a client says belongs together, from headers and from fields of the body."""

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

import msgspec

from stemcache.gateway.prompt_members import decode_any

__all__ = ["session_of"]

_LONGEST = 128
"""A longer name is kept as its digest, so that tables of sessions stay small."""
_FIELDS = (
    ("session_id",),
    ("session_params", "session_id"),
    ("conversation",),
    ("conversation", "id"),
    ("prompt_cache_key",),
    ("metadata", "user_id"),
    ("metadata", "session_id"),
    ("previous_response_id",),
    ("user",),
)
"""In this order: a conversation before a cache key, that before a user."""
_NAMES = frozenset(first for first, *_ in _FIELDS)
_LARGEST_BYTES = 64 * 1024
"""Fields that are larger are not looked into."""


def session_of(
    headers: Sequence[tuple[bytes, bytes]],
    fields: Mapping[str, msgspec.Raw],
    *,
    names: Collection[bytes],
    tenant: str | None,
) -> str | None:
    """The first that is there: headers in the order of `names`, then fields of the body.

    `names` are in lower case, and looked up for each header. The tenant is part of it: two tenants
    that say the same name do not share a session.
    """
    said = _from_headers(headers, names)
    if not said and not _NAMES.isdisjoint(fields):
        said = _from_fields(fields)
    if not said:
        return None
    if len(said) > _LONGEST:
        said = sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
    owner = "-" if tenant is None else f"{len(tenant)}:{tenant}"
    return f"{owner}/{said}"


def _from_headers(headers: Sequence[tuple[bytes, bytes]], names: Collection[bytes]) -> str | None:
    given: dict[bytes, bytes] | None = None
    for name, value in headers:
        lower = name.lower()
        if lower in names:
            given = given or {}
            given.setdefault(lower, value)
    if given is None:
        return None
    for name in names:
        value = given.get(name, b"").strip()
        if value:
            return value.decode("latin-1")
    return None


def _from_fields(fields: Mapping[str, msgspec.Raw]) -> str | None:
    for first, *rest in _FIELDS:
        raw = fields.get(first)
        if raw is None or len(raw) > _LARGEST_BYTES:
            continue
        value = decode_any(raw)
        if rest:
            value = value.get(rest[0]) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            return value
    return None
