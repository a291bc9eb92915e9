"""What becomes of a request that was read whole: a page, a refusal, or something to be relayed.

```
local page? ──no──► relayed at all? ──► admitted? ──► prompt read ──► body edited ──► Intake
     └ Page               └ 404               └ 401
```
"""

from dataclasses import dataclass
from http import HTTPStatus

from stemcache.gateway.edits import BodyEdit, client_salt, edit_body
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.prompt_members import members
from stemcache.gateway.tenants import Refused
from stemcache.server.gateway.gateway import Gateway, Page
from stemcache.server.gateway.paths import is_relayed
from stemcache.server.gateway.refusals import Refusal
from stemcache.server.gateway.request import Request
from stemcache.wire.api import Api

__all__ = ["Intake", "take"]

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


@dataclass(frozen=True, slots=True)
class Intake:
    """A request that may be sent."""

    prompt: Prompt
    body: bytes
    """As the replica gets it."""
    strip_usage: bool
    """Whether usage was asked for by the gateway, and is not the client's to see."""


def take(request: Request, gateway: Gateway) -> Intake | Refusal | Page:
    """Decide what to do with it. Costs what reading the prompt costs."""
    path = request.target.decode("latin-1")
    page = gateway.pages.answer(request.method.decode("ascii"), path, request.headers, request.body)
    if page is not None:
        return page
    if not is_relayed(request.target, tenants=gateway.has_keys):
        return Refusal(
            status=HTTPStatus.NOT_FOUND,
            message="this path is not relayed; ask for one of the API, or a replica itself",
            code="path_not_relayed",
        )
    limits = gateway.settings.limits
    if gateway.in_flight >= limits.in_flight:
        return Refusal(
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            message=f"{limits.in_flight} requests are in flight; try again later",
            code="too_many_requests",
            retry_after_s=1,
        )
    admission = gateway.tenants.admit(request.headers)
    if isinstance(admission, Refused):
        return Refusal(
            status=HTTPStatus.UNAUTHORIZED, message=admission.message, code="invalid_api_key"
        )
    body = request.body
    if request.method != b"POST" or not body:
        return Intake(_NO_PROMPT, body, strip_usage=False)
    if admission.tenant is not None and _is_coded(request):
        return Refusal(
            status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            message="the body has a Content-Encoding; send it as plain JSON",
            code="unsupported_content_encoding",
        )
    # However it is spelled, the name of a salt has one of the two; most bodies need no second look.
    salted = b"_salt" in body or b"\\u" in body
    fields = members(body) if salted else None
    own = None if fields is None else client_salt(body, fields=fields)
    salt = admission.effective_salt(own)
    prompt = gateway.reader.read(path, request.headers, body, tenant=admission.tenant, salt=salt)
    asks = (
        gateway.settings.ask_usage
        and prompt.stream
        and not prompt.wants_usage
        and prompt.api in _ASKED
    )
    edit = BodyEdit(
        salt=salt if admission.tenant is not None and prompt.api is not None else None,
        drop_salt=admission.drop_client_salt and fields is not None,
        ask_usage=asks,
    )
    return Intake(prompt, edit_body(body, edit, fields=fields), strip_usage=asks)


def _is_coded(request: Request) -> bool:
    coding = request.fields.get(b"content-encoding", b"")
    return coding.strip().lower() not in {b"", b"identity"}
