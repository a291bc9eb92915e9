"""A gateway's file: what it says, and how it is told what is wrong with it."""

from pathlib import PurePath

import pytest

from stemcache.errors import UsageError
from stemcache.gateway.configuration import check_replicas, read_configuration
from stemcache.gateway.deployment import (
    Admin,
    Configuration,
    DnsSource,
    KubernetesSource,
    Listen,
    LocalReplicas,
    Template,
)
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.settings import (
    Agree,
    ApiKey,
    GatewaySettings,
    HealthSettings,
    Limits,
    Retries,
)

FILES = {"conf/keys/a": "key-of-a\n", "conf/salt": "of the sea", "conf/binary": ""}
ENVIRON = {"KEY_OF_B": "key-of-b", "EMPTY": "", "REDIS": "redis://:hunter2@cache:6379/0"}


def read_file(path: PurePath) -> str:
    """What a disk would have."""
    if str(path) == "conf/no":
        raise OSError(2, "No such file or directory")
    if str(path) == "conf/binary":
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    return FILES[str(path)]


def read(text: str) -> Configuration:
    """The configuration of a file in `conf`."""
    return read_configuration(
        text,
        "conf/route.toml",
        environ=ENVIRON,
        read_file=read_file,
        policies=("auto", "round-robin", "least-load"),
    )


def fails(text: str) -> str:
    """What is said of a file that cannot be used."""
    with pytest.raises(UsageError) as raised:
        read(text)
    return str(raised.value)


def test_an_empty_file_says_nothing() -> None:
    """Every key has a default."""
    assert read("") == Configuration()


def test_a_replica_needs_a_url_alone() -> None:
    """Its name is its address, so that gateways hash alike."""
    assert read('[[replica]]\nurl = "http://10.0.0.1:8000"\n').settings.replicas == (
        ReplicaSpec(name="10.0.0.1:8000", url="http://10.0.0.1:8000"),
    )


def test_a_replica_may_say_all_of_itself() -> None:
    """Each key ends up in its place."""
    text = """
        [[replica]]
        name = "a"
        url = "https://vllm-a/base/v1"
        engine = "vllm"
        weight = 2
        ranks = 4
        events = "tcp://vllm-a:5557"
        replay = "tcp://vllm-a:5561"
        topic = "kv@a"
        kv_tokens = 500_000
        api_key_env = "KEY_OF_B"
        models = ["qwen", "qwen-lora"]
    """
    assert read(text).settings.replicas == (
        ReplicaSpec(
            name="a",
            url="https://vllm-a/base",
            engine=Engine.VLLM,
            weight=2.0,
            ranks=4,
            events="tcp://vllm-a:5557",
            replay="tcp://vllm-a:5561",
            topic="kv@a",
            kv_tokens=500_000,
            api_key="key-of-b",
            models=("qwen", "qwen-lora"),
        ),
    )


def test_the_settings_are_read() -> None:
    """Of routing and the data path."""
    text = """
        policy = "least-load"
        tokenizer = "models/qwen"
        mirror_bytes = 33_554_432
        default_kv_tokens = 100_000
        salt_secret_file = "salt"
        trust_client_salt = true
        ask_usage = false
        decision_header = false
        full_decision_header = true
        shared_paths = ["/v1/files", "/v1/batches/", "/generate"]
        session_headers = ["X-My-Session"]
        ca_file = "ca.pem"

        [limits]
        body_bytes = 1_000_000
        connections = 100
        idle_s = 60
        per_replica = 32

        [retries]
        attempts = 2
        statuses = [429, 503]
        connect_s = 1.5

        [health]
        path = "/ready"
        interval_s = 2
        timeout_s = 1
        down_after = 3
        up_after = 2
        breaker_failures = 0
        breaker_open_s = 5
    """
    configuration = read(text)
    assert configuration.settings == GatewaySettings(
        policy="least-load",
        tokenizer="conf/models/qwen",
        mirror_bytes=2**25,
        default_kv_tokens=100_000,
        salt_secret="of the sea",
        trust_client_salt=True,
        ask_usage=False,
        decision_header=False,
        full_decision_header=True,
        shared_paths=("/v1/files", "/v1/batches/", "/generate"),
        session_headers=("x-my-session",),
        limits=Limits(body_bytes=1_000_000, connections=100, idle_s=60.0, per_replica=32),
        retries=Retries(attempts=2, statuses=frozenset({429, 503}), connect_s=1.5),
        health=HealthSettings(
            path="/ready",
            interval_s=2.0,
            timeout_s=1.0,
            down_after=3,
            up_after=2,
            breaker_failures=0,
            breaker_open_s=5.0,
        ),
    )
    assert configuration.ca_file == "conf/ca.pem"


