"""`stemcache route explain`: where a running gateway would send a body, and why."""

import asyncio
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote

import click
import msgspec
from rich.console import Console

from stemcache.cli.route_explained import line_of, show
from stemcache.errors import UsageError
from stemcache.gateway.prompt_members import members
from stemcache.gateway.prompt_path import api_of_path
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
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[ -~\x80-\xff\t]*")
_OWN = frozenset(
    {
        "api-key",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "expect",
        "forwarded",
        "host",
        "origin",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
        "x-api-key",
        "x-real-ip",
    }
)
"""What the question itself is sent with, or would be refused for. Nothing is chosen by them."""
_FORWARDED = "x-forwarded-"
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
    "--header",
    "headers",
    metavar="NAME:VALUE",
    multiple=True,
    help="What the client would send: where sessions are told by a header, it decides. May be "
    "given several times.",
)
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
    headers: tuple[str, ...],
    admin_key: str | None,
    ca_file: str | None,
    output_format: OutputFormat,
) -> None:
    """Say where a running gateway would send BODY, a file (- for stdin), without sending it.

    \b
    Examples:
      stemcache route explain body.json
      stemcache route explain body.json --gateway http://10.0.0.9:8080 --output-format json
      stemcache route explain body.json --header 'x-session-id: 7f3a'
      jq .request calls.jsonl | head -1 | stemcache route explain -

    Exit code 1 where no replica can take it, 2 where it cannot be explained.
    """
    data = _read(body)
    origin = parse_origin(gateway, "--gateway")
    # As clients have it: their base URL ends so.
    origin = replace(origin, path=origin.path.removesuffix("/v1"))
    sent = _headers(headers)
    path = _checked(path) if path is not None else _path_of(data)
    if api_of_path(path) is not None and members(data) is None:
        raise UsageError(
            f"BODY {body} is no JSON object, as {path} takes one; give the JSON that a client "
            "would post"
        )
    query = f"?path={quote(path, safe='')}"
    if tenant is not None:
        query += f"&tenant={quote(tenant, safe='')}"
    sent.append(("content-type", "application/json"))
    if admin_key is not None:
        if not admin_key or not admin_key.isascii() or not admin_key.isprintable():
            raise UsageError("--admin-key is empty or has characters that no key has; set it anew")
        sent.append(("authorization", f"Bearer {admin_key}"))
    tls = tls_to_replicas(ca_file)
    try:
        reply = asyncio.run(
            ask(
                origin,
                "/v1/route/explain" + query,
                method="POST",
                headers=sent,
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
            click.echo(line_of(answer))
        case "full":
            show(Console(), answer)
    if answer.get("decision") is None:
        sys.exit(1)


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


def _headers(given: Iterable[str]) -> list[tuple[str, str]]:
    found = []
    for header in given:
        name, colon, value = header.partition(":")
        shown = ascii(name[:80])[1:-1]  # the value may be a secret
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise UsageError(
                f"--header {shown} is no header; write it as NAME:VALUE, such as 'x-session-id: 7'"
            )
        if name.lower() in _OWN or name.lower().startswith(_FORWARDED):
            raise UsageError(
                f"--header {shown} is none that a replica is chosen by, and the question to the "
                "gateway has its own; leave it out (--tenant says whose request it is)"
            )
        found.append((name, value.strip()))
    return found


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
