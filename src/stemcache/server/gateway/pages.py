"""The gateway's own pages, beside what it relays.

| page | who may | |
|---|---|---|
| `GET /health` | all | 200 while requests are sent to a replica; 503 else, and while draining |
| `GET /v1/models`, `/v1/models/NAME` | clients | what replicas that are up serve |
| `GET /metrics` | admin, or all if so told | Prometheus |
| `GET /v1/fleet` | admin | replicas, seats, predicted and reported |
| `POST /v1/fleet/drain?replica=NAME&on=true` | admin | nothing new for a replica, or again |
| `POST /v1/route/explain` | admin | where a body would go, and why |

Admin is who has an admin key. Where there are neither admin keys nor API keys and the gateway
listens on this machine alone, it is everybody but browsers' pages and a reverse proxy's clients:
those name their origin, or a host that is not this one, or for whom they ask.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote

import msgspec

from stemcache.clock import Clock
from stemcache.gateway.deployment import Admin
from stemcache.gateway.engine_pages import ModelEntry, ModelPage
from stemcache.gateway.member import Member
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.router import Router
from stemcache.gateway.settings import ApiKey, GatewaySettings
from stemcache.gateway.tenants import Refused, Tenants
from stemcache.server.gateway.metrics import CONTENT_TYPE
from stemcache.server.gateway.paths import is_relayed
from stemcache.server.gateway.refusals import Refusal, error_body

__all__ = ["Page", "Pages"]

Headers = Sequence[tuple[bytes, bytes]]

_JSON = "application/json"
_OURS = frozenset(
    {"/health", "/metrics", "/v1/fleet", "/v1/fleet/drain", "/v1/models", "/v1/route/explain"}
)
_MODELS = "/v1/models/"
_LOCAL_HOST = re.compile(rb"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", re.IGNORECASE)
_PASSED_ON = frozenset({b"forwarded", b"via", b"x-real-ip"})
"""With X-Forwarded-*: a proxy asks, for somebody who may be anywhere."""
_DEFAULT_PATH = "/v1/chat/completions"
_LONGEST_QUERY = 4096


@dataclass(frozen=True, slots=True)
class Page:
    """An answer of the gateway's own."""

    status: int
    content_type: str
    body: bytes


class _Reader(Protocol):
    def read(
        self,
        path: str,
        headers: Headers,
        body: bytes,
        *,
        tenant: str | None,
        salt: str | None,
    ) -> Prompt: ...


class _Refusing(Exception):  # noqa: N818  # it carries an answer
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.refusal = Refusal(status=status, code=code, message=message)


