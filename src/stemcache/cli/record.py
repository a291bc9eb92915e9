"""`stemcache record`: a relay in front of a provider that writes down what is sent."""

import asyncio
import functools
import math
import sys
import time
from pathlib import Path

import click
import uvloop

from stemcache.cli.sizes import SIZE, in_words
from stemcache.clock import MonotonicClock
from stemcache.errors import UsageError
from stemcache.record.proxy.relay import Means
from stemcache.record.proxy.run import bind, run_proxy, tls_context, url_of
from stemcache.record.proxy.target import Routes, parse_route
from stemcache.record.record import Keep
from stemcache.record.recorder import Recorder, Tally
from stemcache.wire.origin import parse_origin

__all__ = ["record"]

_LOOPBACK = ("localhost", "::1")
_SWITCH_S = 5e-4


@click.command()
@click.option(
    "--target",
    metavar="URL",
    help="The provider, such as https://api.anthropic.com; a path is put before each request's.",
)
@click.option(
    "--route",
    "routes",
    multiple=True,
    metavar="/PREFIX=URL",
    help="Another provider for paths that begin with /PREFIX. May be given several times.",
)
@click.option(
    "-o",
    "--output",
    default="calls.jsonl",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="File to append to, one call a line. Prompts are in it: mode 600.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8021,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes any free one.",
)
@click.option("--no-bodies", is_flag=True, help="Record no prompts, only times, headers and usage.")
@click.option("--answers", is_flag=True, help="Record the content of answers too.")
@click.option(
    "--max-bytes",
    default="10GB",
    show_default=True,
    type=SIZE,
    help="Size of the file at which recording stops. Calls go on.",
)
@click.option(
    "--max-body",
    default="64MiB",
    show_default=True,
    type=SIZE,
    help="Largest body that is kept. Larger ones are relayed, and recorded as truncated.",
)
@click.option(
    "--ca-file",
    type=click.Path(dir_okay=False),
    help="Certificates to trust beside the system's, PEM.",
)
@click.option(
    "--grace",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds that calls may take to finish after SIGTERM or ^C.",
)
def record(
    *,
    target: str | None,
    routes: tuple[str, ...],
    output: str,
    host: str,
    port: int,
    no_bodies: bool,
    answers: bool,
    max_bytes: int,
    max_body: int,
    ca_file: str | None,
    grace: float,
) -> None:
    """Relay calls to a provider and write down what is sent, for `stemcache lint`.

    \b
    Examples:
      stemcache record --target https://api.anthropic.com
      stemcache record --target https://api.openai.com -o openai.jsonl
      stemcache record --route /anthropic=https://api.anthropic.com \\
                       --route /openai=https://api.openai.com
      ANTHROPIC_BASE_URL=http://127.0.0.1:8021 claude     # a client of it

    Bytes go through as they come. Credentials are not recorded; prompts are, for that is what is
    looked at. A full disk or any other trouble with the file fails no call: what was not recorded
    is counted and said on stderr. ^C lets running calls finish; a second one does not.
    """
    if not math.isfinite(grace):
        raise UsageError(f"--grace is {grace}; use a number of seconds")
    if target is None and not routes:
        raise UsageError(
            "no --target and no --route; give the provider's URL, such as "
            "--target https://api.anthropic.com"
        )
    ways = Routes(
        None if target is None else parse_origin(target, "--target"),
        tuple(parse_route(route) for route in routes),
    )
    tls = tls_context(ca_file)
    sock = bind(host, port)
    say = functools.partial(click.echo, err=True)
    recorder = Recorder(
        Path(output),
        keep=Keep(bodies=not no_bodies, answers=answers),
        most_bytes=max_bytes,
        most_body_bytes=max_body,
        tell=lambda message: say(f"stemcache: {message}"),
    )
    # The thread that writes gives way to the relay sooner than Python's 5 ms.
    sys.setswitchinterval(_SWITCH_S)
    url = url_of(sock)
    if host not in _LOOPBACK and not host.startswith("127."):
        say(f"stemcache: listening on {host}: whoever reaches it can relay through it")
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            cut = runner.run(
                run_proxy(
                    sock,
                    ways,
                    Means(recorder=recorder, clock=MonotonicClock(), wall=time.time, tls=tls),
                    grace_s=grace,
                    on_ready=lambda: _show_ready(url, ways, output),
                )
            )
    finally:
        tally = recorder.close()
    if cut:
        say(f"stemcache: {'1 call was' if cut == 1 else f'{cut} calls were'} cut off")
    say(_summary(tally, output))
    sys.exit(0)


def _show_ready(url: str, ways: Routes, output: str) -> None:
    """What clients have to be told."""
    lines = []
    if ways.default is not None:
        lines.append(f"relaying {url} to {ways.default.url}")
    lines += [f"relaying {url}{prefix} to {origin.url}" for prefix, origin in ways.prefixes]
    lines += [f"recording into {output}", "", "Point clients here, for example:"]
    bases = [""] if ways.default is not None else [prefix for prefix, _ in ways.prefixes]
    for base in bases:
        lines.append(f"  export ANTHROPIC_BASE_URL={url}{base}")
        lines.append(f"  export OPENAI_BASE_URL={url}{base}/v1")
    lines += ["", f"Then: stemcache lint {output}"]
    click.echo("\n".join(lines))


def _summary(tally: Tally, output: str) -> str:
    calls = "1 call" if tally.recorded == 1 else f"{tally.recorded:,} calls"
    text = f"recorded {calls}, {in_words(tally.recorded_bytes)}, into {output}"
    if tally.with_usage and tally.prompt_tokens:
        calls = "1 call" if tally.with_usage == 1 else f"{tally.with_usage:,} calls"
        share = tally.cached_tokens / tally.prompt_tokens
        text += (
            f"; {tally.cached_tokens:,} of {tally.prompt_tokens:,} prompt tokens came from the "
            f"cache ({share:.1%}, {calls} with usage)"
        )
    if tally.lost:
        text += f"; {tally.lost:,} not recorded"
    return text
