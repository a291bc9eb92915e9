"""`stemcache simulate`: what a cache would do with a trace, next to what is attainable."""

import json
import math
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import click
from rich.console import Console

from stemcache.cli.capacities import CAPACITY
from stemcache.cli.durations import DURATION
from stemcache.cli.lists import CommaList
from stemcache.cli.simulation_table import concise_lines, show_simulation
from stemcache.cli.trace_options import Reading, trace_options
from stemcache.errors import UsageError
from stemcache.lab.answer import as_json
from stemcache.lab.question import POLICIES, Capacity, Question
from stemcache.lab.simulate import simulate as run
from stemcache.trace.multiplex import Mix, multiplex
from stemcache.trace.record import TraceRequest

__all__ = ["simulate"]

OutputFormat = Literal["full", "concise", "json"]


@click.command()
@click.argument("trace", type=click.Path())
@trace_options
@click.option(
    "--capacity",
    "capacities",
    type=CommaList(CAPACITY),
    help="Sizes of the cache, in blocks (5000, 50k) or tokens (4Mtok); inf has no bound.  "
    "[default: seven that show where the curve bends; inf with --ttl]",
)
@click.option(
    "--policy",
    "policies",
    type=CommaList(click.Choice(POLICIES)),
    help="What to evict: " + ", ".join(POLICIES) + ". min is the offline optimum.  "
    "[default: lru,min; lru with --ttl and --second-tier]",
)
@click.option(
    "--ttl",
    "ttls_s",
    type=CommaList(DURATION),
    help="Times to live after the last use: seconds, or 5m, 1h, inf.",
)
@click.option(
    "--no-refresh", is_flag=True, help="A use does not renew: lives count from the computation."
)
@click.option(
    "--keep-alive",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="Send up to N requests after each prompt's last use, only to renew its life.",
)
@click.option(
    "--second-tier", type=CAPACITY, help="A slower tier of this size takes what is evicted."
)
@click.option(
    "--merge-blocks",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Make one block of N of the trace's.",
)
@click.option(
    "--split-blocks",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Make N blocks of one of the trace's.",
)
@click.option(
    "--engine-rules",
    is_flag=True,
    help="As an engine reports: no partial blocks, and a prompt's last token is computed.",
)
@click.option(
    "--warmup",
    "warmup_requests",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="The first N requests fill the cache and are not counted.",
)
@click.option(
    "--multiplex",
    "sessions",
    type=click.IntRange(1),
    metavar="N",
    help="Put N of the sessions that have clocks of their own on one.",
)
@click.option(
    "--within",
    "within_s",
    default="2h",
    show_default=True,
    type=DURATION,
    help="With --multiplex: sessions start within this time.",
)
@click.option(
    "--cut",
    "cut_s",
    default="4h",
    show_default=True,
    type=DURATION,
    help="With --multiplex: what comes later is left out.",
)
@click.option(
    "--seed", default=0, show_default=True, help="With --multiplex: which sessions, and when."
)
@click.option("--isolate-tenants", is_flag=True, help="Tenants do not share, as with salts.")
@click.option(
    "--output-format", default="full", show_default=True, type=click.Choice(get_args(OutputFormat))
)
@click.option("--html", type=click.Path(path_type=Path), help="Write a report with plots, too.")
def simulate(
    *,
    trace: str,
    reading: Reading,
    capacities: tuple[Capacity, ...] | None,
    policies: tuple[str, ...] | None,
    ttls_s: tuple[float, ...] | None,
    no_refresh: bool,
    keep_alive: int,
    second_tier: Capacity | None,
    merge_blocks: int,
    split_blocks: int,
    engine_rules: bool,
    warmup_requests: int,
    sessions: int | None,
    within_s: float,
    cut_s: float,
    seed: int,
    isolate_tenants: bool,
    output_format: OutputFormat,
    html: Path | None,
) -> None:
    """Say what a prefix cache would find in TRACE: ideal, every capacity, policies, optimum.

    \b
    Examples:
      stemcache simulate trace.jsonl.gz
      stemcache simulate trace.jsonl.gz --capacity 1000,50k,4Mtok --policy lru,slru,min
      stemcache simulate sessions.jsonl.gz --ttl 60,5m,1h,inf
      stemcache simulate sessions.jsonl.gz --multiplex 200 --merge-blocks 8 --capacity 4Mtok
      stemcache simulate bodies.jsonl --html report.html

    Requests are played in the order of the file, one after the other, into a cache that starts
    empty. A hit is a block that is found behind an unbroken beginning of the prompt. Whoever
    counts from a warm cache (--warmup), by tokens or by blocks gets other figures from one trace:
    both rates are given.
    """
    if policies is None:
        policies = ("lru",) if ttls_s or second_tier else ("lru", "min")
    if capacities is None and ttls_s:
        capacities = (Capacity(),)
    question = Question(
        capacities=capacities,
        policies=policies,
        ttls_s=tuple(None if math.isinf(ttl) else ttl for ttl in ttls_s) if ttls_s else (None,),
        refresh=not no_refresh,
        keep_alive=keep_alive,
        second_tier=second_tier,
        regroup=merge_blocks,
        split=split_blocks,
        engine_rules=engine_rules,
        warmup_requests=warmup_requests,
        isolate_tenants=isolate_tenants,
    )
    question.check()
    with reading.open(trace) as opened:
        requests: Iterable[TraceRequest] = opened
        if sessions is not None:
            requests = multiplex(opened, Mix(sessions, within_s, cut_s, seed))
        simulation = run(requests, question)
    answer = as_json(simulation, trace=opened.reader.name, unit=opened.reader.unit)
    answer["skipped_lines"] = opened.reader.skipped
    if html is not None:
        _write_report(html, answer)
    match output_format:
        case "json":
            click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        case "concise":
            click.echo("\n".join(concise_lines(answer)))
        case "full":
            show_simulation(Console(), answer)


def _write_report(path: Path, answer: dict[str, Any]) -> None:
    from stemcache.lab.report import render  # noqa: PLC0415  the extra is asked for only here

    page = render(answer, command=shlex.join(["stemcache", *sys.argv[1:]]))
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--html {path} cannot be written: {error.strerror}; give a path that can"
        ) from error
    click.echo(f"wrote {path}", err=True)
