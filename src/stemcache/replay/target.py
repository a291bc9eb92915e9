"""Whom to ask: a URL taken apart, and the kind of API that it speaks. Pure.

```
https://host:8443/openai/v1/chat/completions?api-version=2
└ scheme          │     │  └ names the API
       └ host     │     └ base: /models is beside the endpoint
            └ port└ root: /metrics and /reset_prefix_cache are under it
```
"""

import re
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import SplitResult, urlsplit

from stemcache.errors import UsageError

__all__ = ["APIS", "Api", "Target", "parse_place", "parse_target"]

Api = Literal["openai-completions", "openai-chat", "anthropic-messages"]

APIS: tuple[Api, ...] = get_args(Api)

_SUFFIXES: tuple[tuple[str, Api], ...] = (
    ("/chat/completions", "openai-chat"),  # before /completions, which it ends with too
    ("/completions", "openai-completions"),
    ("/messages", "anthropic-messages"),
)
_VERSION = re.compile(r"/v\d+\w*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An endpoint that generates, and where its server keeps the rest."""

    tls: bool
    host: str
    port: int
    root: str
    """Path under which /metrics and the reset endpoints are; empty or begins with a slash."""
    base: str
    """Path with the version, such as /v1."""
    query: str
    """With its question mark; empty if there is none."""
    api: Api

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them; the scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'https' if self.tls else 'http'}://{self.authority}"

    @property
    def path(self) -> str:
        """What prompts are posted to."""
        suffix = next(suffix for suffix, api in _SUFFIXES if api == self.api)
        return f"{self.base}{suffix}{self.query}"

    @property
    def models_path(self) -> str:
        """The list of models."""
        return f"{self.base}/models{self.query}"

    @property
    def url(self) -> str:
        """The endpoint, for people. Without a query, which may hold a key."""
        return self.origin + self.path.removesuffix(self.query)

    @property
    def loopback(self) -> bool:
        """Whether what is sent stays on this machine."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")


def parse_target(url: str, api: Api | None) -> Target:
    """Take a URL apart; `api` is what the user named, None to go by the path.

    Raises UsageError for what is no HTTP URL, or where path and `api` contradict each other.
    """
    parts, port = _split(url, "--target")
    tls = parts.scheme == "https"
    path = parts.path.rstrip("/")
    found: Api | None = None
    for suffix, kind in _SUFFIXES:
        if path.endswith(suffix):
            path, found = path.removesuffix(suffix), kind
            break
    if api is not None and found is not None and api != found:
        raise UsageError(
            f"--target {parts.path} is the path of {found}, and --api says {api}; leave one out"
        )
    base = path if found or _VERSION.search(path) else f"{path}/v1"
    return Target(
        tls=tls,
        host=parts.hostname or "",
        port=port or (443 if tls else 80),
        root=_VERSION.sub("", base),
        base=base,
        query=f"?{parts.query}" if parts.query else "",
        api=api or found or "openai-completions",
    )


def parse_place(url: str, flag: str) -> Target:
    """The URL of a page, such as metrics, as a target whose `base` is the path of the page."""
    parts, port = _split(url, flag)
    tls = parts.scheme == "https"
    return Target(
        tls=tls,
        host=parts.hostname or "",
        port=port or (443 if tls else 80),
        root="",
        base=parts.path or "/",
        query=f"?{parts.query}" if parts.query else "",
        api="openai-completions",
    )


def _split(url: str, flag: str) -> tuple[SplitResult, int | None]:
    # A URL that is refused is not quoted whole where it may hold a password.
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError:
        raise UsageError(
            f"{flag} is no URL: its host or its port cannot be read; use http://host:port"
        ) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(
            f"{flag} has scheme {parts.scheme!r} and host {parts.hostname or ''!r}; "
            "use http://host:port or https://host"
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{flag} holds a user name; pass credentials with --api-key or --header")
    if not url.isascii() or any(c <= " " or c == "\x7f" for c in url):
        raise UsageError(f"{flag} has characters that no URL has; percent-encode them")
    if port == 0:
        raise UsageError(f"{flag} has port 0; name the port that the server listens on")
    return parts, port
