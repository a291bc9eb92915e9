"""What may be kept of request headers, and whose cache a call is: never a credential.

Headers pass by an allow-list, so that one nobody thought of is dropped. A credential leaves only
its digest behind, which tells two of them apart and gives neither away.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from stemcache.trace.calls.fields import text_of

__all__ = ["KEPT_HEADERS", "kept_headers", "scope_digest", "scope_of_headers", "session_of_headers"]

KEPT_HEADERS = frozenset(
    {
        "anthropic-beta",
        "anthropic-version",
        "conversation_id",
        "openai-beta",
        "session_id",
        "user-agent",
        "x-amzn-bedrock-performanceconfig-latency",
        "x-amzn-bedrock-service-tier",
        "x-claude-code-session-id",
        "x-client-request-id",
        "x-data-parallel-rank",
        "x-grok-conv-id",
        "x-prompt-cache-isolation-key",
        "x-session-affinity",
        "x-session-id",
        "x-smg-routing-key",
        "x-smg-target-worker",
        "x-stainless-retry-count",
        "x-vertex-ai-llm-request-type",
        "x-vertex-ai-llm-shared-request-type",
    }
)
_SESSIONS = (
    "x-claude-code-session-id",
    "x-session-id",
    "session_id",
    "conversation_id",
    "x-grok-conv-id",
    "x-session-affinity",
)
_CREDENTIALS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_OWNERS = ("openai-organization", "openai-project")
_MAX_HEADER_CHARS = 1_000
_MAX_HEADERS = 1_000


def scope_digest(owner: str) -> str:
    """Sixteen hex digits that stand for a credential, a tenant or an account."""
    return blake2b(owner.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def kept_headers(headers: object) -> dict[str, str]:
    """The headers that bear on caching, names in lower case.

    Takes an object of names and values, an array of pairs, or HAR's array of objects.
    """
    return {
        name: value[:_MAX_HEADER_CHARS] for name, value in _pairs(headers) if name in KEPT_HEADERS
    }


def scope_of_headers(headers: object) -> str:
    """Digest of the credential that the headers carry, and empty where they carry none."""
    found = dict(_pairs(headers))
    for name in _CREDENTIALS:
        if name in found:
            owner = "\0".join([found[name], *(found.get(other, "") for other in _OWNERS)])
            return scope_digest(owner)
    for name in _OWNERS:
        if name in found:
            return scope_digest(found[name])
    return ""


def session_of_headers(kept: Mapping[str, str]) -> str | None:
    """Name of the conversation, where the kept headers have one."""
    return next((kept[name] for name in _SESSIONS if name in kept), None)


def _pairs(headers: object) -> Iterator[tuple[str, str]]:
    entries: Iterable[Any]
    if isinstance(headers, dict):
        entries = headers.items()
    elif isinstance(headers, list):
        entries = headers[:_MAX_HEADERS]
    else:
        return
    for entry in entries:
        if isinstance(entry, dict):
            name, value = entry.get("name"), entry.get("value")
        elif isinstance(entry, list | tuple) and len(entry) == 2:
            name, value = entry
        else:
            continue
        if isinstance(value, list) and value:
            value = value[0]
        named, valued = text_of(name), text_of(value)
        if named is not None and valued is not None:
            yield named.lower(), valued
