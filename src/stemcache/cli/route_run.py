"""From the flags of `stemcache route` to a gateway that runs."""

import asyncio
import os
import signal
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePath
from random import Random

import uvloop
from rich.console import Console
from structlog.typing import FilteringBoundLogger

from stemcache.cli.route_flags import Flags, lay_over
from stemcache.cli.route_screen import show_gateway
from stemcache.clock import MonotonicClock
from stemcache.gateway.configuration import read_configuration
from stemcache.gateway.deployment import Configuration
from stemcache.gateway.secrets import read_admin_keys, read_key_lines
from stemcache.policy.route import NAMES
from stemcache.server.gateway.assembly import check_events
from stemcache.server.gateway.listening import bind
from stemcache.server.gateway.run import ConfigFile, Ready, run_gateway
from stemcache.server.gateway.text_file import read_text
from stemcache.server.gateway.tls import tls_to_clients, tls_to_replicas
from stemcache.text.memo import PromptTokenizer

__all__ = ["run"]

_TURN_S = 0.001
"""For which a thread that reads a long prompt keeps the event loop waiting at a time."""


def run(flags: Flags, path: str | None, logger: FilteringBoundLogger, *, with_screen: bool) -> int:
    """Run a gateway until it is told to stop; `path` is the file of --config.

    Returns how many answers were cut off in the end. Without a screen, a line of the log says where
    it listens. Raises UsageError for what cannot be used.
    """
    text = "" if path is None else read_text(Path(path))

    def load(text: str) -> Configuration:
        keyed = _with_keys(flags)
        if path is None:
            return lay_over(Configuration(), keyed)
        written = read_configuration(
            text, path, environ=os.environ, read_file=_read_secret, policies=NAMES
        )
        return lay_over(written, keyed)

    configuration = load(text)
    files = tuple(Path(one) for one in (flags.api_key_file, flags.admin_key_file) if one)
    file = ConfigFile(None if path is None else Path(path), text, load, files)
    settings, listen = configuration.settings, configuration.listen
    check_events(settings, configuration.sources)
    tokenizing = None if settings.tokenizer is None else PromptTokenizer(Path(settings.tokenizer))
    if tokenizing is not None:
        sys.setswitchinterval(_TURN_S)
    tls = tls_to_replicas(configuration.ca_file)
    tls_to_clients(listen)  # to complain before anything is started
    if settings.api_keys and settings.salt_secret is None:
        logger.warning(
            "there are API keys and no salt_secret: who reaches the replicas directly can compute "
            "tenants' salts from their names; set salt_secret in the file of --config"
        )
    screen = Console(stderr=True)

    def tell(ready: Ready) -> None:
        if with_screen:
            show_gateway(screen, ready)
        else:
            logger.info("listening", address=ready.url)

    with (
        closing(bind(listen.host, listen.port)) as sock,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):

        async def until_told() -> int:
            cut_off = await run_gateway(
                sock,
                configuration,
                file=file,
                tls=tls,
                tokenizing=tokenizing,
                clock=MonotonicClock(),
                rng=Random(),  # noqa: S311  # it spreads load, and guards nothing
                logger=logger,
                on_ready=tell,
            )
            # What is left is to exit well: a signal more would make it look like a crash.
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().remove_signal_handler(number)
                signal.signal(number, signal.SIG_IGN)
            return cut_off

        return runner.run(until_told())


def _with_keys(flags: Flags) -> Flags:
    """With what their files of keys hold now. Raises UsageError."""
    api, admin = flags.api_key_file, flags.admin_key_file
    if api is not None:
        keys = read_key_lines(read_text(Path(api), "--api-key-file"), api)
        flags = replace(flags, api_keys=keys)
    if admin is not None:
        admins = read_admin_keys(read_text(Path(admin), "--admin-key-file"), admin)
        flags = replace(flags, admin_keys=admins)
    return flags


def _read_secret(path: PurePath) -> str:
    return Path(path).read_text(encoding="utf-8-sig")