class Pages:
    """All of them. What a reload changes is set by `configure`."""

    def __init__(
        self,
        router: Router,
        reader: _Reader,
        *,
        models: Callable[[str], ModelPage | None],
        metrics: Callable[[], bytes],
        clock: Clock,
        loopback: bool,
    ) -> None:
        """`models` tells what a replica serves; `loopback`: only this machine reaches us."""
        self._router = router
        self._reader = reader
        self._models = models
        self._metrics = metrics
        self._clock = clock
        self._loopback = loopback
        self._admin = Admin()
        self._tenants: Tenants | None = None
        """None where clients need no key."""
        self._keys: dict[str, ApiKey] = {}
        """One of each tenant."""
        self._shared_paths: tuple[str, ...] = ()
        self.draining = False

    def configure(self, admin: Admin, settings: GatewaySettings, reader: "_Reader") -> None:
        """Take keys, and who reads prompts, as they are now."""
        self._admin = admin
        self._reader = reader
        self._tenants = Tenants(settings) if settings.api_keys else None
        self._keys = {one.tenant: one for one in settings.api_keys}
        self._shared_paths = settings.shared_paths

    def answer(self, method: str, path: str, headers: Headers, body: bytes) -> Page | None:
        """The page, or None for what is to be relayed. Does not raise. To a HEAD as to a GET.

        For what is not ours it costs a look-up; `path` may have a query.
        """
        bare, _, query = path.partition("?")
        if bare not in _OURS and not bare.startswith(_MODELS):
            return None
        try:
            return self._answer(method, bare, query, headers, body)
        except _Refusing as refusing:
            error = error_body(bare.encode("utf-8", "replace"), refusing.refusal)
            return Page(refusing.refusal.status, _JSON, error)

    def _answer(
        self, method: str, path: str, query: str, headers: Headers, body: bytes
    ) -> Page | None:
        posted = path in ("/v1/fleet/drain", "/v1/route/explain")
        if method not in (("POST",) if posted else ("GET", "HEAD")):
            if path.startswith("/v1/models"):
                return None  # unload, delete: a replica's own business
            wanted = "POST" if posted else "GET"
            raise _Refusing(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "method_not_allowed",
                f"{path} is asked for with {wanted}; use that",
            )
        if path == "/health":
            return self._health()
        if path.startswith("/v1/models"):
            self._check_client(headers)
            return self._model_list() if path == "/v1/models" else self._model(path)
        if path == "/metrics":
            if not self._admin.open_metrics:
                self._check_admin(headers)
            return Page(HTTPStatus.OK, CONTENT_TYPE.decode(), self._metrics())
        self._check_admin(headers)
        match path:
            case "/v1/fleet":
                return _json(self._router.fleet(now_s=self._clock.now()))
            case "/v1/fleet/drain":
                return self._drain(query)
            case _:
                return self._explain(query, headers, body)

    # --- pages -------------------------------------------------------------------------------

    def _health(self) -> Page:
        """`degraded`: requests are sent, but by who is known all have failed, or are busy."""
        now_s = self._clock.now()
        members = self._router.members
        able = sum(member.refuses(None, now_s, 0) is None for member in members)
        well = "ok" if able else "degraded" if self._router.can_take() else "no-replica"
        state = "draining" if self.draining else well
        serves = state in ("ok", "degraded")
        status = HTTPStatus.OK if serves else HTTPStatus.SERVICE_UNAVAILABLE
        return _json({"status": state, "replicas": len(members), "up": able}, status=status)

    def _model_list(self) -> Page:
        cards = [_card(entry) for entry in self._served().values()]
        return _json(
            {
                "object": "list",
                "data": cards,
                "has_more": False,
                "first_id": cards[0]["id"] if cards else None,
                "last_id": cards[-1]["id"] if cards else None,
            }
        )

    def _model(self, path: str) -> Page:
        # A name may have slashes, written as such or as %2F.
        name = unquote(path.removeprefix(_MODELS))
        entry = self._served().get(name)
        if entry is None:
            raise _Refusing(
                HTTPStatus.NOT_FOUND,
                "model_not_found",
                "no replica that is up serves this model; /v1/models lists those that are served",
            )
        return _json(_card(entry))

    def _served(self) -> dict[str, ModelEntry]:
        """By name, over all replicas that are up; of one name the first replica's."""
        found: dict[str, ModelEntry] = {}
        for member in self._router.members:
            if not member.up or member.leaving:
                continue
            for entry in self._entries(member):
                found.setdefault(entry.name, entry)
        return found

    def _entries(self, member: Member) -> Iterable[ModelEntry]:
        page = self._models(member.spec.name)
        told = {} if page is None else {entry.name: entry for entry in page.entries}
        if member.spec.models:
            unknown = (ModelEntry(name, None, None, None) for name in member.spec.models)
            return [told.get(entry.name, entry) for entry in unknown]
        return told.values()

    def _drain(self, query: str) -> Page:
        fields = _fields(query, {"replica", "on"})
        name, on = fields.get("replica"), fields.get("on", "true")
        if not name or on not in ("true", "false"):
            raise _Refusing(
                HTTPStatus.BAD_REQUEST,
                "bad_query",
                "the query names no replica, or on is neither true nor false; use "
                "?replica=NAME&on=true, with a name from /v1/fleet",
            )
        if not self._router.drain(name, on=on == "true"):
            raise _Refusing(
                HTTPStatus.NOT_FOUND,
                "no_such_replica",
                "there is no replica of this name; /v1/fleet lists them",
            )
        member = next(one for one in self._router.members if one.spec.name == name)
        return _json({"replica": name, "draining": on == "true", "in_flight": member.in_flight})

    def _explain(self, query: str, headers: Headers, body: bytes) -> Page:
        fields = _fields(query, {"path", "tenant"})
        path = fields.get("path", _DEFAULT_PATH)
        tenant = fields.get("tenant")
        target, tenants = path.encode("utf-8", "replace"), self._tenants is not None
        if not is_relayed(target, tenants=tenants, shared=self._shared_paths):
            raise _Refusing(
                HTTPStatus.BAD_REQUEST,
                "not_relayed",
                "nothing that is posted to this path goes to a replica; use one of the APIs', "
                f"such as ?path={_DEFAULT_PATH}",
            )
        salt = None if tenant is None else self._salt_of(tenant)
        if not body:
            raise _Refusing(
                HTTPStatus.BAD_REQUEST,
                "no_body",
                "there is no request to explain; post the body that a client would send",
            )
        prompt = self._reader.read(path, headers, body, tenant=tenant, salt=salt)
        explained = self._router.explain(prompt, now_s=self._clock.now())
        # Who asks for no tenant must not take it for the answer to one.
        return _json({**explained, "tenant": tenant, "tenants": self._tenants is not None})

    def _salt_of(self, tenant: str) -> str | None:
        one = self._keys.get(tenant)
        if one is None or self._tenants is None:
            raise _Refusing(
                HTTPStatus.NOT_FOUND,
                "no_such_tenant",
                "no API key is this tenant's; name one of the configuration's",
            )
        admitted = self._tenants.admit([(b"x-api-key", one.key.encode("latin-1"))])
        assert not isinstance(admitted, Refused), "it is one of their keys"
        return admitted.salt

    # --- who may -----------------------------------------------------------------------------

    def _check_client(self, headers: Headers) -> None:
        if self._tenants is None or self._is_admin(headers):
            return
        admitted = self._tenants.admit(headers)
        if isinstance(admitted, Refused):
            raise _Refusing(HTTPStatus.UNAUTHORIZED, "invalid_api_key", admitted.message)

    def _check_admin(self, headers: Headers) -> None:
        if self._is_admin(headers):
            return
        if self._admin.keys:
            raise _Refusing(
                HTTPStatus.UNAUTHORIZED,
                "invalid_api_key",
                "this page needs an admin key; send it as Authorization: Bearer KEY",
            )
        if self._tenants is not None or not self._loopback:
            why = "clients have keys" if self._tenants is not None else "others can reach it"
            raise _Refusing(
                HTTPStatus.FORBIDDEN,
                "admin_closed",
                f"this page is closed, as {why} and no admin key is set; start the gateway with "
                "--admin-key-file, or [admin] in its file",
            )
        host = _header(headers, b"host")
        if _header(headers, b"origin") is not None or (
            host is not None and not _LOCAL_HOST.fullmatch(host.strip())
        ):
            raise _Refusing(
                HTTPStatus.FORBIDDEN,
                "admin_closed",
                "this page is not for browsers' scripts or other hosts' names; ask for it at "
                "127.0.0.1, or set an admin key",
            )
        if any(_passed_on(name.lower()) for name, _ in headers):
            raise _Refusing(
                HTTPStatus.FORBIDDEN,
                "admin_closed",
                "this page is closed to what a proxy passes on while no admin key is set; ask for "
                "it at 127.0.0.1 directly, or start the gateway with --admin-key-file",
            )

    def _is_admin(self, headers: Headers) -> bool:
        """Time tells nothing: every key is compared, whole."""
        sent = _header(headers, b"authorization") or b""
        scheme, _, key = sent.partition(b" ")
        given = key.strip() if scheme.lower() == b"bearer" else _header(headers, b"x-api-key")
        if not given:
            return False
        matches = [compare_digest(one.encode("latin-1"), given) for one in self._admin.keys]
        return any(matches)


