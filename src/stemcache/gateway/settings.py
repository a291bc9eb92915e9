"""What a gateway is told to do, whether by flags or by a file."""

from dataclasses import dataclass, field
from enum import StrEnum

from stemcache.gateway.replica import ReplicaSpec

__all__ = ["Agree", "ApiKey", "GatewaySettings", "HealthSettings", "Limits", "Retries"]


class Agree(StrEnum):
    """How several gateways in front of the same replicas come to send a prompt to the same one."""

    ALONE = "alone"
    """There is one gateway."""
    HASH = "hash"
    """A prompt that nobody is known to hold goes where its beginning hashes to."""
    REDIS = "redis"
    """Gateways tell each other through Redis what they have sent where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A client's key. `key` is never shown or logged."""

    key: str
    tenant: str
    may_salt: bool = False
    """Whether the client's own `cache_salt` is kept, under the tenant's."""

    def __repr__(self) -> str:
        return f"ApiKey(tenant={self.tenant!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request, one client or all of them may cost."""

    head_bytes: int = 64 * 1024
    body_bytes: int = 32 * 2**20
    buffered_bytes: int = 512 * 2**20
    """Bodies of all requests together that are kept for routing and retries."""
    connections: int = 16_384
    in_flight: int = 16_384
    per_replica: int = 0
    """Requests in flight at one replica; 0: no bound."""
    head_s: float = 30.0
    """For a request's head to come whole."""
    body_s: float = 60.0
    """Without progress of a request's body."""
    first_byte_s: float = 600.0
    """For a replica to begin its answer."""
    idle_s: float = 600.0
    """Without progress of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Before the first byte of an answer, never after it."""

    attempts: int = 3
    statuses: frozenset[int] = frozenset({429, 502, 503, 504})
    connect_s: float = 5.0
    """For a connection to be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSettings:
    """Active checks, and the breaker that watches real requests."""

    path: str = "/health"
    interval_s: float = 5.0
    timeout_s: float = 3.0
    down_after: int = 2
    up_after: int = 1
    breaker_failures: int = 5
    """So many in a row open the breaker."""
    breaker_open_s: float = 10.0
    """Then one request tries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Everything. What a reload may change is all but the listening address and Redis."""

    replicas: tuple[ReplicaSpec, ...] = ()
    policy: str = "auto"
    agree: Agree = Agree.ALONE
    gateways: int = 1
    """How many gateways share the replicas; loads seen here are taken times this."""
    tokenizer: str | None = None
    """Directory of tokenizer.json and the chat template."""
    mirror_bytes: int = 256 * 2**20
    """Bound of what is remembered of all replicas' caches."""
    default_kv_tokens: int | None = None
    """Of replicas that do not say; None: learned from what they report."""
    api_keys: tuple[ApiKey, ...] = ()
    """None: everybody may ask, and nobody's salt is set."""
    salt_secret: str | None = field(default=None, repr=False)
    """Mixed into tenants' salts, the same in all gateways; None: the tenants' names alone. Never
    shown or logged."""
    trust_client_salt: bool = False
    """Without API keys: whether a client's `cache_salt` is passed on."""
    shared_paths: tuple[str, ...] = ()
    """With API keys: paths, and what is below them, that are relayed though tenants meet there."""
    session_headers: tuple[str, ...] = (
        "x-session-id",
        "x-session-token",
        "x-smg-routing-key",
        "x-stemcache-session",
    )
    ask_usage: bool = True
    """Whether usage is asked for upstream where the client of a stream did not."""
    decision_header: bool = True
    full_decision_header: bool = False
    """With API keys: whether clients are also told of replicas and their queues."""
    limits: Limits = Limits()
    retries: Retries = Retries()
    health: HealthSettings = HealthSettings()
