"""Which API a path asks for, as far as prompts go."""

from stemcache.wire.api import Api

__all__ = ["USUAL_PATHS", "api_of_path"]

_APIS = {
    "/chat/completions": Api.CHAT,
    "/completions": Api.COMPLETIONS,
    "/responses": Api.RESPONSES,
    "/messages": Api.MESSAGES,
}

USUAL_PATHS: dict[bytes | str, Api] = {
    **{f"/v1{path}": api for path, api in _APIS.items()},
    **{f"/v1{path}".encode(): api for path, api in _APIS.items()},
}
"""As nearly all requests have them: there is nothing else to look at in such a path."""


def api_of_path(path: bytes | str) -> Api | None:
    """By the path's end, a query aside; None for everything that makes no tokens from a prompt.

    Counting tokens, listing, cancelling and embedding are among those.
    """
    usual = USUAL_PATHS.get(path)
    if usual is not None:
        return usual
    text = path.decode("latin-1") if isinstance(path, bytes) else path
    bare = text.partition("?")[0].rstrip("/")
    if bare.endswith("/chat/completions"):
        return Api.CHAT
    return _APIS.get(bare[bare.rfind("/") :]) if "/" in bare else None
