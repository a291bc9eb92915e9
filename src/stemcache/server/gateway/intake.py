"""What becomes of a request that was read whole: a page, a refusal, or something to be relayed.

```
local page? ──no──► relayed at all? ──► admitted? ──► prompt read ──► body edited ──► Intake
     └ Page               └ 404               └ 401     └ long: Unread, read in a thread ─┘
```
"""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from stemcache.gateway.edits import BodyEdit, client_salt, edit_body
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.prompt_members import members
from stemcache.gateway.prompt_path import USUAL_PATHS, api_of_path
from stemcache.gateway.tenants import Admission, Refused
from stemcache.server.gateway.gateway import Gateway, Page, Reader
from stemcache.server.gateway.paths import is_relayed
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


class Intake(msgspec.Struct, frozen=True):
    """A request that may be sent."""

    prompt: Prompt
    body: bytes
    """As the replica gets it."""
    strip_usage: bool
    """Whether usage was asked for by the gateway, and is not the client's to see."""


class Unread(msgspec.Struct, frozen=True):
    """A request whose prompt is to be read. Has its own reference to the body."""

    path: bytes | str
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    admission: Admission
    reader: Reader
    asks: bool
    """Whether usage is to be asked for where it comes for the asking."""

    def read(self) -> Intake:
        """Read, and edit the body. From any thread; for what it costs see `PromptReader`."""
        return _read(
            self.path, self.headers, self.body, self.admission, self.reader, asks=self.asks
        )


def take(request: Request, gateway: Gateway) -> Intake | Unread | Refusal | Page:
    """Decide what to do with it. Costs what reading the prompt costs; Unread where that is much."""
    target, headers = request.target, request.headers
    if target not in USUAL_PATHS:
        path = target.decode("latin-1")
        page = gateway.pages.answer(request.method.decode("ascii"), path, headers, request.body)
        if page is not None:
            return page
        if not is_relayed(target, tenants=gateway.has_keys):
            return Refusal(
                status=HTTPStatus.NOT_FOUND,
                message="this path is not relayed; ask for one of the API, or a replica itself",
                code="path_not_relayed",
            )
    settings = gateway.settings
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
    body = request.body
    if request.method != b"POST" or not body:
        return Intake(_NO_PROMPT, body, False)
    if admission.tenant is not None and _is_coded(request):
        return Refusal(
            status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            message="the body has a Content-Encoding; send it as plain JSON",
            code="unsupported_content_encoding",
        )
    if admission.tenant is not None and not _can_be_salted(request):
        return Refusal(
            status=HTTPStatus.BAD_REQUEST,
            message="the body is no JSON object in UTF-8 (NaN, a byte order mark and deep nesting "
            "are none either), so the tenant's cache cannot be kept apart; send one",
            code="unreadable_body",
        )
    reader, asks = gateway.reader, settings.ask_usage
    if len(body) > gateway.aside_bytes:
        return Unread(target, headers, body, admission, reader, asks)
    return _read(target, headers, body, admission, reader, asks=asks)


def _read(
    path: bytes | str,
    headers: Sequence[tuple[bytes, bytes]],
    body: bytes,
    admission: Admission,
    reader: Reader,
    *,
    asks: bool,
) -> Intake:
    tenant = admission.tenant
    fields = salt = None
    # However it is spelled, the name of a salt has one of the two; most need no second look.
    if b"_salt" in body or (b"\\" in body and b"\\u" in body):
        fields = members(body)
    if tenant is not None or fields is not None:
        own = None if fields is None else client_salt(body, fields=fields)
        salt = admission.effective_salt(own)
    try:
        prompt = reader.read(path, headers, body, tenant=tenant, salt=salt)
    except (KeyError, RuntimeError):
        # Replicas came or went as a thread looked them up.
        prompt = reader.read(path, headers, body, tenant=tenant, salt=salt)
    asks = asks and prompt.stream and not prompt.wants_usage and prompt.api in _ASKED
    if asks or fields is not None or tenant is not None:
        edit = BodyEdit(
            salt=salt if tenant is not None and prompt.api is not None else None,
            drop_salt=admission.drop_client_salt and fields is not None,
            ask_usage=asks,
        )
        body = edit_body(body, edit, fields=fields)
    return Intake(prompt, body, asks)


def _can_be_salted(request: Request) -> bool:
    """Whether the body is such that a replica can read no other `cache_salt` in it than ours.

    Replicas read more than JSON has. What carries files holds no prompt, and no salt.
    """
    kind = request.fields.get(b"content-type", b"").lower()
    if api_of_path(request.target) is None and kind.startswith(b"multipart/"):
        return True
    return members(request.body) is not None


def _is_coded(request: Request) -> bool:
    coding = request.fields.get(b"content-encoding", b"")
    return coding.strip().lower() not in {b"", b"identity"}