def test_where_it_listens_is_read() -> None:
    """Paths are relative to the file."""
    text = """
        [listen]
        host = "0.0.0.0"
        port = 443
        tls_cert = "cert.pem"
        tls_key = "/etc/key.pem"
        grace_s = 0
    """
    assert read(text).listen == Listen(
        host="0.0.0.0",
        port=443,
        tls_cert="conf/cert.pem",
        tls_key="/etc/key.pem",
        grace_s=0.0,
    )


def test_sources_of_replicas_are_read() -> None:
    """Names in DNS and services of Kubernetes, with what all they find has in common."""
    text = """
        [[discover]]
        dns = "vllm.default.svc"
        port = 8000
        interval_s = 5
        engine = "vllm"
        events_port = 5557
        path = "/base/"

        [[discover]]
        kubernetes = "sglang"
        namespace = "prod"
        port = "http"
        api = "http://127.0.0.1:8001"
        tls = true

        [[discover]]
        kubernetes = "llama"
        port = 8080
    """
    assert read(text).sources == (
        DnsSource(
            host="vllm.default.svc",
            port=8000,
            interval_s=5.0,
            template=Template(engine=Engine.VLLM, events_port=5557, path="/base"),
        ),
        KubernetesSource(
            service="sglang",
            namespace="prod",
            port="http",
            api="http://127.0.0.1:8001",
            template=Template(tls=True),
        ),
        KubernetesSource(service="llama", port="8080"),
    )


def test_clients_keys_are_read_from_wherever_they_are() -> None:
    """Written, in a variable, in a file."""
    text = """
        [[api_key]]
        key = "key-of-c"
        tenant = "c"
        may_salt = true
        [[api_key]]
        key_env = "KEY_OF_B"
        tenant = "b"
        [[api_key]]
        key_file = "keys/a"
        tenant = "a"
    """
    assert read(text).settings.api_keys == (
        ApiKey(key="key-of-c", tenant="c", may_salt=True),
        ApiKey(key="key-of-b", tenant="b"),
        ApiKey(key="key-of-a", tenant="a"),
    )


def test_admins_keys_are_read() -> None:
    """A list, or one from a file."""
    text = '[admin]\nkeys = ["one", "two"]\nkey_file = "keys/a"\nopen_metrics = true\n'
    assert read(text).admin == Admin(keys=("one", "two", "key-of-a"), open_metrics=True)


def test_how_gateways_agree_is_read() -> None:
    """A Redis implies that they agree through it."""
    configuration = read('[agree]\ngateways = 3\nredis_env = "REDIS"\nfleet = "blue"\n')
    assert configuration.settings.agree is Agree.REDIS
    assert configuration.settings.gateways == 3
    assert configuration.redis == "redis://:hunter2@cache:6379/0"
    assert configuration.fleet == "blue"
    assert read('[agree]\nhow = "hash"\n').settings.agree is Agree.HASH


def test_local_replicas_are_read() -> None:
    """Their flags are words for `stemcache serve`."""
    text = '[local]\nreplicas = 3\nmodel = "toy"\nflags = ["--kv-memory", "8MiB"]\n'
    assert read(text).local == LocalReplicas(replicas=3, model="toy", flags=("--kv-memory", "8MiB"))