def _json(value: Any, *, status: int = HTTPStatus.OK) -> Page:
    return Page(int(status), _JSON, msgspec.json.encode(value) + b"\n")


def _card(entry: ModelEntry) -> dict[str, Any]:
    """In OpenAI's and Anthropic's shape at once: the fields do not collide."""
    created = entry.created or 0
    return {
        "id": entry.name,
        "object": "model",
        "created": created,
        "owned_by": "stemcache",
        "parent": entry.parent,
        "max_model_len": entry.max_model_len,
        "type": "model",
        "display_name": entry.name,
    }


def _fields(query: str, known: set[str]) -> dict[str, str]:
    try:
        found = parse_qs(query[:_LONGEST_QUERY], keep_blank_values=True, max_num_fields=16)
    except ValueError:
        found = {"": [""]}
    if not set(found) <= known or any(len(values) > 1 for values in found.values()):
        raise _Refusing(
            HTTPStatus.BAD_REQUEST,
            "bad_query",
            f"the query is not understood; this page knows {', '.join(sorted(known))}, once each",
        )
    return {name: values[0] for name, values in found.items()}


def _passed_on(name: bytes) -> bool:
    return name in _PASSED_ON or name.startswith(b"x-forwarded-")


def _header(headers: Headers, name: bytes) -> bytes | None:
    for found, value in headers:
        if len(found) == len(name) and found.lower() == name:
            return value
    return None
