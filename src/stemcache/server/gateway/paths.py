"""Which paths go to replicas. Pure.

Those of the APIs do. Others do not: replicas serve, beside them, what flushes caches, loads weights
or shows other people's prompts, to whoever can reach them, and through a gateway that is everybody.
"""

from urllib.parse import unquote_to_bytes

from stemcache.gateway.prompt_path import api_of_path

__all__ = ["is_relayed"]

_UNSALTED = frozenset(
    {
        b"/api/chat",
        b"/api/generate",
        b"/completion",
        b"/generate",
        b"/infill",
        b"/invocations",
    }
)
"""They make tokens from prompts, and no tenant's salt can be set in them."""
_ALSO = frozenset(
    {
        b"/apply-template",
        b"/chat/completions",
        b"/classify",
        b"/completions",
        b"/detokenize",
        b"/embedding",
        b"/embeddings",
        b"/encode",
        b"/messages",
        b"/pooling",
        b"/ping",
        b"/rerank",
        b"/reranking",
        b"/responses",
        b"/score",
        b"/tokenize",
        b"/v2/embed",
        b"/v2/rerank",
        b"/version",
    }
)
_NEVER = frozenset({b"/v1/load_lora_adapter", b"/v1/unload_lora_adapter"})
_LONGEST = 2048


def is_relayed(target: bytes, *, tenants: bool) -> bool:
    """Whether a request for this path and query is for replicas at all.

    `tenants`: whether clients are to be kept apart in the replicas' caches.
    """
    path = target.partition(b"?")[0]
    if b"#" in target:
        return False  # servers cut it off, so that it would be another path for them
    if b"%" in path:
        if len(path) > _LONGEST:
            return False
        path = unquote_to_bytes(path)
        if api_of_path(path) is not None or b"?" in path or b"#" in path:
            return False  # nobody has to spell these so, and no salt would be set
    if path.startswith(b"/v1/"):
        return b".." not in path and b"//" not in path and path.rstrip(b"/") not in _NEVER
    bare = path.rstrip(b"/")
    return bare in _ALSO or (bare in _UNSALTED and not tenants)
