"""The flags of `replay` that say whom to ask; they arrive as one value."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import click

from stemcache.cli.durations import SOME_TIME
from stemcache.replay.target import APIS, Api

__all__ = ["Asking", "asking_options", "with_options"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Whom to ask, and with what in every request."""

    url: str
    api: Api | None
    model: str | None
    key: str | None
    headers: tuple[str, ...]
    extra_body: str | None
    timeout_s: float
    connect_timeout_s: float
    probe: bool
    metrics: bool
    metrics_url: str | None


_ASKING = (
    click.option(
        "--target",
        "url",
        required=True,
        metavar="URL",
        help="Server, or endpoint: http://host:8000, https://host/v1/chat/completions.",
    ),
    click.option(
        "--api",
        type=click.Choice(APIS),
        help="Kind of endpoint.  [default: by the URL's path, else openai-completions]",
    ),
    click.option("--model", help="What to name in requests.  [default: the one the target lists]"),
    click.option(
        "--api-key",
        "key",
        envvar="STEMCACHE_API_KEY",
        show_envvar=True,
        help="Key of the target. OPENAI_API_KEY or ANTHROPIC_API_KEY is used where it fits the API "
        "and the connection is encrypted or local.",
    ),
    click.option(
        "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Add a header; repeat."
    ),
    click.option(
        "--extra-body",
        metavar="JSON",
        help="Fields for every body, such as '{\"ignore_eos\": true}'; null takes one away.",
    ),
    click.option(
        "--timeout",
        "timeout_s",
        default="10m",
        show_default=True,
        type=SOME_TIME,
        help="For one answer, from sending to its end.",
    ),
    click.option(
        "--connect-timeout",
        "connect_timeout_s",
        default="10s",
        show_default=True,
        type=SOME_TIME,
        help="For a new connection.",
    ),
    click.option(
        "--probe/--no-probe",
        default=True,
        help="Ask something tiny first, to fail early with one message.  [default: probe]",
    ),
    click.option(
        "--metrics/--no-metrics",
        default=True,
        help="Read the target's own counters before and after.  [default: metrics]",
    ),
    click.option(
        "--metrics-url", metavar="URL", help="Where they are.  [default: /metrics of the target]"
    ),
)


def asking_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the flags of `Asking`; the command gets it as `asking`."""

    @functools.wraps(command)
    def with_asking(
        *args: object,
        url: str,
        api: Api | None,
        model: str | None,
        key: str | None,
        headers: tuple[str, ...],
        extra_body: str | None,
        timeout_s: float,
        connect_timeout_s: float,
        probe: bool,
        metrics: bool,
        metrics_url: str | None,
        **others: object,
    ) -> R:
        asking = Asking(
            url=url,
            api=api,
            model=model,
            key=key,
            headers=headers,
            extra_body=extra_body,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            probe=probe,
            metrics=metrics,
            metrics_url=metrics_url,
        )
        return command(*args, asking=asking, **others)

    return with_options(_ASKING, with_asking)


def with_options(
    options: tuple[Callable[[Callable[..., R]], Callable[..., R]], ...], command: Callable[..., R]
) -> Callable[..., R]:
    """Decorate a command with options, the first one listed first."""
    for option in reversed(options):
        command = option(command)
    return command
