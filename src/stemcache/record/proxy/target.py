"""Where requests go: the target, and others by the first part of the path. Pure.

```
--target https://api.anthropic.com          /v1/messages      ► https://api.anthropic.com/v1/messages
--route /openai=https://api.openai.com      /openai/v1/models ► https://api.openai.com/v1/models
--target https://openrouter.ai/api          /v1/…             ► https://openrouter.ai/api/v1/…
```
"""

from dataclasses import dataclass

from stemcache.errors import UsageError
from stemcache.wire.origin import Origin, parse_origin

__all__ = ["Place", "Routes", "parse_route"]


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
