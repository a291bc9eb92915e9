"""`stemcache route`: a gateway that sends each request to where its prefix is."""

import math
import sys
from collections.abc import Mapping
from typing import Any, get_args

import click
from click.core import ParameterSource

from stemcache.cli.route_explain import explain
from stemcache.cli.route_flags import Flags
from stemcache.cli.sizes import SIZE
from stemcache.errors import UsageError
from stemcache.gateway.settings import Agree
from stemcache.policy.route import NAMES
from stemcache.server.logs import LogFormat, LogLevel, for_people, make_logger

__all__ = ["route"]

_FILE = click.Path(dir_okay=False)


class _Route(click.Group):
    """Says what to do with a URL that stands where a command could."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name."""
        if args and ":" in args[0]:
            raise UsageError("a replica's URL goes behind --replica: --replica http://host:port")
        return super().resolve_command(ctx, args)


@click.group(cls=_Route, invoke_without_command=True)
@click.option(
    "--replica",
    "replicas",
    multiple=True,
    metavar="[NAME=]URL",
    help="A server of vLLM, SGLang, llama.cpp or stemcache. May be given several times.",
)
@click.option("--config", type=_FILE, help="TOML file; read again when it changes. Flags win.")
@click.option(
    "--local",
    type=click.IntRange(0, 64),
    metavar="N",
    help="Start so many replicas of `stemcache serve` too.",
)
@click.option("--model", help="What --local replicas serve.  [default: toy, which has no weights]")
@click.option(
    "--dns", multiple=True, metavar="HOST:PORT", help="Every address of HOST is a replica."
)
@click.option(
    "--kubernetes",
    multiple=True,
    metavar="[NS/]SERVICE[:PORT]",
    help="Every ready endpoint of a Kubernetes service is a replica.",
)
@click.option(
    "--kubernetes-api", metavar="URL", help="The API server.  [default: as a pod finds it]"
)
@click.option(
    "--policy",
    type=click.Choice(NAMES),
    help="How to choose.  [default: auto, the least predicted time to first token]",
)
@click.option(
    "--tokenizer",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Directory of the model's tokenizer.json: keys exact to the token. Needed for --events.",
)
@click.option(
    "--events",
    multiple=True,
    metavar="PORT|NAME=ENDPOINT",
    help="Where replicas publish KV events: a port on each, or one replica's tcp://host:port.",
)
@click.option(
    "--events-replay",
    multiple=True,
    metavar="PORT|NAME=ENDPOINT",
    help="Where they send past events again.",
)
@click.option(
    "--agree",
    type=click.Choice([str(way) for way in Agree]),
    help="How several gateways come to the same choice.  [default: alone]",
)
@click.option(
    "--gateways",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="How many gateways share the replicas.  [default: 1]",
)
@click.option(
    "--redis",
    envvar="STEMCACHE_REDIS",
    show_envvar=True,
    metavar="URL",
    help="Through which gateways tell each other, such as redis://host:6379/0.",
)
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes any free one.  [default: 8080]",
)
@click.option("--tls-cert", type=_FILE, help="Certificates to show to clients, PEM.")
@click.option("--tls-key", type=_FILE, help="The key of --tls-cert, PEM, without a passphrase.")
@click.option("--ca-file", type=_FILE, help="Certificates to trust of replicas, PEM.")
@click.option(
    "--api-key-file",
    type=_FILE,
    help="Clients' keys, a line each: KEY TENANT [may-salt]. Each tenant has a cache of its own. "
    "Read again when it changes.",
)
@click.option(
    "--admin-key-file",
    type=_FILE,
    help="Keys for /v1/fleet, drain, explain and /metrics. Read again when it changes.",
)
@click.option("--open-metrics", is_flag=True, default=None, help="/metrics needs no key.")
@click.option(
    "--kv-tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Tokens that a replica's cache holds, of those that do not say.",
)
@click.option(
    "--mirror-memory", type=SIZE, help="For what replicas are believed to hold.  [default: 256MiB]"
)
@click.option("--max-body", type=SIZE, help="Largest request body.  [default: 32MiB]")
@click.option(
    "--per-replica",
    type=click.IntRange(0),
    metavar="N",
    help="Most requests in flight at one replica.  [default: no bound]",
)
@click.option(
    "--grace",
    type=click.FloatRange(0, 86_400),
    help="Seconds that running answers may take to finish after SIGTERM.  [default: 30]",
)
@click.option(
    "--log-format",
    default="auto",
    show_default=True,
    type=click.Choice(get_args(LogFormat)),
    help="Logs for humans or as JSON lines alone; auto: as JSON where stderr is no terminal.",
)
@click.option(
    "--log-level", default="info", show_default=True, type=click.Choice(get_args(LogLevel))
)
@click.pass_context
def route(
    ctx: click.Context, /, *, log_format: LogFormat, log_level: LogLevel, **given: Any
) -> None:
    """Send each request to the replica that has its prompt cached, and say how often it had.

    \b
    Examples:
      stemcache route --replica http://10.0.0.1:8000 --replica http://10.0.0.2:8000
      stemcache route --local 3                          # three toy replicas, to try it out
      stemcache route --config route.toml --port 9000
      stemcache route --replica http://a:8000 --replica http://b:8000 \\
                      --tokenizer ./Qwen3-8B --events 5557
      stemcache route explain body.json                  # where would this go, and why?

    A streaming reverse proxy for OpenAI's and Anthropic's endpoints. Every answer of a replica says
    in X-Stemcache-Decision where it came from and why. Pages of its own: /health, /v1/models,
    /metrics, /v1/fleet. Logs go to stderr. SIGTERM and ^C let running answers finish; a second one
    does not. SIGHUP reads the files again. Exit code 1 where answers were cut off in the end.
    """
    if ctx.invoked_subcommand is not None:
        _check_nothing_given(ctx, ctx.invoked_subcommand)
        return
    if given["grace"] is not None and not math.isfinite(given["grace"]):
        raise UsageError(f"--grace is {given['grace']}; use a number of seconds")
    from stemcache.cli.route_run import run  # noqa: PLC0415  # what `explain` does not wait for

    logger = make_logger(log_format, log_level)
    cut_off = run(_flags(given), given["config"], logger, with_screen=for_people(log_format))
    sys.exit(1 if cut_off else 0)


