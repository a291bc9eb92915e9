"""Pods behind a service, as the Kubernetes API server knows them.

```
list ──► watch from there ──event──► tell           resourceVersion too old (410): list again
  ▲          │ ended by the server                  watching not allowed: list every interval_s
  └──────────┘ broken off, or not understood: list again soon, and later each time that it repeats
```
Needs `list` and `watch` on `endpointslices` of `discovery.k8s.io`. The token is read from its file
for each request, as it is renewed there.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import msgspec
from structlog.typing import FilteringBoundLogger

from stemcache.errors import UsageError
from stemcache.gateway.deployment import KubernetesSource
from stemcache.gateway.endpoint_slices import Slice, endpoints_of, read_slice
from stemcache.gateway.presence import Sighting
from stemcache.server.gateway.ask import AskError, Stream, ask, open_stream
from stemcache.wire.origin import Origin, parse_origin

__all__ = ["KubernetesFinder"]

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_ANSWER_S = 10.0
_WATCH_S = 240
"""After which the server ends a watch and it is begun again."""
_SILENCE_S = _WATCH_S + 30.0
_SHORT_REST_S = 0.5
"""Before the next list, after a first failure too; then twice as long after each in a row."""
_LONGEST_REST_S = 30.0
_LONGEST_EVENT = 4 * 2**20
_MOST_SLICES = 10_000
_PAGE = 500
_JITTER = 0.2


class _RefusedError(Exception):
    """The API server answered with something else than a list."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the API server says {status}")
        self.status = status


