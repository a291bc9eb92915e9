"""The ASGI application: routes, and around them what holds for every request.

```
request ─► id, log line, metrics, errors ─► key ─► draining ─► route ─► endpoint
```
"""

import asyncio
import hmac
import uuid
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from stemcache.errors import StemcacheError
from stemcache.server import endpoints
from stemcache.server.exchange import CLIENT_LEFT, Exchange
from stemcache.server.refusal import HttpError
from stemcache.server.service import Service
from stemcache.wire.body import cut

__all__ = ["make_app"]

Handler = Callable[[Service, Exchange], Awaitable[None]]

_ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("POST", "/v1/chat/completions", endpoints.chat),
    ("POST", "/v1/completions", endpoints.completions),
    ("GET", "/v1/models", endpoints.models),
    ("GET", "/v1/models/{model:path}", endpoints.model),
    ("POST", "/tokenize", endpoints.tokenize),
    ("POST", "/detokenize", endpoints.detokenize),
    ("GET", "/health", endpoints.health),
    ("GET", "/metrics", endpoints.metrics),
    ("POST", "/reset_prefix_cache", endpoints.reset_prefix_cache),
)

_ID_PREFIXES = {"/v1/chat/completions": "chatcmpl-", "/v1/completions": "cmpl-"}

_ALWAYS_OPEN = frozenset({"/health"})
"""Answered without a key: whoever restarts the server need not know one."""

_OPEN_WHILE_DRAINING = frozenset({"/health", "/metrics"})

_QUIET = frozenset({"/health", "/metrics"})
"""Asked every few seconds; logged at debug level."""


class _Endpoint:
    """A handler as an ASGI application, which the router takes as it is."""

    def __init__(self, service: Service, handler: Handler) -> None:
        self._service = service
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send  # the exchange has them
        await self._handler(self._service, scope["state"]["exchange"])


class _Around:
    """What holds for every request."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        key = service.settings.api_key
        self._key = None if key is None else key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "uvicorn is told to offer HTTP alone"
        service = self._service
        exchange = Exchange(
            scope,
            receive,
            send,
            request_id=_ID_PREFIXES.get(scope["path"], "req-") + uuid.uuid4().hex,
            arrived_s=service.clock.now(),
            max_body_bytes=service.settings.max_body_bytes,
        )
        exchange.generates = scope["method"] == "POST" and scope["path"] in _ID_PREFIXES
        scope.setdefault("state", {})["exchange"] = exchange
        service.in_flight += 1
        try:
            await self._answer(scope, receive, send, exchange)
        finally:
            service.in_flight -= 1
            if service.in_flight == 0:
                service.settled.set()
            self._record(scope, exchange)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, exchange: Exchange) -> None:
        try:
            self._check(scope["path"], exchange)
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not exchange.client_left or task is None or task.uncancel():
                raise
        except ConnectionAbortedError:
            if not exchange.client_left:
                raise
        except Exception as error:
            if not isinstance(error, StemcacheError):
                self._service.logger.exception("request failed", id=exchange.request_id)
            await exchange.send_error(error)
        finally:
            exchange.close()

    def _check(self, path: str, exchange: Exchange) -> None:
        if self._key is not None and path not in _ALWAYS_OPEN:
            given = exchange.header(b"authorization")
            scheme, _, key = given.partition(b" ")
            # HTTP's schemes are written in any case; a key is not.
            if scheme.lower() != b"bearer" or not hmac.compare_digest(key.strip(), self._key):
                raise HttpError(
                    HTTPStatus.UNAUTHORIZED,
                    "the API key is missing or wrong; "
                    "send the server's as 'Authorization: Bearer KEY'",
                    code="invalid_api_key",
                    headers={"www-authenticate": "Bearer"},
                )
        if self._service.draining and path not in _OPEN_WHILE_DRAINING:
            raise HttpError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "the server is shutting down; send the request to another, or again later",
                code="shutting_down",
                headers={"retry-after": "5", "connection": "close"},
            )

    def _record(self, scope: Scope, exchange: Exchange) -> None:
        service = self._service
        status = CLIENT_LEFT if exchange.client_left else exchange.status
        duration_s = service.clock.now() - exchange.arrived_s
        if exchange.generates:
            outcome = _outcome(status, broken_off=exchange.broken_off)
            service.metrics.requests.labels(outcome).inc()
            if outcome == "answered":
                service.metrics.request_s.observe(duration_s)
        log = service.logger.debug if scope["path"] in _QUIET else service.logger.info
        log(
            "request",
            id=exchange.request_id,
            method=scope["method"],
            path=scope["path"],
            status=status,
            duration_s=round(duration_s, 6),
            **exchange.log,
        )


def _outcome(status: int, *, broken_off: bool) -> str:
    if status == CLIENT_LEFT:
        return "client_left"
    if broken_off or status == 0:
        return "failed"
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return "busy"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "failed"
    return "invalid" if status >= HTTPStatus.BAD_REQUEST else "answered"


def _not_routed(request: Request, error: Exception) -> NoReturn:
    assert isinstance(error, HTTPException), "registered for this class alone"
    path = request.url.path
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # Starlette joins a set, whose order differs from one start to the next.
        allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        raise HttpError(
            error.status_code,
            f"{cut(request.method)} is not possible on {cut(path)}; use {allowed}",
            code="method_not_allowed",
            headers={"allow": allowed},
        ) from None
    paths = ", ".join(path for _, path, _ in _ROUTES)
    raise HttpError(
        error.status_code, f"nothing is at {cut(path)}; use one of {paths}", code="unknown_url"
    ) from None


def make_app(service: Service) -> Starlette:
    """The application of one server."""
    app = Starlette(
        routes=[
            Route(path, _Endpoint(service, handler), methods=[method])
            for method, path, handler in _ROUTES
        ],
        middleware=[Middleware(_Around, service=service)],
        exception_handlers={HTTPException: _not_routed},
    )
    app.router.redirect_slashes = False
    return app