route.add_command(explain)


def _check_nothing_given(ctx: click.Context, command: str) -> None:
    """A flag before a command would be dropped."""
    for parameter in ctx.command.params:
        assert parameter.name is not None, "options have names"
        if ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            raise UsageError(
                f"{parameter.opts[0]} is of the gateway that runs, and says nothing to {command}; "
                f"leave it out, or see stemcache route {command} --help"
            )


def _flags(given: Mapping[str, Any]) -> Flags:
    def put(*names: tuple[str, str]) -> dict[str, Any]:
        return {field: given[name] for name, field in names if given[name] is not None}

    return Flags(
        replicas=given["replicas"],
        dns=given["dns"],
        kubernetes=given["kubernetes"],
        kubernetes_api=given["kubernetes_api"],
        local=given["local"],
        local_model=given["model"],
        events=given["events"],
        replay=given["events_replay"],
        settings=put(
            ("policy", "policy"),
            ("tokenizer", "tokenizer"),
            ("gateways", "gateways"),
            ("kv_tokens", "default_kv_tokens"),
            ("mirror_memory", "mirror_bytes"),
        ),
        limits=put(("max_body", "body_bytes"), ("per_replica", "per_replica")),
        listen=put(
            ("host", "host"),
            ("port", "port"),
            ("tls_cert", "tls_cert"),
            ("tls_key", "tls_key"),
            ("grace", "grace_s"),
        ),
        agree=None if given["agree"] is None else Agree(given["agree"]),
        redis=given["redis"],
        ca_file=given["ca_file"],
        api_key_file=given["api_key_file"],
        admin_key_file=given["admin_key_file"],
        open_metrics=given["open_metrics"],
    )
