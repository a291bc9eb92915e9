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
from stemcache.cli.multiplex_options import multiplex_options
from stemcache.cli.page_file import check_page, write_page
from stemcache.cli.simulate_fleet import run_fleet
from stemcache.cli.simulate_fleet_options import FleetFlags, fleet_options
from stemcache.cli.simulation_table import concise_lines, show_simulation
from stemcache.cli.sizes import SIZE
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
    help="Sizes of the cache, in blocks (5000, 50k), tokens (4Mtok) or memory (80GiB, with "
    "--kv-bytes-per-token); inf has no bound.  "
    "[default: seven that show where the curve bends; inf with --ttl; none with --replicas]",
)
@click.option(
    "--kv-bytes-per-token",
    type=SIZE,
    help="Memory of one token's keys and values, such as 128KiB for Llama 3.1 8B in 16 bits.",
)
@click.option(
    "--policy",
    "policies",
    type=CommaList(click.Choice(POLICIES)),
    help="What to evict: " + ", ".join(POLICIES) + ". min is the offline optimum.  "
    "[default: lru,min; lru with --ttl, --second-tier and --replicas]",
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
@multiplex_options
@fleet_options
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
    kv_bytes_per_token: int | None,
    policies: tuple[str, ...] | None,
    ttls_s: tuple[float, ...] | None,
    no_refresh: bool,
    keep_alive: int,
    second_tier: Capacity | None,
    merge_blocks: int,
    split_blocks: int,
    engine_rules: bool,
    warmup_requests: int,
    mix: Mix | None,
    fleet: FleetFlags | None,
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
      stemcache simulate trace.jsonl.gz --replicas 8 --capacity 3750 --routing auto,round-robin
      stemcache simulate sessions.jsonl.gz --multiplex 200 --replicas 4 --capacity 2Mtok \\
        --knowledge guess --gateways 2 --agree hash --output-format json

    Requests are played in the order of the file, one after the other, into a cache that starts
    empty. A hit is a block that is found behind an unbroken beginning of the prompt. Whoever
    counts from a warm cache (--warmup), by tokens or by blocks gets other figures from one trace:
    both rates are given.

    With --replicas requests come at their times and wait in queues, a router deals them out by
    each --routing, and the answer has times to first token as well.
    """
    setup = None
    if fleet is not None:
        setup = fleet.setup(capacities, policies)
        policies = (setup.eviction,)
        _refuse_beside_fleet(
            {
                "--ttl": bool(ttls_s),
                "--no-refresh": no_refresh,
                "--keep-alive": bool(keep_alive),
                "--second-tier": second_tier is not None,
                "--html": html is not None,
            }
        )
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
        bytes_per_token=kv_bytes_per_token,
        warmup_requests=warmup_requests,
        isolate_tenants=isolate_tenants,
    )
    question.check()
    if setup is not None:
        tenants = run_fleet(trace, reading, mix, setup, question, output_format=output_format)
        _tell_untenanted(isolate_tenants=isolate_tenants, tenants=tenants)
        return
    if html is not None:
        check_page(html, flag="--html", source=trace)
        from stemcache.lab.report import require  # noqa: PLC0415  the extra is asked for only here

        require()
    with reading.open(trace) as opened:
        requests: Iterable[TraceRequest] = opened
        if mix is not None:
            requests = multiplex(opened, mix)
        simulation = run(requests, question)
    answer = as_json(simulation, trace=opened.reader.name, unit=opened.reader.unit)
    answer["skipped_lines"] = opened.reader.skipped
    match output_format:
        case "json":
            click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        case "concise":
            click.echo("\n".join(concise_lines(answer)))
        case "full":
            show_simulation(Console(), answer)
    _tell_untenanted(isolate_tenants=isolate_tenants, tenants=any(simulation.survey.tenants))
    if html is not None:  # last, so that a full disk does not cost the answer
        _draw(html, answer)


def _refuse_beside_fleet(given: dict[str, bool]) -> None:
    for flag in (flag for flag, is_given in given.items() if is_given):
        why = "caches of replicas have one tier and evict when they are full; leave one out"
        if flag == "--html":
            why = "the report draws single caches; use --output-format json, or leave one out"
        raise UsageError(f"{flag} and --replicas do not go together: {why}")


def _tell_untenanted(*, isolate_tenants: bool, tenants: bool) -> None:
    if isolate_tenants and not tenants:
        click.echo("the trace names no tenant, so --isolate-tenants changed nothing", err=True)


def _draw(path: Path, answer: dict[str, Any]) -> None:
    from stemcache.lab.report import render  # noqa: PLC0415  the extra is asked for only here

    page = render(answer, command=shlex.join(["stemcache", *sys.argv[1:]]))
    write_page(path, page, flag="--html")
    click.echo(f"wrote {path}", err=True)
