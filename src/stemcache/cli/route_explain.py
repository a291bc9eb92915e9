"""`stemcache route explain`: where a running gateway would send a body, and why."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stemcache.errors import UsageError
from stemcache.server.gateway.ask import AskError, ask
from stemcache.server.gateway.paths import is_relayed
from stemcache.server.gateway.tls import tls_to_replicas
from stemcache.wire.api import Api, api_of
from stemcache.wire.origin import parse_origin

__all__ = ["explain"]

OutputFormat = Literal["full", "concise", "json"]

_OK = 200
_UNAUTHORIZED = 401
_NOT_FOUND = 404
_TIMEOUT_S = 30.0
_MOST_BYTES = 64 * 2**20
_PATHS = {
    Api.CHAT: "/v1/chat/completions",
    Api.COMPLETIONS: "/v1/completions",
    Api.RESPONSES: "/v1/responses",
    Api.MESSAGES: "/v1/messages",
}


@click.command()
@click.argument("body", type=click.Path(allow_dash=True))
@click.option(
    "--gateway",
    default="http://127.0.0.1:8080",
    show_default=True,
    help="A gateway that runs; may end in /v1.",
)
@click.option("--path", help="What the body would be posted to.  [default: told by the body]")
@click.option("--tenant", help="Whose request it would be, where the gateway knows tenants.")
@click.option(
    "--admin-key",
    envvar="STEMCACHE_ADMIN_KEY",
    show_envvar=True,
    help="For a gateway that asks for one. The variable keeps it out of process lists.",
)
@click.option("--ca-file", type=click.Path(dir_okay=False), help="Certificates to trust, PEM.")
@click.option(
    "--output-format", default="full", show_default=True, type=click.Choice(get_args(OutputFormat))
)
def explain(
    *,
    body: str,
    gateway: str,
    path: str | None,
    tenant: str | None,
    admin_key: str | None,
    ca_file: str | None,
    output_format: OutputFormat,
) -> None:
    """Say where a running gateway would send BODY, a file (- for stdin), without sending it.

    \b
    Examples:
      stemcache route explain body.json
      stemcache route explain body.json --gateway http://10.0.0.9:8080 --output-format json
      jq .request calls.jsonl | head -1 | stemcache route explain -
    """
    data = _read(body)
    origin = parse_origin(gateway, "--gateway")
    # As clients have it: their base URL ends so.
    origin = replace(origin, path=origin.path.removesuffix("/v1"))
    query = f"?path={quote(_checked(path) if path is not None else _path_of(data), safe='')}"
    if tenant is not None:
        query += f"&tenant={quote(tenant, safe='')}"
    headers = [("content-type", "application/json")]
    if admin_key is not None:
        if not admin_key or not admin_key.isascii() or not admin_key.isprintable():
            raise UsageError("--admin-key is empty or has characters that no key has; set it anew")
        headers.append(("authorization", f"Bearer {admin_key}"))
    tls = tls_to_replicas(ca_file)
    try:
        reply = asyncio.run(
            ask(
                origin,
                "/v1/route/explain" + query,
                method="POST",
                headers=headers,
                body=data,
                tls=tls,
                timeout_s=_TIMEOUT_S,
            )
        )
    except AskError as error:
        raise UsageError(
            f"no gateway answers at {origin.url}: {error}; start one with stemcache route, or "
            "give its address with --gateway"
        ) from None
    answer = _decoded(reply.body)
    if not _is_gateways(reply.status, answer):
        raise UsageError(
            f"this is no stemcache gateway: what answers at {origin.url} has no such page "
            f"({reply.status}); give the address of stemcache route with --gateway"
        )
    if reply.status != _OK:
        told = _message(answer)
        if reply.status == _UNAUTHORIZED:
            told += "; here, give it with --admin-key or in STEMCACHE_ADMIN_KEY"
        raise UsageError(f"the gateway at {origin.url} refuses ({reply.status}): {told}")
    match output_format:
        case "json":
            click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
        case "concise":
            click.echo(_line(answer))
        case "full":
            _show(Console(), answer)


def _read(body: str) -> bytes:
    try:
        if body == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(body).open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read BODY {body}: {reason}; give a file of JSON") from None
    if len(data) > _MOST_BYTES:
        raise UsageError(
            f"BODY {body} has more than {_MOST_BYTES:,} bytes; give one request's body"
        )
    if not data.strip():
        raise UsageError(f"BODY {body} is empty; give the JSON that a client would post")
    return data


def _path_of(data: bytes) -> str:
    value = _decoded(data)
    api = api_of(value) if value else None
    return _PATHS.get(api, _PATHS[Api.CHAT]) if api is not None else _PATHS[Api.CHAT]


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _checked(path: str) -> str:
    if not is_relayed(path.encode("utf-8", "replace"), tenants=False):
        raise UsageError(
            f"--path {ascii(path[:80])[1:-1]} goes to no replica; use one of the APIs' paths, such "
            f"as {_PATHS[Api.CHAT]}"
        )
    return path


def _is_gateways(status: int, answer: dict[str, Any]) -> bool:
    """Whether a gateway answers so.

    Other servers' errors have messages and codes too, and 404 for a page that they do not have.
    """
    if status == _OK:
        return answer.keys() >= {"decision", "policy", "seats"}
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return isinstance(code, str) and (status != _NOT_FOUND or code == "no_such_tenant")


def _message(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return message[:500] if isinstance(message, str) else "it does not say why"


def _tenant(answer: dict[str, Any]) -> str | None:
    """Whose request was explained; None where nobody is told apart."""
    if not answer.get("tenants"):
        return None
    tenant = answer.get("tenant")
    return tenant if isinstance(tenant, str) else "none"


def _line(answer: dict[str, Any]) -> str:
    decision = answer.get("decision")
    tenant = _tenant(answer)
    whose = "" if tenant is None else f" tenant={tenant}"
    if not isinstance(decision, dict):
        return f"no replica can take it{whose}"
    cached = decision.get("predicted_cached_tokens")
    return (
        f"{decision.get('replica')} {decision.get('reason')} "
        f"cached={'unknown' if cached is None else cached} "
        f"prompt={decision.get('prompt_tokens')} runner-up={decision.get('runner_up')}{whose}"
    )


def _show(console: Console, answer: dict[str, Any]) -> None:
    decision = answer.get("decision")
    if isinstance(decision, dict):
        console.print(Text(f"{decision.get('replica')}: {decision.get('reason')}", style="bold"))
        rows = _rows(decision)
    else:
        console.print(Text("no replica can take it", style="bold"))
        rows = []
    rows.append(("policy", str(answer.get("policy"))))
    if (tenant := _tenant(answer)) is not None:
        hint = "; no tenant's request goes by this: say whose it is with --tenant"
        rows.append(("tenant", tenant if answer.get("tenant") is not None else tenant + hint))
    if answer.get("unread"):
        rows.append(("not read", str(answer["unread"])))
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    console.print(table)
    console.print()
    seats = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("replica", "cached", "slower tier", "in flight", "waiting tokens", "busy"):
        seats.add_column(head, justify="left" if head == "replica" else "right")
    for seat in answer.get("seats") or ():
        seats.add_row(
            Text(str(seat.get("replica"))),
            _number(seat.get("cached_tokens")),
            _number(seat.get("slow_tier_tokens")),
            _number(seat.get("in_flight")),
            _number(seat.get("waiting_tokens")),
            f"{seat.get('utilization', 0):.0%}",
        )
    console.print(seats)
    for name, why in (answer.get("left_out") or {}).items():
        console.print(Text(f"{name}: {why}", style="dim"))


def _rows(decision: dict[str, Any]) -> list[tuple[str, str]]:
    about = "" if decision.get("tokens_exact") else "about "
    cached = decision.get("predicted_cached_tokens")
    following = "none"
    if decision.get("runner_up") is not None:
        following = f"{decision['runner_up']}, {_number(decision.get('runner_up_ttft_ms'))} ms"
    return [
        ("prompt", f"{about}{_number(decision.get('prompt_tokens'))} tokens"),
        (
            "believed cached",
            "not looked for"
            if cached is None
            else f"{_number(cached)} tokens, from {decision.get('source')}",
        ),
        ("predicted TTFT", f"{_number(decision.get('predicted_ttft_ms'))} ms"),
        ("next best", following),
    ]


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else "unknown"
