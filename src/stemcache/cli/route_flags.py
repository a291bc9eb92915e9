"""Flags of `stemcache route` laid over what its file says. Pure."""

from dataclasses import dataclass, field, replace
from typing import Any

from stemcache.errors import UsageError
from stemcache.gateway.configuration import check_replicas
from stemcache.gateway.deployment import (
    Admin,
    Configuration,
    DnsSource,
    KubernetesSource,
    LocalReplicas,
    Template,
)
from stemcache.gateway.places import (
    check_endpoint,
    check_host,
    check_redis,
    check_service,
    host_of,
    named_replica,
)
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.secrets import check_keys
from stemcache.gateway.settings import Agree, ApiKey

__all__ = ["Flags", "lay_over"]

_MOST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """As given; None, or empty, where not."""

    replicas: tuple[str, ...] = ()
    """URL or NAME=URL."""
    dns: tuple[str, ...] = ()
    """HOST:PORT"""
    kubernetes: tuple[str, ...] = ()
    """[NAMESPACE/]SERVICE[:PORT]"""
    kubernetes_api: str | None = None
    local: int | None = None
    local_model: str | None = None
    events: tuple[str, ...] = ()
    """PORT or NAME=ENDPOINT."""
    replay: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of GatewaySettings that a flag has as it stands."""
    limits: dict[str, Any] = field(default_factory=dict)
    listen: dict[str, Any] = field(default_factory=dict)
    agree: Agree | None = None
    redis: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    api_key_file: str | None = None
    admin_key_file: str | None = None
    api_keys: tuple[ApiKey, ...] | None = None
    """What those files hold."""
    admin_keys: tuple[str, ...] | None = field(default=None, repr=False)
    open_metrics: bool | None = None


def lay_over(configuration: Configuration, flags: Flags) -> Configuration:
    """The configuration that both make. A flag wins; replicas of both are taken.

    Raises UsageError for what cannot be, alone or together.
    """
    template = _template(flags)
    sources: tuple[DnsSource | KubernetesSource, ...] = (
        *configuration.sources,
        *(_dns(text, template) for text in flags.dns),
        *(_kubernetes(text, template, flags.kubernetes_api) for text in flags.kubernetes),
    )
    if flags.kubernetes_api is not None and not flags.kubernetes:
        raise UsageError("--kubernetes-api needs --kubernetes SERVICE beside it")
    local = configuration.local
    if flags.local is not None:
        local = replace(local, replicas=flags.local)
    if flags.local_model is not None:
        if not local.replicas:
            raise UsageError("--model is of replicas that --local starts; give --local N beside it")
        local = replace(local, model=flags.local_model)
    agree, redis = _agreed(configuration, flags)
    replicas = _replicas(configuration.settings.replicas, flags)
    settings = replace(
        configuration.settings,
        replicas=_with_events(replicas, flags),
        agree=agree,
        **flags.settings,
    )
    if flags.limits:
        settings = replace(settings, limits=replace(settings.limits, **flags.limits))
    if flags.api_keys is not None:
        settings = replace(settings, api_keys=flags.api_keys)
    _check_gateways(settings.gateways, agree)
    if agree is Agree.REDIS:
        check_redis(redis or "")
    admin = configuration.admin
    if flags.admin_keys is not None:
        admin = Admin(keys=flags.admin_keys, open_metrics=admin.open_metrics)
    if flags.open_metrics is not None:
        admin = replace(admin, open_metrics=flags.open_metrics)
    check_keys(settings.api_keys, admin)
    listen = replace(configuration.listen, **flags.listen)
    if (listen.tls_cert is None) != (listen.tls_key is None):
        missing = "--tls-key" if listen.tls_key is None else "--tls-cert"
        raise UsageError(f"TLS needs a certificate and its key; give {missing} too")
    return replace(
        configuration,
        settings=settings,
        listen=listen,
        sources=sources,
        admin=admin,
        local=_checked_local(local, replicas, sources),
        redis=redis,
        ca_file=flags.ca_file or configuration.ca_file,
    )


def _replicas(written: tuple[ReplicaSpec, ...], flags: Flags) -> tuple[ReplicaSpec, ...]:
    given = tuple(named_replica(text, f"--replica {_shown(text)}") for text in flags.replicas)
    check_replicas(given, "--replica")
    names = {spec.name for spec in given}
    together = (*(spec for spec in written if spec.name not in names), *given)
    check_replicas(together, "--config and --replica")
    return together


def _checked_local(
    local: LocalReplicas, replicas: tuple[ReplicaSpec, ...], sources: tuple[Any, ...]
) -> LocalReplicas:
    if not local.replicas and not replicas and not sources:
        raise UsageError(
            "there are no replicas; give --replica URL (several times), --local N to start some, "
            "--dns HOST:PORT, --kubernetes SERVICE, or a file with --config"
        )
    return local


def _agreed(configuration: Configuration, flags: Flags) -> tuple[Agree, str | None]:
    redis = flags.redis if flags.redis is not None else configuration.redis
    agree = flags.agree if flags.agree is not None else configuration.settings.agree
    if flags.redis is not None and flags.agree is None:
        agree = Agree.REDIS
    if agree is Agree.REDIS and redis is None:
        raise UsageError("--agree redis needs --redis URL, such as redis://127.0.0.1:6379/0")
    if agree is not Agree.REDIS and flags.redis is not None:
        raise UsageError(f"--redis is for --agree redis, and --agree is {agree}; leave one out")
    return agree, redis if agree is Agree.REDIS else None


def _check_gateways(gateways: int, agree: Agree) -> None:
    if gateways > 1 and agree is Agree.ALONE:
        raise UsageError(
            f"--gateways is {gateways}, and --agree is alone; say how they agree: --agree hash, "
            "or --agree redis with --redis URL"
        )
    if gateways == 1 and agree is Agree.HASH:
        raise UsageError(
            "--agree is hash, and --gateways is 1; add --gateways 2, or as many as there are, or "
            "leave --agree out"
        )


def _template(flags: Flags) -> Template:
    """What flags say of replicas that are yet to be found."""
    events = [text for text in flags.events if text.isdigit()]
    replays = [text for text in flags.replay if text.isdigit()]
    return Template(
        events_port=_port(events[-1], "--events") if events else None,
        replay_port=_port(replays[-1], "--events-replay") if replays else None,
    )


def _with_events(replicas: tuple[ReplicaSpec, ...], flags: Flags) -> tuple[ReplicaSpec, ...]:
    for flag, field_name, texts in (
        ("--events", "events", flags.events),
        ("--events-replay", "replay", flags.replay),
    ):
        for text in texts:
            replicas = _endpoint_set(replicas, flag, field_name, text)
    for spec in replicas:
        if spec.replay is not None and spec.events is None:
            raise UsageError(
                f"replica {spec.name} has --events-replay and no --events; give --events too"
            )
    return replicas


def _endpoint_set(
    replicas: tuple[ReplicaSpec, ...], flag: str, field_name: str, text: str
) -> tuple[ReplicaSpec, ...]:
    if text.isdigit():
        port = _port(text, flag)
        return tuple(
            _endpoint(spec, field_name, f"tcp://{host_of(spec.url)}:{port}") for spec in replicas
        )
    name, given, endpoint = text.partition("=")
    if not given and len(replicas) == 1:
        name, endpoint = replicas[0].name, text
    elif not given:
        raise UsageError(
            f"{flag} {_shown(text)} does not say of which replica; use {flag} NAME=ENDPOINT, or a "
            "port that all of them have"
        )
    if name not in {spec.name for spec in replicas}:
        known = ", ".join(spec.name for spec in replicas) or "none"
        raise UsageError(f"{flag} names the replica {name[:60]!r}, and there are: {known}")
    checked = check_endpoint(endpoint, flag)
    return tuple(
        _endpoint(spec, field_name, checked) if spec.name == name else spec for spec in replicas
    )


def _endpoint(spec: ReplicaSpec, field_name: str, endpoint: str) -> ReplicaSpec:
    if field_name == "events":
        return replace(spec, events=endpoint)
    return replace(spec, replay=endpoint)


def _dns(text: str, template: Template) -> DnsSource:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not host.isascii() or "/" in host or not port.isdigit():
        raise UsageError(f"--dns {_shown(text)} is not HOST:PORT; such as vllm.default.svc:8000")
    checked = check_host(host.strip("[]"), f"the host of --dns {_shown(text)}")
    return DnsSource(host=checked, port=_port(port, "--dns"), template=template)


def _kubernetes(text: str, template: Template, api: str | None) -> KubernetesSource:
    namespace, slash, rest = text.rpartition("/")
    service, colon, port = rest.partition(":")
    empty = not service or (slash and not namespace) or (colon and not port)
    if empty or "/" in namespace or not text.isascii():
        raise UsageError(
            f"--kubernetes {_shown(text)} is not [NAMESPACE/]SERVICE[:PORT]; such as prod/vllm:http"
        )
    source = KubernetesSource(
        service=service, namespace=namespace or None, port=port or None, api=api, template=template
    )
    check_service(
        f"--kubernetes {_shown(text)}",
        service=service,
        namespace=source.namespace,
        port=source.port,
    )
    return source


def _port(text: str, flag: str) -> int:
    port = int(text) if len(text) <= len(str(_MOST_PORT)) else 0
    if not 0 < port <= _MOST_PORT:
        raise UsageError(f"{flag} has the port {text[:20]}; use one from 1 to {_MOST_PORT}")
    return port


def _shown(text: str) -> str:
    """A value of the user's, as far as it can be shown: a URL may hold a password."""
    return "…" if "@" in text else ascii(text[:80])[1:-1]
