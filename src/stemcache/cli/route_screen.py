"""The start-up screen of `route`: who is there, how it is chosen, and how to ask."""

import json
import shlex
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stemcache.cli.sizes import in_words
from stemcache.gateway.settings import Agree
from stemcache.server.gateway.run import Ready

__all__ = ["show_gateway"]

_MOST_REPLICAS = 16


def show_gateway(console: Console, ready: Ready) -> None:
    """Print it once the gateway answers."""
    configuration = ready.configuration
    settings = configuration.settings
    replicas = ready.fleet["replicas"]
    up = sum(replica["state"] == "up" for replica in replicas)
    console.print(Text("stemcache route", style="bold"))
    table = Table.grid(padding=(0, 2))
    rows = [
        ("policy", settings.policy),
        ("keys", "of token ids" if settings.tokenizer else "of the prompts' bytes"),
        ("mirror", f"{in_words(settings.mirror_bytes)} at most"),
        ("agreement", _agreement(settings.agree, settings.gateways)),
        ("clients", _clients(ready)),
        ("replicas", f"{up} up of {len(replicas)}"),
    ]
    rows += [("", _replica(replica)) for replica in replicas[:_MOST_REPLICAS]]
    if len(replicas) > _MOST_REPLICAS:
        rows.append(("", f"… and {len(replicas) - _MOST_REPLICAS} more; see /v1/fleet"))
    rows.append(("address", ready.url))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    console.print(table)
    console.print()
    console.print(Text(_curl(ready, replicas)), soft_wrap=True)
    console.file.flush()


def _agreement(agree: Agree, gateways: int) -> str:
    match agree:
        case Agree.ALONE:
            return "alone"
        case Agree.HASH:
            return f"by hash, {gateways} gateways"
        case Agree.REDIS:
            return "through Redis"


def _clients(ready: Ready) -> str:
    keys = len(ready.configuration.settings.api_keys)
    if not keys:
        return "all who can reach it"
    tenants = len({one.tenant for one in ready.configuration.settings.api_keys})
    return f"{_counted(keys, 'API key')}, {_counted(tenants, 'tenant')}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _replica(replica: dict[str, Any]) -> str:
    parts = [replica["name"], replica["engine"], replica["state"]]
    if replica["state"] == "down":
        parts.append(replica["detail"])
    elif replica["models"]:
        more = len(replica["models"]) - 1
        parts.append(replica["models"][0] + (f" and {more} more" if more else ""))
    capacity = replica["seats"][0]["mirror"]["capacity_tokens"] if replica["seats"] else None
    if capacity is not None:
        parts.append(f"{capacity:,} KV tokens")
    if len(replica["seats"]) > 1:
        parts.append(f"{len(replica['seats'])} ranks")
    return ", ".join(parts)


def _curl(ready: Ready, replicas: list[dict[str, Any]]) -> str:
    models = [model for replica in replicas for model in replica["models"]]
    messages = [{"role": "user", "content": "Hi"}]
    body = json.dumps(
        {"model": models[0] if models else "MODEL", "messages": messages}, ensure_ascii=False
    )
    keyed = bool(ready.configuration.settings.api_keys)
    key = ' -H "authorization: Bearer $KEY"' if keyed else ""
    return (
        f"curl -i {ready.url}/v1/chat/completions -H 'content-type: application/json'{key} \\\n"
        f"  -d {shlex.quote(body)}"
    )
