"""`stemcache simulate --replicas`: a fleet behind a router, under each routing that was asked."""

import json
from collections.abc import Iterable
from typing import Literal

import click
from rich.console import Console

from stemcache.cli.simulate_fleet_table import fleet_lines, show_fleet
from stemcache.cli.trace_options import Reading
from stemcache.lab.fleet.answer import fleet_as_json
from stemcache.lab.fleet.setup import FleetSetup
from stemcache.lab.fleet.simulate import simulate_fleet
from stemcache.lab.question import Question
from stemcache.trace.multiplex import Mix, multiplex
from stemcache.trace.record import TraceRequest

__all__ = ["run_fleet"]


def run_fleet(
    trace: str,
    reading: Reading,
    mix: Mix | None,
    setup: FleetSetup,
    question: Question,
    *,
    output_format: Literal["full", "concise", "json"],
) -> bool:
    """Read, simulate, print. Whether the trace names tenants."""
    with reading.open(trace) as opened:
        requests: Iterable[TraceRequest] = opened
        if mix is not None:
            requests = multiplex(opened, mix)
        simulation = simulate_fleet(requests, setup, question)
    reader = opened.reader
    answer = fleet_as_json(simulation, trace=reader.name, unit=reader.unit)
    answer["skipped_lines"] = reader.skipped
    match output_format:
        case "json":
            click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        case "concise":
            click.echo("\n".join(fleet_lines(answer)))
        case "full":
            show_fleet(Console(), answer)
    return any(simulation.one_cache.survey.tenants)
