"""The address of an HTTP server, taken apart. Pure."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from stemcache.errors import UsageError

__all__ = ["Origin", "is_host", "parse_origin"]

_IN_HOSTS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-_")


@dataclass(frozen=True, slots=True)
class Origin:
    """A server's address."""

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


def is_host(text: str) -> bool:
    """Whether it can be the name of a server, or its address; IPv6 without its brackets."""
    address, percent, _ = text.partition("%")
    try:
        return ip_address(address).version == 6 or not percent  # a zone may have any name
    except ValueError:
        return bool(text) and set(text.lower()) <= _IN_HOSTS


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
    if not is_host(parts.hostname):
        raise UsageError(
            f"{flag} has the host {parts.hostname!r}, which no server has; write its name or its "
            "address; variables are not filled in here"
        )
    if port == 0:
        raise UsageError(f"{flag} has port 0; name the port that the server listens on")
    tls = parts.scheme == "https"
    return Origin(tls, parts.hostname, port or (443 if tls else 80), parts.path.rstrip("/"))
