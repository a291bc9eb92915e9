"""The page on routing and its example, against the code."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path, PurePath
from random import Random
from typing import Any

import click
import pytest
from prometheus_client.parser import text_string_to_metric_families

from stemcache.cli.route import route
from stemcache.clock import ManualClock
from stemcache.gateway.configuration import read_configuration
from stemcache.gateway.deployment import Configuration, DnsSource, KubernetesSource
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.router import Router
from stemcache.gateway.settings import GatewaySettings
from stemcache.policy.route import NAMES
from stemcache.policy.route.contract import Reason
from stemcache.server.gateway.counters import Counters
from stemcache.server.gateway.metrics import Metrics
from stemcache.server.gateway.pages import _OURS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "route.md").read_text(encoding="utf-8")
OWN = PAGE.partition("<!-- generated")[0]
EXAMPLE = (ROOT / "examples" / "route.toml").read_text(encoding="utf-8")


def rows(head: str) -> list[list[str]]:
    """Cells of the table with this head."""
    _, found, rest = OWN.partition(head)
    assert found, f"there is a table with the head {head}"
    table = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def read(text: str, **environ: str) -> Configuration:
    """The configuration of a file."""
    return read_configuration(
        text,
        "route.toml",
        environ=environ,
        read_file=lambda _path: "a-key",
        policies=NAMES,
    )


def test_every_policy_is_in_the_table() -> None:
    """And no other."""
    told = [name for row in rows("| `--policy` | |") for name in re.findall(r"`([\w-]+)`", row[0])]
    assert sorted(told) == sorted(NAMES)


def test_every_reason_is_in_the_table() -> None:
    """And no other."""
    told = [name for row in rows("| `reason` | |") for name in re.findall(r"`([\w-]+)`", row[0])]
    assert sorted(told) == sorted(str(reason) for reason in Reason)


def test_every_metric_is_in_the_table_with_its_labels() -> None:
    """And no other. Those of the whole gateway are added where it is put together."""
    specs = (ReplicaSpec(name="a", url="http://a:1"),)
    router = Router(GatewaySettings(replicas=specs), rng=Random(1))
    router.configure(router.settings, specs)
    gauges: Any = {
        name: ("x.", lambda: 0.0)
        for name in (
            "client_connections",
            "replica_connections",
            "buffered_bytes",
            "redis_connected",
        )
    }
    metrics = Metrics(router, Counters(), clock=ManualClock(), gauges=gauges)
    names = {family.name for family in text_string_to_metric_families(metrics.page().decode())}
    told = {
        re.sub(r"_total$", "", row[0].strip("`")): row[1] for row in rows("| name | labels | |")
    }
    assert set(told) == names


def test_the_gauges_of_the_whole_gateway_are_in_the_table() -> None:
    """By the names that they are given."""
    text = (ROOT / "src/stemcache/server/gateway/assembly.py").read_text(encoding="utf-8")
    names = re.findall(r'^            "(\w+)": \(\n', text, re.MULTILINE)
    assert len(names) == 4
    for name in names:
        assert f"`stemcache_route_{name}`" in OWN


def test_every_page_is_in_the_table() -> None:
    """And no other."""
    told = {
        path.partition("?")[0]
        for row in rows("| page | who may | |")
        for path in re.findall(r"(?:GET |POST |`)(/[\w/?=&]+)", row[0])
    }
    assert told == {*_OURS, "/v1/models/NAME"}


def test_every_flag_that_is_used_exists() -> None:
    """In commands and in the text."""
    assert isinstance(route, click.Group)
    known = {flag for parameter in route.params for flag in parameter.opts}
    explain = route.commands["explain"]
    known |= {flag for parameter in explain.params for flag in parameter.opts}
    others = {
        "--kv-events-config",
        "--enable-prompt-tokens-details",
        "--enable-cache-report",
        "--replicas",
        "--page-size",
        "--routing",
    }
    for text in (OWN, EXAMPLE):
        used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
        assert used <= known | others, used - known - others


def test_the_files_on_the_page_can_be_read() -> None:
    """As they stand."""
    blocks = re.findall(r"```toml\n(.*?)```", OWN, re.DOTALL)
    assert blocks
    for block in blocks:
        configuration = read(block, ACME_KEY="k")
        assert len(configuration.settings.replicas) == 2


def test_the_example_says_what_is_so_anyway() -> None:
    """All values in it that are not examples are the defaults."""
    found = read(EXAMPLE)
    assert found.sources == (
        DnsSource(host="vllm.default.svc.cluster.local", port=8000),
        KubernetesSource(
            service="vllm", namespace="prod", port="http", api="http://127.0.0.1:8001"
        ),
    )
    (replica,) = found.settings.replicas
    assert replica == ReplicaSpec(name="a", url="http://10.0.0.1:8000", engine=Engine.VLLM)
    settings = replace(found.settings, replicas=())
    assert replace(found, settings=settings, sources=()) == Configuration()


def test_the_example_has_every_key() -> None:
    """Those that are commented out among them; and those are right too."""
    lines = [re.sub(r"^# (\w+ = |\[\[)", r"\1", line) for line in EXAMPLE.splitlines()]
    environ = {"ACME_KEY": "k", "ADMIN_KEY": "k", "REPLICA_KEY": "k", "SALT_SECRET": "k"}
    found = read("\n".join(lines), **environ)
    assert found.settings.api_keys[0].tenant == "acme"
    tables = tomllib.loads("\n".join(lines))
    for name, keys in KEYS.items():
        table = tables if not name else tables[name]
        got = table[0] if isinstance(table, list) else table
        assert {re.sub(r"_env$", "", key) for key in got} >= keys, name
    for name in ("events_port", "replay_port", "tls", "path", "redis_env", "keys"):
        assert name in EXAMPLE


def _asked(text: str) -> set[str]:
    """All keys that a refusal of an unknown one names."""
    with pytest.raises(Exception, match="unknown key 'zzzz'") as raised:
        read(text)
    return {
        key
        for key in re.findall(r"\w+", str(raised.value).rpartition("(")[2])
        if not key.endswith(("_env", "_file"))
    }


KEYS = {
    name: _asked(text)
    for name, text in (
        ("", "zzzz = 1"),
        ("replica", '[[replica]]\nurl = "http://h"\nzzzz = 1'),
        ("listen", "[listen]\nzzzz = 1"),
        ("limits", "[limits]\nzzzz = 1"),
        ("retries", "[retries]\nzzzz = 1"),
        ("health", "[health]\nzzzz = 1"),
        ("local", "[local]\nzzzz = 1"),
    )
}


def test_relative_links_lead_somewhere() -> None:
    """From the page's own directory."""
    for link in re.findall(r"\]\(([^)#:]+)\)", OWN):
        assert (ROOT / PurePath("docs") / link).exists(), link
