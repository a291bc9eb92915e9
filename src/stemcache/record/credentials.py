"""Credentials of a call: whose they are, as a digest, and that they are written nowhere.

```
x-api-key: sk-ant-…  ──► account "sk-ant-…" ──► BLAKE2b with the file's own key ──► scope
authorization: AWS4-HMAC-SHA256 Credential=AKIA…/… ──► account "AKIA…"      (a signature is new
https://…/projects/P/… with a Google token         ──► account "projects/P"  each time, a token
                                                                             each hour)
```
"""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote, urlsplit

from stemcache.record.exchange import Headers

__all__ = ["MASK", "account_of", "masked", "public_url", "secrets_of"]

MASK = "***"

_NAMING = ("x-api-key", "api-key", "x-goog-api-key", "authorization")
"""Headers that say who pays, the first one found counts."""
_SECRET_NAME = re.compile(
    r"auth|api-?_?key|subscription-key|token|secret|cookie|password|credential|signature|jwt"
)
_KEY_PARAMETERS = ("key", "api_key", "api-key", "access_token", "token")
_KEPT_PARAMETERS = frozenset({"alt", "api-version", "beta", "stream"})
_AWS = re.compile(r"AWS4-\S+ .*?Credential=([^/,\s]+)")
_AWS_PARTS = re.compile(r"(?:Credential|Signature)=([^/,\s]+)")
_PROJECT = re.compile(r"/projects/[^/]+")
_KEY_LIKE = re.compile(
    r"\b(?:sk-|pk-|rk-|xai-|gsk_|hf_|csk-|fw_|AIza|ya29\.|AKIA|ASIA|eyJ)[A-Za-z0-9._\-]{12,}"
)
_SHORTEST_SECRET = 8
"""Shorter values are words, and would be cut out of every text."""


def account_of(headers: Headers, url: str) -> str:
    """What stands for the payer, empty where there is no credential. Is one itself: digest it."""
    found = dict(reversed(list(headers)))
    parts = urlsplit(url)
    account = ""
    for name in _NAMING:
        if found.get(name):
            account = _bare(found[name])
            break
    else:
        parameters = dict(parse_qsl(parts.query))
        account = next((parameters[n] for n in _KEY_PARAMETERS if parameters.get(n)), "")
    aws = _AWS.match(found.get("authorization", ""))
    if aws is not None:
        account = aws[1]
    project = _PROJECT.search(parts.path)
    if project is not None and account.startswith("ya29."):
        account = project[0]
    organization = found.get("openai-organization", "")
    return f"{account}\n{organization}" if account and organization else account


def secrets_of(headers: Headers, url: str) -> tuple[str, ...]:
    """Every value that must not show, the longest first."""
    found: set[str] = set()
    for name, value in headers:
        if not _SECRET_NAME.search(name) or name == "x-session-token":
            continue
        found |= {value, _bare(value), *_AWS_PARTS.findall(value)}
        if "cookie" in name:
            found |= {pair.partition("=")[2].strip() for pair in value.split(";")}
    parts = urlsplit(url)
    for name, value in parse_qsl(parts.query):
        if name.lower() not in _KEPT_PARAMETERS:
            found |= {value, unquote(value)}
    found |= {part for part in (parts.username, parts.password) if part}
    return tuple(
        sorted((each for each in found if len(each) >= _SHORTEST_SECRET), key=len, reverse=True)
    )


def public_url(url: str, secrets: Iterable[str]) -> str:
    """The URL with the few parameters that are known to be harmless, and without a user name."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(
        each
        for each in parts.query.split("&")
        if each.partition("=")[0].lower() in _KEPT_PARAMETERS
    )
    address = f"{parts.scheme}://{host}{parts.path}" + (f"?{query}" if query else "")
    return masked(address, secrets)


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets, and without what looks like a key of a known provider."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return _KEY_LIKE.sub(MASK, text)


def _bare(value: str) -> str:
    """A credential without the word that says its kind."""
    kind, space, rest = value.strip().partition(" ")
    return rest.strip() if space and kind.isalnum() else value.strip()
