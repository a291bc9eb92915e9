"""Where requests go: the target, and others by the first part of the path. Pure.

```
--target https://api.anthropic.com          /v1/messages      ► https://api.anthropic.com/v1/messages
--route /openai=https://api.openai.com      /openai/v1/models ► https://api.openai.com/v1/models
--target https://openrouter.ai/api          /v1/…             ► https://openrouter.ai/api/v1/…
```
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from stemcache.errors import UsageError

__all__ = ["Origin", "Place", "Routes", "parse_origin", "parse_route"]


@dataclass(frozen=True, slots=True)
class Origin:
    """A provider's address."""

    tls: bool
    host: str
    port: int
    path: str
    """Put before the path of each request; empty or begins with a slash."""

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them; the scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """For people, and before a request's path."""
        return f"{'https' if self.tls else 'http'}://{self.authority}{self.path}"

    @property
    def loopback(self) -> bool:
        """Whether what is sent stays on this machine."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one request goes."""

    origin: Origin
    target: bytes
    """Path and query as sent to the origin."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The target, and prefixes of paths that go elsewhere."""

    default: Origin | None
    prefixes: tuple[tuple[str, Origin], ...] = ()

    def place(self, target: bytes) -> Place | None:
        """Where a request for this path and query goes; None where nowhere."""
        for prefix, origin in sorted(self.prefixes, key=lambda each: -len(each[0])):
            start = prefix.encode("ascii")
            rest = target[len(start) :]
            if target.startswith(start) and rest[:1] in {b"", b"/", b"?"}:
                rest = rest if rest.startswith(b"/") else b"/" + rest
                return Place(origin, origin.path.encode("ascii") + rest)
        if self.default is None:
            return None
        return Place(self.default, self.default.path.encode("ascii") + target)


def parse_origin(url: str, flag: str) -> Origin:
    """Take a URL apart. Raises UsageError for what is no HTTP URL, or holds a credential."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(
            f"{flag} is no URL: its host or its port cannot be read; use https://host"
        ) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(
            f"{flag} has scheme {parts.scheme!r} and host {parts.hostname or ''!r}; "
            "use https://host or http://host:port"
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{flag} holds a user name; clients send their credentials themselves")
    if parts.query or parts.fragment:
        raise UsageError(f"{flag} has a query; clients send theirs, so give the URL up to its path")
    if not url.isascii() or any(c <= " " or c == "\x7f" for c in url):
        raise UsageError(f"{flag} has characters that no URL has; percent-encode them")
    if port == 0:
        raise UsageError(f"{flag} has port 0; name the port that the server listens on")
    tls = parts.scheme == "https"
    return Origin(tls, parts.hostname, port or (443 if tls else 80), parts.path.rstrip("/"))


def parse_route(text: str) -> tuple[str, Origin]:
    """`/prefix=URL`. Raises UsageError for anything else."""
    prefix, equals, url = text.partition("=")
    bare = prefix.rstrip("/")
    if not equals or not bare.startswith("/") or not bare.isascii() or "?" in bare:
        raise UsageError(
            f"--route {prefix!r} is not of the form /prefix=URL; write "
            "/anthropic=https://api.anthropic.com"
        )
    return bare, parse_origin(url, f"--route {bare}")
