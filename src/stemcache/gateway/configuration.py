"""A gateway's TOML file, read strictly: every key is known, every value checked. Pure.

```
policy = "auto"            [listen]   [limits]  [retries]  [health]  [agree]  [admin]  [local]
[[replica]] url = "…"      [[api_key]] tenant = "…"        [[discover]] dns = "…" | kubernetes = "…"
```
A secret is written as `NAME = "…"`, `NAME_env = "VARIABLE"` or `NAME_file = "path"`, and is in no
message. All errors are UsageError and name file, table and key.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import PurePath
from typing import Any

from stemcache.errors import UsageError
from stemcache.gateway.deployment import (
    Admin,
    Configuration,
    DnsSource,
    KubernetesSource,
    Listen,
    LocalReplicas,
    Template,
)
from stemcache.gateway.engine_paths import work_of
from stemcache.gateway.places import (
    can_be_named,
    check_endpoint,
    check_host,
    check_service,
    replica_at,
)
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.secrets import Secrets
from stemcache.gateway.settings import (
    Agree,
    ApiKey,
    GatewaySettings,
    HealthSettings,
    Limits,
    Retries,
)
from stemcache.provider.table import Table

__all__ = ["check_replicas", "read_configuration"]

_MOST_PORT = 65535
_MOST_RANKS = 1024
_MOST_S = 86_400.0 * 30
_LEAST_S = 0.001
_ENGINES = tuple(str(engine) for engine in Engine)
_PATH = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+/?")
"""Others are refused, however they are shared."""
_AGREES = tuple(str(agree) for agree in Agree)


def read_configuration(
    text: str,
    name: str,
    *,
    environ: Mapping[str, str],
    read_file: Callable[[PurePath], str],
    policies: tuple[str, ...] = (),
) -> Configuration:
    """What the file says; what it does not say has its default. Raises UsageError.

    `name` is what messages call the file, and paths in it are relative to it; `read_file` opens
    those that hold secrets. `policies` are the known ones, to check against; empty: not checked.
    """
    table = Table(_decoded(text, name), name)
    secrets = Secrets(environ, read_file, PurePath(name).parent)
    redis, agree, gateways, fleet = _agree(table.table("agree"), secrets)
    settings = _settings(table, secrets, policies)
    ca_file = table.text("ca_file")
    configuration = Configuration(
        settings=replace(settings, agree=agree, gateways=gateways),
        listen=_listen(table.table("listen"), PurePath(name).parent),
        sources=tuple(_source(one, secrets) for one in table.tables("discover")),
        admin=_admin(table.table("admin"), secrets),
        local=_local(table.table("local")),
        redis=redis,
        fleet=fleet,
        ca_file=None if ca_file is None else str(PurePath(name).parent / ca_file),
    )
    table.done()
    return configuration


def check_replicas(replicas: tuple[ReplicaSpec, ...], source: str) -> None:
    """Raise UsageError where two have one name, or one address."""
    names: dict[str, ReplicaSpec] = {}
    urls: dict[str, ReplicaSpec] = {}
    for spec in replicas:
        if spec.name in names:
            raise UsageError(
                f"two replicas from {source} are called {spec.name!r}; leave one out, or name them"
            )
        if spec.url in urls:
            raise UsageError(
                f"two replicas from {source}, {urls[spec.url].name!r} and {spec.name!r}, have one "
                "address; leave one out, or mend its URL"
            )
        names[spec.name] = urls[spec.url] = spec


def _decoded(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and Python's of a number of too many digits
        raise UsageError(f"{name} is not TOML: {str(error)[:200]}; mend it there") from None
    except RecursionError:
        raise UsageError(f"{name} nests too deeply; a configuration is flat") from None


def _settings(table: Table, secrets: Secrets, policies: tuple[str, ...]) -> GatewaySettings:
    found: dict[str, Any] = {}
    policy = table.choice("policy", policies) if policies else table.text("policy")
    _put(found, "policy", policy)
    if (tokenizer := table.text("tokenizer")) is not None:
        found["tokenizer"] = str(secrets.directory / tokenizer)
    _put(found, "mirror_bytes", _whole(table, "mirror_bytes", least=2**20))
    _put(found, "default_kv_tokens", _whole(table, "default_kv_tokens", least=1))
    _put(found, "salt_secret", secrets.one(table, "salt_secret", blanks=True))
    for key in ("trust_client_salt", "ask_usage", "decision_header", "full_decision_header"):
        _put(found, key, table.flag(key))
    if shared := table.texts("shared_paths"):
        found["shared_paths"] = _paths(table, shared)
    if table.has("session_headers"):
        found["session_headers"] = _header_names(table)
    replicas = tuple(_replica(one, secrets) for one in table.tables("replica"))
    check_replicas(replicas, table.where)
    return GatewaySettings(
        replicas=replicas,
        api_keys=_api_keys(table, secrets),
        limits=_limits(table.table("limits")),
        retries=_retries(table.table("retries")),
        health=_health(table.table("health")),
        **found,
    )


def _replica(table: Table, secrets: Secrets) -> ReplicaSpec:
    url = table.needed("url")
    if (name := table.text("name")) is not None and not can_be_named(name):
        raise table.wrong("name", name, 'letters, digits and signs, but no blank, no " and no #')
    spec = replica_at(url, f"url in {table.where}", name=name)
    found: dict[str, Any] = {}
    for key in ("events", "replay"):
        if (endpoint := table.text(key)) is not None:
            found[key] = check_endpoint(endpoint, f"{key} in {table.where}")
    _common(table, secrets, found)
    table.done()
    if "replay" in found and "events" not in found:
        raise UsageError(f"replay in {table.where} needs events beside it; add events")
    return replace(spec, **found)


def _common(table: Table, secrets: Secrets, found: dict[str, Any]) -> None:
    """What replicas have in common with templates of discovered ones."""
    if (engine := table.choice("engine", _ENGINES)) is not None:
        found["engine"] = Engine(engine)
    if (weight := table.number("weight")) is not None:
        if weight <= 0:
            raise table.wrong("weight", weight, "a number above 0; to send nothing, drain it")
        found["weight"] = weight
    _put(found, "ranks", _whole(table, "ranks", least=1, most=_MOST_RANKS))
    _put(found, "topic", table.text("topic"))
    _put(found, "kv_tokens", _whole(table, "kv_tokens", least=1))
    _put(found, "api_key", secrets.one(table, "api_key"))
    if models := table.texts("models"):
        found["models"] = models


def _source(table: Table, secrets: Secrets) -> DnsSource | KubernetesSource:
    host, service = table.text("dns"), table.text("kubernetes")
    if (host is None) == (service is None):
        both = "neither dns nor kubernetes" if host is None else "both dns and kubernetes"
        raise UsageError(
            f"{table.where} has {both}; give one: dns = a host, or kubernetes = a service"
        )
    found: dict[str, Any] = {}
    _put(found, "tls", table.flag("tls"))
    if (path := table.text("path")) is not None:
        # Checked as part of a URL, where it is to stand.
        whole = replica_at(f"http://host{path}", f"path in {table.where}", name="a").url
        found["path"] = whole.removeprefix("http://host")
    for key in ("events_port", "replay_port"):
        _put(found, key, _whole(table, key, least=1, most=_MOST_PORT))
    _common(table, secrets, found)
    template = Template(**found)
    interval = _seconds(table, "interval_s")
    extra: dict[str, Any] = {} if interval is None else {"interval_s": interval}
    if host is not None:
        port = _whole(table, "port", least=1, most=_MOST_PORT)
        if port is None:
            raise UsageError(f"port is missing from {table.where}; add the replicas' port")
        table.done()
        check_host(host, f"dns in {table.where}")
        return DnsSource(host=host, port=port, template=template, **extra)
    _put(extra, "port", _port_word(table))
    for key in ("namespace", "api"):
        _put(extra, key, table.text(key))
    table.done()
    assert service is not None, "one of the two is there"
    source = KubernetesSource(service=service, template=template, **extra)
    check_service(table.where, service=service, namespace=source.namespace, port=source.port)
    return source


def _port_word(table: Table) -> str | None:
    value = table.take("port")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise table.wrong("port", value, "the port's name or number")
    return str(value)


def _api_keys(table: Table, secrets: Secrets) -> tuple[ApiKey, ...]:
    found: dict[str, ApiKey] = {}
    for one in table.tables("api_key"):
        key = secrets.one(one, "key")
        if key is None:
            raise UsageError(f"{one.where} has no key; give key, key_env or key_file")
        if key in found:
            raise UsageError(f"{one.where} has the key of another; give each tenant its own")
        tenant = one.needed("tenant")
        found[key] = ApiKey(key=key, tenant=tenant, may_salt=bool(one.flag("may_salt")))
        one.done()
    return tuple(found.values())


def _agree(table: Table | None, secrets: Secrets) -> tuple[str | None, Agree, int, str]:
    if table is None:
        return None, Agree.ALONE, 1, "default"
    how = table.choice("how", _AGREES)
    gateways = _whole(table, "gateways", least=1, most=10_000)
    redis = secrets.one(table, "redis")
    fleet = table.text("fleet") or "default"
    table.done()
    agree = Agree(how) if how is not None else (Agree.ALONE if redis is None else Agree.REDIS)
    if (agree is Agree.REDIS) != (redis is not None):
        raise UsageError(
            f"{table.where} says how = {str(agree)!r} and {'no' if redis is None else 'a'} redis; "
            "give both how = 'redis' and the URL, or neither"
        )
    return redis, agree, gateways or 1, fleet


def _listen(table: Table | None, directory: PurePath) -> Listen:
    if table is None:
        return Listen()
    found: dict[str, Any] = {}
    _put(found, "host", table.text("host"))
    _put(found, "port", _whole(table, "port", most=_MOST_PORT))
    _put(found, "grace_s", _seconds(table, "grace_s", least=0.0))
    for key in ("tls_cert", "tls_key"):
        if (path := table.text(key)) is not None:
            found[key] = str(directory / path)
    table.done()
    if ("tls_cert" in found) != ("tls_key" in found):
        raise UsageError(f"{table.where} has one of tls_cert and tls_key; give both, or neither")
    return Listen(**found)


def _limits(table: Table | None) -> Limits:
    if table is None:
        return Limits()
    found: dict[str, Any] = {}
    for field in fields(Limits):
        if field.name.endswith("_s"):
            _put(found, field.name, _seconds(table, field.name))
        else:
            least = {"head_bytes": 1024, "per_replica": 0}.get(field.name, 1)
            _put(found, field.name, _whole(table, field.name, least=least))
    table.done()
    return Limits(**found)


def _retries(table: Table | None) -> Retries:
    if table is None:
        return Retries()
    found: dict[str, Any] = {}
    _put(found, "attempts", _whole(table, "attempts", least=1, most=100))
    _put(found, "connect_s", _seconds(table, "connect_s"))
    if table.has("statuses"):
        found["statuses"] = frozenset(_statuses(table))
    table.done()
    return Retries(**found)


def _statuses(table: Table) -> list[int]:
    values = table.take("statuses")
    wanted = "a list of statuses from 400 to 599, such as [429, 503]"
    if not isinstance(values, list):
        raise table.wrong("statuses", values, wanted)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or not 400 <= value <= 599:
            raise table.wrong("statuses", value, wanted)
    return values


def _health(table: Table | None) -> HealthSettings:
    if table is None:
        return HealthSettings()
    found: dict[str, Any] = {}
    path = table.text("path")
    if path is not None and (not path.startswith("/") or not path.isascii() or " " in path):
        raise table.wrong("path", path, "a path that begins with a slash")
    _put(found, "path", path)
    for key in ("interval_s", "timeout_s", "breaker_open_s"):
        _put(found, key, _seconds(table, key))
    for key in ("down_after", "up_after"):
        _put(found, key, _whole(table, key, least=1, most=1000))
    _put(found, "breaker_failures", _whole(table, "breaker_failures"))
    table.done()
    return HealthSettings(**found)


def _admin(table: Table | None, secrets: Secrets) -> Admin:
    if table is None:
        return Admin()
    keys = secrets.several(table, "keys")
    key = secrets.one(table, "key")
    open_metrics = bool(table.flag("open_metrics"))
    table.done()
    return Admin(keys=(*keys, *(() if key is None else (key,))), open_metrics=open_metrics)


def _local(table: Table | None) -> LocalReplicas:
    if table is None:
        return LocalReplicas()
    found: dict[str, Any] = {}
    _put(found, "replicas", _whole(table, "replicas", most=64))
    _put(found, "model", table.text("model"))
    if flags := table.texts("flags"):
        found["flags"] = flags
    table.done()
    return LocalReplicas(**found)


def _header_names(table: Table) -> tuple[str, ...]:
    names = table.texts("session_headers")
    for name in names:
        if not name or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name):
            raise table.wrong("session_headers", name, "names of headers")
    return tuple(name.lower() for name in names)


def _paths(table: Table, paths: tuple[str, ...]) -> tuple[str, ...]:
    for path in paths:
        bare = path.encode("utf-8", "replace").removesuffix(b"/")
        # All of /v1 can be shared: what must not be relayed is not relayed there either.
        if _PATH.fullmatch(path) is None or (bare != b"/v1" and work_of(bare) is None):
            raise table.wrong(
                "shared_paths", path, "paths that are relayed at all, such as '/v1/files'"
            )
    return paths


def _whole(table: Table, key: str, *, least: int = 0, most: int = 10**12) -> int | None:
    value = table.count(key)
    if value is not None and not least <= value <= most:
        upto = "" if most == 10**12 else f" to {most}"
        raise table.wrong(key, value, f"a whole number from {least}{upto or ' on'}")
    return value


def _seconds(table: Table, key: str, *, least: float = _LEAST_S) -> float | None:
    value = table.number(key)
    if value is not None and not least <= value <= _MOST_S:
        raise table.wrong(key, value, f"seconds, from {least:g} to {_MOST_S:,.0f}")
    return value


def _put(found: dict[str, Any], key: str, value: Any) -> None:
    if value is not None:
        found[key] = value
