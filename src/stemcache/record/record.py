r"""The record of a call: one line of JSON, written when the call has ended.

```
{"stemcache": 1,                     version of this form
 "time": 1796040000.25,              start, Unix seconds
 "answered": …, "ended": …,          first byte of the answer's body; end; null if never
 "method": "POST", "url": "https://api.anthropic.com/v1/messages?beta=true",
 "scope": "9f86d081884c7d65",        whose credential, as a keyed digest; "" where there was none
 "headers": {…},                     of the request, those that bear on caching
 "request": "{\"model\": …}",        the body as sent, or "request_base64"; null if not kept
 "status": 200, "failed": null,      or why there is no whole answer
 "response_headers": {…},
 "response": {"id": …, "model": …, "usage": {…}, "diagnostics": …, "service_tier": …,
              "content": null},      null where the answer could not be read
 "truncated": false}                 whether the request was too large to keep
```
`failed` is `no_connection`, `no_answer` (closed before a byte of it), `bad_answer` (no HTTP),
`dropped` (closed in the middle), `client_left`, `shutdown`, or `error` (of a client library, which
says no more); with `answered` set, an answer had begun. `redacted`, true, stands where a
credential was cut out of the request's body.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from stemcache.provider.usage import Usage
from stemcache.provider.usage_read import read_usage
from stemcache.record.answer import reduced_body
from stemcache.record.body_secrets import BodySecretError, without_secrets
from stemcache.record.credentials import account_of, masked, public_url, secrets_of
from stemcache.record.encoding import decoded
from stemcache.record.events import is_ended
from stemcache.record.exchange import Exchange, Headers
from stemcache.record.headers import kept_request_headers, kept_response_headers
from stemcache.record.lenient_json import dumped
from stemcache.record.scope import ScopeKey
from stemcache.wire.api import Api

__all__ = ["VERSION", "Keep", "Line", "line_of", "usage_of"]

VERSION = 1

_MOST_DECODED_BYTES = 256 * 2**20
_NO_CALLS = (
    "/count_tokens",
    ":countTokens",
    "/input_tokens",
    "/embeddings",
    "/moderations",
    "/rerank",
    "/tokenize",
    "/detokenize",
    "/render",
)
"""Ends of paths that take a prompt and never leave it in a cache."""


@dataclass(frozen=True, slots=True)
class Keep:
    """What the user wants to be written."""

    bodies: bool = True
    """Bodies of requests. Without them only usage can be looked at."""
    answers: bool = False
    """Content blocks of answers."""


@dataclass(frozen=True, slots=True)
class Line:
    """A record as written, and what the summary counts."""

    data: bytes
    """With its line end."""
    usage: Usage | None
    context: object = None
    """The call's, never written."""


class _Prompt(msgspec.Struct):
    """Fields one of which every request for an answer has."""

    messages: Raw | UnsetType = UNSET
    contents: Raw | UnsetType = UNSET
    input: Raw | UnsetType = UNSET
    prompt: Raw | UnsetType = UNSET
    inputText: Raw | UnsetType = UNSET  # noqa: N815 - Amazon's spelling
    requests: Raw | UnsetType = UNSET


def line_of(exchange: Exchange, key: ScopeKey, keep: Keep) -> Line | None:
    """The record of a call, or None where it is no request for an answer.

    Costs time in the length of both bodies. Credentials of the call are in no part of the result.
    """
    request = exchange.request
    if exchange.method != "POST" or exchange.url.partition("?")[0].endswith(_NO_CALLS):
        return None
    secrets = secrets_of(exchange.headers, exchange.url)
    body: bytes | None = None
    redacted = False
    if not request.truncated:
        encoding = _header(exchange.headers, "content-encoding")
        body = decoded(request.head, encoding, most_bytes=_MOST_DECODED_BYTES)
        if body is not None and not _has_prompt(body):
            return None
        body = request.head if body is None else body
        try:
            clean = without_secrets(body, secrets)
        except BodySecretError:
            body, redacted = None, True
        else:
            body, redacted = clean, clean is not body
    answer_body = _answer_body(exchange)
    failed = exchange.failed
    if failed == "client_left" and answer_body is not None and is_ended(answer_body):
        failed = None  # some clients leave with the last event, before the end of the body
    answer = None
    if answer_body is not None:
        kind = _header(exchange.response_headers, "content-type")
        answer = reduced_body(answer_body, kind, content=keep.answers)
    record: dict[str, Any] = {
        "stemcache": VERSION,
        "time": round(exchange.time_s, 6),
        "answered": _rounded(exchange.answered_s),
        "ended": _rounded(exchange.ended_s),
        "method": exchange.method,
        "url": public_url(exchange.url, secrets),
        "scope": key.digest(account_of(exchange.headers, exchange.url)),
        "headers": _masked(kept_request_headers(exchange.headers, key.digest), secrets),
        **_request(body if keep.bodies else None),
        "status": exchange.status,
        "failed": failed,
        "response_headers": _masked(
            kept_response_headers(exchange.response_headers, key.digest), secrets
        ),
        "response": answer,
        "truncated": request.truncated,
    }
    if redacted:
        record["redacted"] = True
    return Line(dumped(record) + b"\n", _usage(exchange, answer), exchange.context)


def usage_of(exchange: Exchange) -> Usage | None:
    """What the provider reported, None where nothing can be read. Linear in the answer's body."""
    body = _answer_body(exchange)
    if body is None:
        return None
    kind = _header(exchange.response_headers, "content-type")
    return _usage(exchange, reduced_body(body, kind, content=False))


def _usage(exchange: Exchange, answer: Mapping[str, Any] | None) -> Usage | None:
    reported = None if answer is None else answer["usage"]
    if not reported:
        return None
    converse = "/converse" in exchange.url
    return read_usage(reported, api=Api.CONVERSE if converse else None, provider=None)


def _has_prompt(body: bytes) -> bool:
    try:
        prompt = msgspec.json.decode(body, type=_Prompt)
    except msgspec.ValidationError:
        return False  # JSON, but no object
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        # Half a surrogate pair, say: a provider may take what this parser does not.
        return body.lstrip()[:1] == b"{"
    return any(getattr(prompt, name) is not UNSET for name in _Prompt.__struct_fields__)


def _request(body: bytes | None) -> dict[str, str | None]:
    if body is None:
        return {"request": None}
    try:
        return {"request": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"request_base64": base64.b64encode(body).decode("ascii")}


def _answer_body(exchange: Exchange) -> bytes | None:
    response = exchange.response
    if response is None or not response.size_bytes:
        return None
    encoding = _header(exchange.response_headers, "content-encoding")
    if not response.truncated:
        return decoded(response.head, encoding, most_bytes=_MOST_DECODED_BYTES)
    if encoding.strip().lower() not in {"", "identity"}:
        return None
    # Around the gap are two halves of events, which are read as none.
    return response.head + b"\n\n" + response.tail


def _header(headers: Headers, wanted: str) -> str:
    return ", ".join(value for name, value in headers if name == wanted)


def _masked(headers: Mapping[str, str], secrets: tuple[str, ...]) -> dict[str, str]:
    return {name: masked(value, secrets) for name, value in headers.items()}


def _rounded(time_s: float | None) -> float | None:
    return None if time_s is None else round(time_s, 6)
