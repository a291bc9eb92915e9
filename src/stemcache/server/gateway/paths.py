"""Which requests go to replicas, by method and path. Pure.

```
odd spelling ─ 400   no path of an API ─ 404   a prompt, and no POST ─ 405
                     tenants: no path that keeps them apart, and not shared ─ 404
```
Replicas serve, beside the APIs, what flushes caches, loads weights or shows other people's prompts,
to whoever can reach them, and through a gateway that is everybody. What servers read in more than
one way (a segment of dots, a semicolon, a backslash, blanks, escapes of escapes) is refused, as it
might be another path for them than for us.
"""

import re
from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

import msgspec

from stemcache.gateway.engine_paths import NEVER, OPEN, Work, is_shared, response_of, work_of
from stemcache.server.gateway.refusals import Refusal

__all__ = ["USUAL", "Way", "is_relayed", "way_of"]

_LONGEST = 2048
_ODD = re.compile(rb"[\x00-\x20\x7f\\;]|//|/\.\.?(?:/|\Z)")
_AFTER = re.compile(rb"[%?#]")
"""What must not be there once escapes are undone: nobody has to spell a path so."""
_ASKED = frozenset({b"GET", b"HEAD"})


class Way(msgspec.Struct, frozen=True):
    """A request that is for replicas."""

    work: Work
    response: str | None = None
    """The id of the stored response that it is about."""
    shared: bool = False
    """Whether tenants meet there, as a setting allows."""


USUAL = Way(Work.PROMPT)
"""Of a POST to one of the paths that nearly all requests have."""


def way_of(
    method: bytes, target: bytes, *, tenants: bool, shared: Collection[str] = ()
) -> Way | Refusal:
    """What becomes of a request for this path and query.

    `tenants`: whether clients are to be kept apart; `shared`: paths that are relayed even so.
    """
    path = target.partition(b"?")[0]
    plain = _plain(path, target)
    if plain is None:
        return Refusal(
            status=HTTPStatus.BAD_REQUEST,
            message="the path is spelled in a way that servers read differently (a segment of "
            "dots, an empty one, ';', '\\', '#', a blank or control byte, or '%' where none is "
            "needed); spell it plainly",
            code="bad_path",
        )
    work = work_of(plain)
    if work is None:
        return _not_relayed("this path is not relayed; ask for one of the API, or a replica itself")
    posted = method == b"POST"
    if work.repeatable and not posted and method != b"OPTIONS":
        return Refusal(
            status=HTTPStatus.METHOD_NOT_ALLOWED,
            message="this path is asked for with POST; use that",
            code="method_not_allowed",
            allow="POST",
        )
    if tenants:
        return _for_a_tenant(method, plain, work, shared)
    return Way(work if posted or work is Work.STORED else Work.OTHER, response_of(plain))


def is_relayed(target: bytes, *, tenants: bool, shared: Collection[str] = ()) -> bool:
    """Whether what is posted to this path and query goes to replicas at all."""
    return isinstance(way_of(b"POST", target, tenants=tenants, shared=shared), Way)


def _plain(path: bytes, target: bytes) -> bytes | None:
    """The path with its escapes undone; None where it is oddly spelled."""
    if b"#" in target:
        return None  # servers cut it off, so that it would be another path for them
    if b"%" in path:
        if len(path) > _LONGEST:
            return None
        escaped, path = path, unquote_to_bytes(path)
        known = path.removesuffix(b"/")
        if _AFTER.search(path) is not None or known.lower() in NEVER:
            return None
        if escaped != path and work_of(path) not in (None, Work.STORED, Work.OTHER):
            return None  # no salt would be set
    return path if _ODD.search(path) is None else None


def _for_a_tenant(method: bytes, path: bytes, work: Work, shared: Collection[str]) -> Way | Refusal:
    known = work.repeatable and method in {b"POST", b"OPTIONS"}
    if known or (path.removesuffix(b"/") in OPEN and method in _ASKED):
        return Way(work if method == b"POST" else Work.OTHER)
    if is_shared(path, shared):
        return Way(Work.OTHER, shared=True)
    if work is Work.STORED:
        return Way(work, response_of(path))
    return _not_relayed(
        "this path is not relayed to clients with a key: replicas do not keep them apart there; "
        "whoever runs the gateway can allow it, by shared_paths"
    )


def _not_relayed(message: str) -> Refusal:
    return Refusal(status=HTTPStatus.NOT_FOUND, message=message, code="path_not_relayed")
