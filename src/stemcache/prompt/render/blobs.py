"""What Bedrock calls blobs: base64 in JSON, `bytes` for its client, which encodes them itself."""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from stemcache.errors import UsageError

__all__ = ["with_bytes"]

_BLOBS = frozenset({"bytes", "redactedContent"})
_FREE = frozenset({"input", "json"})
"""Members that hold any JSON: what is named like a blob there is none."""


def with_bytes(block: Mapping[str, Any], at: str) -> dict[str, Any]:
    """A copy in which blobs are bytes. Raises UsageError for one that is no base64."""
    try:
        return _within(block, at)
    except RecursionError as error:
        raise UsageError(f"{at} nests too deep; pass what the API's answer had") from error


def _within(block: Mapping[str, Any], at: str) -> dict[str, Any]:
    return {name: _opened(name, value, at) for name, value in block.items()}


def _opened(name: str, value: Any, at: str) -> Any:
    if name in _FREE:
        return value
    if isinstance(value, dict):
        return _within(value, at)
    if isinstance(value, list):
        return [_within(one, at) if isinstance(one, dict) else one for one in value]
    if name in _BLOBS and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except ValueError as error:
            raise UsageError(
                f"{at} has a {name} that is no base64; pass what the API's answer had"
            ) from error
    return value
