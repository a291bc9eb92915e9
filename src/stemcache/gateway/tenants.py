"""Who asks, and in which part of the cache.

```
Authorization: Bearer KEY ─► digest ─► ApiKey ─► tenant ─► salt = H(secret, tenant)
                                    the client's own, if it may: salt = H(secret, tenant, own)
```
Replicas keep what has different salts apart. Salts that are made here are digests with the tenant
in them, so no client can name another's, whatever it sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest

from stemcache.core.namespace import fields_digestible
from stemcache.gateway.settings import ApiKey, GatewaySettings

__all__ = ["Admission", "Refused", "Tenants"]

_KEY_HEADERS = (b"authorization", b"x-api-key", b"api-key")
"""OpenAI's, Anthropic's, Azure's."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No key, or none that is known: HTTP 401. Says nothing of what was sent."""

    message: str


@dataclass(frozen=True, slots=True)
class Admission:
    """A client that may ask."""

    tenant: str | None
    """None where there are no keys: everybody is the same."""
    salt: str | None = field(repr=False)
    """The tenant's; None where no salt is set."""
    drop_client_salt: bool
    """Whether the client's own `cache_salt` is taken out or replaced."""
    own_salt: bool = False
    """Whether a salt of the client's own divides the tenant's part further."""
    _secret: str | None = field(default=None, repr=False)

    def effective_salt(self, client_salt: str | None) -> str | None:
        """What the replica gets to see, for a request with this `cache_salt` of its own.

        None: none; then the body's own goes unless `drop_client_salt`.
        """
        if self.tenant is None:
            return None if self.drop_client_salt else client_salt
        if client_salt is None or not self.own_salt:
            return self.salt
        return _salt(self._secret, self.tenant, client_salt)


class Tenants:
    """Knows API keys by their digests. Immutable; made anew by a reload."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._secret = settings.salt_secret
        self._everybody = Admission(None, None, drop_client_salt=not settings.trust_client_salt)
        self._keys: dict[bytes, ApiKey] = {_digest(one.key): one for one in settings.api_keys}
        self._salts = {one.tenant: _salt(self._secret, one.tenant) for one in settings.api_keys}

    def __repr__(self) -> str:
        return f"Tenants({len(self._keys)} keys)"

    def admit(self, headers: Sequence[tuple[bytes, bytes]]) -> Admission | Refused:
        """Look the key up. About 2 microseconds; nothing where there are no keys.

        Time tells nothing of a key: what is looked up is a digest, and it is compared whole.
        """
        if not self._keys:
            return self._everybody
        sent = [key for name, value in headers if (key := _key_of(name, value)) is not None]
        if not sent:
            return Refused(
                "no API key in the request; send it as Authorization: Bearer KEY, x-api-key: KEY "
                "or api-key: KEY"
            )
        # Clients may send several of them; all that are sent must be the same.
        digest = _digest(sent[0])
        one = self._keys.get(digest)
        if one is None or any(not compare_digest(sent[0], other) for other in sent[1:]):
            return Refused("the API key in the request is not known here; check it")
        return Admission(
            one.tenant,
            self._salts[one.tenant],
            drop_client_salt=True,
            own_salt=one.may_salt,
            _secret=self._secret,
        )


def _key_of(name: bytes, value: bytes) -> bytes | None:
    name = name.lower()
    if name not in _KEY_HEADERS:
        return None
    value = value.strip()
    if name == b"authorization":
        scheme, _, value = value.partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        value = value.strip()
    return value or None


def _digest(key: str | bytes) -> bytes:
    return sha256(_bytes(key) if isinstance(key, str) else key).digest()


def _salt(secret: str | None, *fields: str) -> str:
    known = b"\x00" if secret is None else b"\x01" + _bytes(secret)
    parts = fields_digestible(b"salt/1", known, *map(_bytes, fields))
    return sha256(parts).hexdigest()[:32]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
