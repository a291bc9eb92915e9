"""What becomes of a request that was read whole: a page, a refusal, or something to be relayed.

```
local page? ──no──► for replicas? ──► admitted? ──► prompt read ──► body edited ──► Intake
     └ Page            └ 400, 404, 405,  └ 401          └ long: Unread, read in a thread ─┘
                         508
```
With tenants a body is edited whatever its method and content type: what matters is what a replica
could read in it.
"""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from stemcache.gateway.edits import BodyEdit, client_salt, edit_body
from stemcache.gateway.engine_paths import Work, is_shared
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.prompt_members import decode_as, members, unreadable
from stemcache.gateway.prompt_path import USUAL_PATHS
from stemcache.gateway.tenants import Admission, Refused
from stemcache.server.gateway.gateway import Gateway, Page, Reader
from stemcache.server.gateway.hops import HEADER, looped
from stemcache.server.gateway.paths import USUAL, Way, way_of
from stemcache.server.gateway.refusals import Refusal
from stemcache.server.gateway.request import Request
from stemcache.wire.api import Api

__all__ = ["Intake", "Unread", "take"]

_ASKED = frozenset({Api.CHAT, Api.COMPLETIONS})
"""Of streams in these, usage comes for the asking only."""
_NO_PROMPT = Prompt(
    api=None,
    model=None,
    stream=False,
    wants_usage=False,
    session=None,
    text=None,
    text_bytes=0,
)
_SAFE = frozenset({b"GET", b"HEAD", b"OPTIONS"})
_STRING = msgspec.json.Decoder(str)


class Intake(msgspec.Struct, frozen=True):
    """A request that may be sent."""

    prompt: Prompt
    body: bytes
    """As the replica gets it."""
    strip_usage: bool
    """Whether usage was asked for by the gateway, and is not the client's to see."""
    repeatable: bool = True
    """Whether it may be sent again where nobody knows what became of it."""
    response: str | None = None
    """The id of a response that it is about, or goes on from."""
    tenant: str | None = None
    guarded: bool = False
    """Whether it may be about none but this tenant's."""


class Unread(msgspec.Struct, frozen=True):
    """A request whose prompt is to be read. Has its own reference to the body."""

    path: bytes | str
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    admission: Admission
    reader: Reader
    way: Way
    asks: bool
    """Whether usage is to be asked for where it comes for the asking."""
    repeatable: bool
    guarded: bool

    def read(self) -> Intake:
        """Read, and edit the body. From any thread; for what it costs see `PromptReader`."""
        tenant, body = self.admission.tenant, self.body
        fields = salt = None
        # However it is spelled, the name of a salt has one of the two; most need no second look.
        if b"_salt" in body or (b"\\" in body and b"\\u" in body):
            fields = members(body)
        if tenant is not None or fields is not None:
            own = None if fields is None else client_salt(body, fields=fields)
            salt = self.admission.effective_salt(own)
        try:
            prompt = self._prompt(salt)
        except (KeyError, RuntimeError):
            # Replicas came or went as a thread looked them up.
            prompt = self._prompt(salt)
        asks = self.asks and prompt.stream and not prompt.wants_usage and prompt.api in _ASKED
        if asks or fields is not None or tenant is not None:
            edit = BodyEdit(
                salt=salt if tenant is not None and self._is_salted else None,
                drop_salt=self.admission.drop_client_salt and fields is not None,
                ask_usage=asks,
            )
            body = edit_body(body, edit, fields=fields)
        response = self.way.response
        if prompt.api is Api.RESPONSES:
            response = _goes_on_from(body)
        repeatable = self.repeatable or prompt.api is not None
        return Intake(prompt, body, asks, repeatable, response, tenant, self.guarded)

    @property
    def _is_salted(self) -> bool:
        return self.way.shared or self.way.work in (Work.PROMPT, Work.COMPUTE)

    def _prompt(self, salt: str | None) -> Prompt:
        tenant = self.admission.tenant
        return self.reader.read(self.path, self.headers, self.body, tenant=tenant, salt=salt)


def take(request: Request, gateway: Gateway) -> Intake | Unread | Refusal | Page:
    """Decide what to do with it. Costs what reading the prompt costs; Unread where that is much."""
    target, headers, method = request.target, request.headers, request.method
    settings = gateway.settings
    way = USUAL
    if target not in USUAL_PATHS or method != b"POST":
        path = target.decode("latin-1")
        page = gateway.pages.answer(method.decode("ascii"), path, headers, request.body)
        if page is not None:
            return page
        found = way_of(method, target, tenants=gateway.has_keys, shared=settings.shared_paths)
        if isinstance(found, Refusal):
            return found
        way = found
    came = request.fields.get(HEADER)
    if came is not None and (refusal := looped(came, gateway.hop)) is not None:
        gateway.log.warning(refusal.message, hops=came.decode("latin-1"))
        return refusal
    limits = settings.limits
    if gateway.in_flight >= limits.in_flight:
        return Refusal(
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            message=f"{limits.in_flight} requests are in flight; try again later",
            code="too_many_requests",
            retry_after_s=1,
        )
    admission = gateway.tenants.admit(headers)
    if isinstance(admission, Refused):
        return Refusal(
            status=HTTPStatus.UNAUTHORIZED, message=admission.message, code="invalid_api_key"
        )
    body, tenant = request.body, admission.tenant
    repeatable = way.work.repeatable or method in _SAFE
    guarded = tenant is not None and not is_shared(b"/v1/responses", settings.shared_paths)
    if not body:
        return Intake(_NO_PROMPT, body, False, repeatable, way.response, tenant, guarded)
    if tenant is not None and (refusal := _unsalted(request, way)) is not None:
        return refusal
    unread = Unread(
        target,
        headers,
        body,
        admission,
        gateway.reader,
        way,
        settings.ask_usage,
        repeatable,
        guarded,
    )
    return unread if len(body) > gateway.aside_bytes else unread.read()


def _unsalted(request: Request, way: Way) -> Refusal | None:
    """Why a replica could read another `cache_salt` in the body than ours, if it could.

    Replicas read more than JSON has. What carries files holds no prompt, and no salt: by its first
    bytes, as a replica need not look at the content type.
    """
    coding = request.fields.get(b"content-encoding", b"")
    if coding.strip().lower() not in {b"", b"identity"}:
        return Refusal(
            status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            message="the body has a Content-Encoding; send it as plain JSON",
            code="unsupported_content_encoding",
        )
    if way.shared and request.body.startswith(b"--"):
        return None
    why = unreadable(request.body)
    if why is None:
        return None
    return Refusal(
        status=HTTPStatus.BAD_REQUEST,
        message=f"the body is no JSON object: {why}; send one in UTF-8, so that the cache of this "
        "key can be kept apart",
        code="unreadable_body",
    )


def _goes_on_from(body: bytes) -> str | None:
    """The id of the response before this one."""
    if b"previous_response_id" not in body and b"\\u" not in body:
        return None
    fields = members(body)
    return None if fields is None else decode_as(fields.get("previous_response_id"), _STRING)
