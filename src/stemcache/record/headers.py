"""Which headers are kept: those that bear on caching and routing, and say which call it was.

A list of what is kept and not of what is dropped: a header that nobody thought of stays out.
"""

from collections.abc import Callable

from stemcache.record.exchange import Headers
from stemcache.trace.calls.headers import KEPT_HEADERS

__all__ = ["kept_request_headers", "kept_response_headers"]

_REQUEST = KEPT_HEADERS | {
    "content-encoding",
    "content-type",
    "idempotency-key",
    "x-request-id",
    "x-stainless-retry-count",
}
"""What the readers of logs keep, and what tells how a body is spelt and an attempt from another."""
_REQUEST_DIGESTS = frozenset(
    {"openai-organization", "openai-project", "x-session-token", "x-tenant-id"}
)
"""Whose call it is matters, who that is does not."""

_RESPONSE = frozenset(
    {
        "apim-request-id",
        "cached-prompt-tokens",
        "content-encoding",
        "content-type",
        "fireworks-cached-prompt-tokens",
        "fireworks-prompt-tokens",
        "openai-processing-ms",
        "request-id",
        "retry-after",
        "x-amzn-bedrock-cache-read-input-token-count",
        "x-amzn-bedrock-cache-write-input-token-count",
        "x-amzn-bedrock-input-token-count",
        "x-amzn-bedrock-output-token-count",
        "x-amzn-requestid",
        "x-litellm-response-cost",
        "x-request-id",
        "x-smg-routed-worker-id",
    }
)
_RESPONSE_DIGESTS = frozenset({"anthropic-organization-id", "openai-organization"})
_LONGEST_VALUE = 1024


def kept_request_headers(headers: Headers, digest: Callable[[str], str]) -> dict[str, str]:
    """Those of a request; what names an owner as a digest."""
    return _kept(headers, _REQUEST, _REQUEST_DIGESTS, digest)


def kept_response_headers(headers: Headers, digest: Callable[[str], str]) -> dict[str, str]:
    """Those of an answer."""
    return _kept(headers, _RESPONSE, _RESPONSE_DIGESTS, digest)


def _kept(
    headers: Headers, plain: frozenset[str], hashed: frozenset[str], digest: Callable[[str], str]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        if name in plain:
            whole = f"{found[name]}, {value}" if name in found else value
            found[name] = whole[:_LONGEST_VALUE]
        elif name in hashed:
            found[name] = digest(value)
    return found