def test_no_secret_is_shown() -> None:
    """Not in any representation."""
    text = """
        salt_secret = "hunter2-salt"
        [agree]
        redis = "redis://:hunter2@h"
        [admin]
        key = "hunter2-admin"
        [[api_key]]
        key = "hunter2-key"
        tenant = "t"
        [[replica]]
        url = "http://h:1"
        api_key = "hunter2-replica"
        [[discover]]
        dns = "h"
        port = 1
        api_key = "hunter2-template"
    """
    configuration = read(text)
    assert "hunter2" not in repr(configuration)
    assert "hunter2" not in str(configuration)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('polcy = "auto"', "unknown key 'polcy' from conf/route.toml; did you mean 'policy'?"),
        ('policy = "lru"', "unknown policy 'lru' from conf/route.toml; (auto, least-load, round-"),
        ("policy = 3", "policy in conf/route.toml is the whole number 3; give a text"),
        (
            "[limit]\nbody_bytes=1",
            "unknown key 'limit' from conf/route.toml; did you mean 'limits'",
        ),
        (
            "[limits]\nbody_byte=1",
            "unknown key 'body_byte' from conf/route.toml, limits; did you mean 'body_bytes'?",
        ),
        ("[limits]\nbody_bytes=0", "body_bytes in conf/route.toml, limits is the whole number 0"),
        ("[limits]\nidle_s=0", "idle_s in conf/route.toml, limits is the number 0; give seconds"),
        ("[limits]\nidle_s=inf", "idle_s in conf/route.toml, limits is the number inf"),
        ("[limits]\nidle_s=nan", "idle_s in conf/route.toml, limits is the number nan"),
        ("limits = 3", "conf/route.toml, limits is the whole number 3; give a table"),
        ("mirror_bytes = 5", "give a whole number from 1048576 on"),
        ("[retries]\nattempts=0", "give a whole number from 1 to 100"),
        ("[retries]\nstatuses=[200]", "give a list of statuses from 400 to 599"),
        ("[retries]\nstatuses=503", "give a list of statuses from 400 to 599"),
        ("[retries]\nstatuses=[true]", "statuses in conf/route.toml, retries is true"),
        ('[health]\npath="health"', "give a path that begins with a slash"),
        ('[health]\npath="/a b"', "give a path that begins with a slash"),
        ("[[replica]]\n", "url is missing from conf/route.toml, replica 1; add it"),
        ('[[replica]]\nurl="ftp://h"', "url in conf/route.toml, replica 1 has scheme 'ftp'"),
        ('[[replica]]\nurl="http://h"\nweight=0', "give a number above 0; to send nothing, drain"),
        ('[[replica]]\nurl="http://h"\nengine="vlm"', "did you mean 'vllm'?"),
        ('[[replica]]\nurl="http://h"\nranks=0', "give a whole number from 1 to 1024"),
        ('[[replica]]\nurl="http://h"\nname="a b"', 'signs, but no blank, no " and no #'),
        ('[[replica]]\nurl="http://h"\nname="a#1"', 'signs, but no blank, no " and no #'),
        ('[[replica]]\nurl="http://h"\nname=\'a"b\'', 'signs, but no blank, no " and no #'),
        ('[[replica]]\nurl="http://h"\nname="a\\u007f"', 'signs, but no blank, no " and no #'),
        ('[[replica]]\nurl="h:1"\n[[replica]]\nname="b"\nurl="http://h:1/v1"', "one address"),
        ('[[replica]]\nurl="http://h"\nevents="5557"', "is no endpoint of ZeroMQ; give the host"),
        ('[[replica]]\nurl="http://h"\nevents="tcp://*:5557"', "is no endpoint of ZeroMQ"),
        ('[[replica]]\nurl="http://h"\nreplay="tcp://h:1"', "needs events beside it; add events"),
        (
            '[[replica]]\nurl="http://h"\n[[replica]]\nurl="http://h:80"',
            "two replicas from conf/route.toml are called 'h:80'; leave one out, or name them",
        ),
        ("[[discover]]\nport=1", "has neither dns nor kubernetes; give one"),
        ('[[discover]]\ndns="a"\nkubernetes="b"', "has both dns and kubernetes; give one"),
        ('[[discover]]\ndns="a"', "port is missing from conf/route.toml, discover 1; add the"),
        ('[[discover]]\ndns="a"\nport=70000', "give a whole number from 1 to 65535"),
        ('[[discover]]\ndns="a"\nport=1\nnamespace="x"', "unknown key 'namespace'"),
        ('[[discover]]\nkubernetes="a"\nport=true', "give the port's name or number"),
        ('[[discover]]\nkubernetes="a/b"', "discover 1 has the service 'a/b', and in Kubernetes"),
        ('[[discover]]\nkubernetes="a"\nnamespace="${NS}"', "has the namespace '${NS}', and in"),
        (
            '[[discover]]\nkubernetes="a"\nport=70000',
            "has the port '70000', and in Kubernetes none",
        ),
        ('[[discover]]\ndns="${H}"\nport=1', "dns in conf/route.toml, discover 1 is no name of a"),
        ('[[replica]]\nurl="http://${H}"', "replica 1 has the host '${h}', which no server has"),
        ('[[discover]]\ndns="a"\nport=1\npath="?x"', "has a query or a fragment"),
        ('[[api_key]]\ntenant="a"', "has no key; give key, key_env or key_file"),
        ('[[api_key]]\nkey="k"', "tenant is missing from conf/route.toml, api_key 1; add it"),
        (
            '[[api_key]]\nkey="k"\ntenant="a"\n[[api_key]]\nkey="k"\ntenant="b"',
            "conf/route.toml, api_key 2 has the key of another; give each tenant its own",
        ),
        ('[agree]\nhow="redis"', "says how = 'redis' and no redis; give both"),
        ('[agree]\nhow="hash"\nredis="redis://h"', "says how = 'hash' and a redis; give both"),
        ('[agree]\nhow="hsh"', "did you mean 'hash'?"),
        ('[listen]\ntls_cert="c"', "has one of tls_cert and tls_key; give both, or neither"),
        ("[listen]\nport=65536", "give a whole number from 0 to 65535"),
        ('session_headers=["a b"]', "give names of headers"),
        ("session_headers=[3]", "give a list of texts"),
        (
            'shared_paths=["v1/files"]',
            "shared_paths in conf/route.toml is the text 'v1/files'; give paths that are relayed",
        ),
        ('shared_paths=["/"]', "give paths that are relayed at all"),
        ('shared_paths=["/v1/a%2Fb"]', "give paths that are relayed at all"),
        ('shared_paths=["/v1/a;b"]', "give paths that are relayed at all"),
        ('shared_paths=["/v1/../x"]', "give paths that are relayed at all"),
        ('shared_paths=["/flush_cache"]', "give paths that are relayed at all"),
        ('shared_paths=["/v1/load_lora_adapter"]', "give paths that are relayed at all"),
        ("[local]\nreplicas=1000", "give a whole number from 0 to 64"),
        ("a = ", "conf/route.toml is not TOML: Invalid value (at"),
        ("a = " + "[" * 10_000, "conf/route.toml nests too deeply"),
        ("a = 1" + "0" * 5000, "conf/route.toml is not TOML: "),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    """What, which value from where, what to do."""
    assert message in fails(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key = 12345678", "key in conf/route.toml, api_key 1 is no text; put it into quotes"),
        ('key = ""', "key in conf/route.toml, api_key 1 is empty; set it, or leave it out"),
        ('key = "hunter2\\n"', "has a character that cannot be sent, its 8th; set it as it was"),
        (
            'key = "hünter2"',
            "has a character that cannot be sent, its 2nd; set it as it was issued",
        ),
        ('key = "hunter2 hunter2"', "has a blank, its 8th character, and none can be sent; set it"),
        ('key_env = "NO_SUCH"', "key_env in conf/route.toml, api_key 1 names 'NO_SUCH', which is"),
        ('key_env = "EMPTY"', "key_env in conf/route.toml, api_key 1 is empty"),
        ('key_file = "no"', "cannot be read: No such file or directory; check the path"),
        ('key_file = "binary"', "cannot be read: it is no text; check the path"),
        ('key = "hunter2"\nkey_env = "KEY_OF_B"', "has key and key_env; give one of them"),
    ],
)
def test_secrets_that_cannot_be_used_are_not_shown(text: str, message: str) -> None:
    """The message names the place and no part of the value."""
    said = fails(f'[[api_key]]\ntenant = "t"\n{text}\n')
    assert message in said
    for secret in ("hunter2", "12345678", "key-of-b"):
        assert secret not in said


def test_a_list_of_secrets_is_not_shown_either() -> None:
    """Where it is of another type."""
    said = fails("[admin]\nkeys = [12345678]\n")
    assert said == "keys in conf/route.toml, admin is no list of texts; put each into quotes"


def test_replicas_are_told_apart_by_name() -> None:
    """Two of one name would be one seat, and two of one address one replica."""
    one = ReplicaSpec(name="a", url="http://h:1")
    check_replicas((one, ReplicaSpec(name="b", url="http://h:2")), "--replica")
    with pytest.raises(UsageError, match="--replica, 'a' and 'b', have one address; leave one out"):
        check_replicas((one, ReplicaSpec(name="b", url="http://h:1")), "--replica")
    with pytest.raises(UsageError, match="two replicas from --replica are called 'a'"):
        check_replicas((one, ReplicaSpec(name="a", url="http://h:2")), "--replica")