class KubernetesFinder:
    """Follows one service. Raises UsageError where it can be seen at once that it cannot work."""

    def __init__(
        self,
        source: KubernetesSource,
        *,
        tls: ssl.SSLContext,
        rng: Random,
        logger: FilteringBoundLogger,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        account: Path = _ACCOUNT,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._source = source
        self._rng = rng
        self._logger = logger
        self._sleep = sleep
        self._account = account
        self._origin = _origin(source, environ)
        self._tls = _trust(account) or tls
        self._path = _path(_namespace(source, account), source.service)
        self._slices: dict[str, Slice] = {}
        self._version = ""
        self._told: tuple[Sighting, ...] | None = None
        self._trouble: str | None = None

    async def run(self, tell: Callable[[tuple[Sighting, ...]], None]) -> None:
        """List and watch, for ever."""
        unlisted = broken = 0  # lists, and watches, that failed in a row
        while True:
            listed = ended = False
            try:
                await self._list()
                listed, self._trouble = True, None
                self._tell(tell)
                await self._watch(tell)
                ended = True
            except _RefusedError as error:
                # Gone: what was seen is too old to go on from, and is listed again.
                ended = error.status == HTTPStatus.GONE
                if not ended:
                    self._say(f"{error}; {_advice(error.status)}")
            except AskError as error:
                self._say(f"the API server cannot be asked: {error}")
            if listed:
                unlisted, broken = 0, 0 if ended else broken + 1
            else:
                unlisted += 1
            await self._rest(broken if listed else unlisted)

    async def _rest(self, failures: int) -> None:
        """Shortly, and longer with each failure in a row."""
        rest_s = min(_LONGEST_REST_S, _SHORT_REST_S * 2 ** min(max(0, failures - 1), 16))
        await self._sleep(rest_s * self._rng.uniform(1 - _JITTER, 1 + _JITTER))

    async def _list(self) -> None:
        """All slices, page by page; only whole lists replace what was known."""
        found: dict[str, Slice] = {}
        more = ""
        while True:
            path = f"{self._path}&limit={_PAGE}"
            if more:
                path += f"&continue={quote(more, safe='')}"
            reply = await ask(
                self._origin, path, headers=self._headers(), tls=self._tls, timeout_s=_ANSWER_S
            )
            if reply.status != HTTPStatus.OK:
                raise _RefusedError(reply.status)
            page = _decoded(reply.body)
            items = page.get("items")
            if not isinstance(items, list):
                raise AskError("not-a-list", "what was sent is no list of endpoints")
            for item in items:
                one = read_slice(item)
                if one is not None and len(found) < _MOST_SLICES:
                    found[one.name] = one
            metadata = page.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            more = _text(metadata.get("continue"))
            if not more:
                self._slices, self._version = found, _text(metadata.get("resourceVersion"))
                return

    async def _watch(self, tell: Callable[[tuple[Sighting, ...]], None]) -> None:
        """Changes as they happen, until the server ends it. Polls where watching is refused."""
        path = f"{self._path}&watch=1&allowWatchBookmarks=true&timeoutSeconds={_WATCH_S}"
        path += f"&resourceVersion={quote(self._version, safe='')}"
        stream = await open_stream(
            self._origin, path, headers=self._headers(), tls=self._tls, timeout_s=_ANSWER_S
        )
        try:
            if stream.status == HTTPStatus.FORBIDDEN:
                self._say("watching is not allowed; asking again and again instead")
                await self._sleep(self._source.interval_s)
                return
            if stream.status != HTTPStatus.OK:
                raise _RefusedError(stream.status)
            async for line in _lines(stream):
                self._take(_decoded(line))
                self._tell(tell)
        finally:
            await stream.close()

    def _take(self, event: dict[str, Any]) -> None:
        value = event.get("object")
        match event.get("type"):
            case "ADDED" | "MODIFIED":
                one = read_slice(value)
                known = one is not None and one.name in self._slices
                if one is not None and (known or len(self._slices) < _MOST_SLICES):
                    self._slices[one.name] = one
            case "DELETED":
                one = read_slice(value)
                if one is not None:
                    self._slices.pop(one.name, None)
            case "ERROR":
                code = value.get("code") if isinstance(value, dict) else None
                raise _RefusedError(code if isinstance(code, int) else 500)
            case _:
                pass  # a bookmark

    def _tell(self, tell: Callable[[tuple[Sighting, ...]], None]) -> None:
        endpoints, trouble = endpoints_of(self._slices.values(), self._source.port)
        if trouble is not None:
            self._say(trouble)
        spec = self._source.template.spec
        found = tuple(Sighting(spec(one.host, one.port), one.state, one.uid) for one in endpoints)
        if found != self._told:
            self._told = found
            tell(found)

    def _headers(self) -> list[tuple[str, str]]:
        headers = [("accept", "application/json")]
        if not self._origin.tls and not self._origin.loopback:
            return headers  # a token is not sent where all can read it
        with suppress(OSError, UnicodeDecodeError):
            token = (self._account / "token").read_text(encoding="ascii").strip()
            if token.isprintable() and token:
                headers.append(("authorization", f"Bearer {token}"))
        return headers

    def _say(self, trouble: str) -> None:
        """Once for each trouble."""
        if trouble != self._trouble:
            self._trouble = trouble
            self._logger.warning(
                trouble, source=f"kubernetes {self._source.service}", known=len(self._slices)
            )


async def _lines(stream: Stream) -> AsyncIterator[bytes]:
    """Lines of a watch. Raises AskError where nothing comes for longer than a watch lasts."""
    rest = bytearray()
    parts = stream.parts()
    while True:
        try:
            async with asyncio.timeout(_SILENCE_S):
                part = await anext(parts, None)
        except TimeoutError:
            raise AskError("timeout", "the watch went silent") from None
        if part is None:
            return
        rest += part
        *lines, last = rest.split(b"\n")
        rest = bytearray(last)
        if len(rest) > _LONGEST_EVENT:
            raise AskError("too-large", f"an event has more than {_LONGEST_EVENT} bytes")
        for line in lines:
            if line.strip():
                yield bytes(line)


def _origin(source: KubernetesSource, environ: Mapping[str, str]) -> Origin:
    if source.api is not None:
        return parse_origin(source.api, "--kubernetes-api")
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port or not port.isdigit():
        raise UsageError(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, as they are in a "
            "pod; give the URL of the API server with --kubernetes-api"
        )
    shown = f"[{host}]" if ":" in host else host
    return parse_origin(f"https://{shown}:{port}", "KUBERNETES_SERVICE_HOST")


def _namespace(source: KubernetesSource, account: Path) -> str:
    if source.namespace is not None:
        return source.namespace
    try:
        return (account / "namespace").read_text(encoding="ascii").strip() or "default"
    except (OSError, UnicodeDecodeError):
        return "default"


def _trust(account: Path) -> ssl.SSLContext | None:
    """The cluster's own authority, which its pods are told."""
    path = account / "ca.crt"
    if not path.is_file():
        return None
    try:
        return ssl.create_default_context(cafile=str(path))
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"{path} cannot be read: {error}; mount the service account") from None


def _path(namespace: str, service: str) -> str:
    label = quote(f"kubernetes.io/service-name={service}", safe="")
    return (
        f"/apis/discovery.k8s.io/v1/namespaces/{quote(namespace, safe='')}/endpointslices"
        f"?labelSelector={label}"
    )


def _advice(status: int) -> str:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "let the service account list and watch endpointslices of discovery.k8s.io"
    if status == HTTPStatus.NOT_FOUND:
        return "it needs discovery.k8s.io/v1, of Kubernetes 1.21 or later"
    return "asking again soon"


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        raise AskError("not-json", "what was sent is no JSON") from None
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
