"""What a gateway is told besides how to route: where it listens, where replicas are found.

```
Configuration
├── settings     GatewaySettings: what routing and the data path go by
├── listen       address, TLS, grace
├── sources      DnsSource, KubernetesSource: replicas that come and go
├── admin        who may see the fleet and drain it
├── local        replicas that the gateway starts itself
└── redis        through which gateways tell each other
```
"""

from dataclasses import dataclass, field
from string import punctuation
from urllib.parse import quote

from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.settings import GatewaySettings

__all__ = [
    "Admin",
    "Configuration",
    "DnsSource",
    "KubernetesSource",
    "Listen",
    "LocalReplicas",
    "Template",
]

_IN_NAMES = "".join(set(punctuation) - set('"#'))


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """The address that clients are told. Not changed by a reload."""

    host: str = "127.0.0.1"
    port: int = 8080
    """0: any free one."""
    tls_cert: str | None = None
    """File of PEM certificates, the own one first."""
    tls_key: str | None = None
    grace_s: float = 30.0
    """For running answers to finish, after SIGTERM."""

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What is said once of all replicas that one source finds."""

    tls: bool = False
    path: str = ""
    engine: Engine = Engine.AUTO
    weight: float = 1.0
    ranks: int = 1
    events_port: int | None = None
    """Where each publishes its KV events."""
    replay_port: int | None = None
    topic: str = ""
    kv_tokens: int | None = None
    api_key: str | None = field(default=None, repr=False)
    models: tuple[str, ...] = ()

    def spec(self, host: str, port: int) -> ReplicaSpec:
        """The replica at an address. Its name is the address, so that all gateways hash alike."""
        shown = f"[{host}]" if ":" in host else host
        place = f"{shown}:{port}"
        return ReplicaSpec(
            # An IPv6 address may have a zone, and that any character.
            name=quote(place, safe=_IN_NAMES),
            url=f"{'https' if self.tls else 'http'}://{place}{self.path}",
            engine=self.engine,
            weight=self.weight,
            ranks=self.ranks,
            events=None if self.events_port is None else f"tcp://{shown}:{self.events_port}",
            replay=None if self.replay_port is None else f"tcp://{shown}:{self.replay_port}",
            topic=self.topic,
            kv_tokens=self.kv_tokens,
            api_key=self.api_key,
            models=self.models,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsSource:
    """Every address of a host is a replica."""

    host: str
    port: int
    interval_s: float = 10.0
    template: Template = Template()


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSource:
    """Every ready endpoint of a service is a replica; one that terminates is drained."""

    service: str
    port: str | None = None
    """Name or number of the port; None where the service has one."""
    namespace: str | None = None
    """None: that of the gateway's own pod."""
    api: str | None = None
    """URL of the API server; None: as a pod finds it."""
    interval_s: float = 10.0
    """Between polls, where watching does not work."""
    template: Template = Template()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """Who may see the fleet, drain replicas and read metrics."""

    keys: tuple[str, ...] = field(default=(), repr=False)
    open_metrics: bool = False
    """Whether /metrics needs no key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReplicas:
    """Replicas that the gateway starts and stops. Not changed by a reload."""

    replicas: int = 0
    model: str = "toy"
    flags: tuple[str, ...] = ()
    """Further words for `stemcache serve`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Everything that a file and flags say together."""

    settings: GatewaySettings = field(default_factory=GatewaySettings)
    listen: Listen = Listen()
    sources: tuple[DnsSource | KubernetesSource, ...] = ()
    admin: Admin = Admin()
    local: LocalReplicas = LocalReplicas()
    redis: str | None = field(default=None, repr=False)
    """URL; it may hold a password."""
    fleet: str = "default"
    """What gateways that share a Redis and the same replicas call themselves."""
    ca_file: str | None = None
    """Certificates to trust of replicas, beside the system's. Not changed by a reload."""
