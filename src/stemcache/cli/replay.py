"""`stemcache replay`: a trace sent to a live server, and how it coped."""

import asyncio
import os
import secrets
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import click
import uvloop
from rich.console import Console

from stemcache import __version__
from stemcache.cli.replay_asking import Asking, asking_options
from stemcache.cli.replay_pacing import Pacing, pacing_options
from stemcache.cli.replay_plan import Plan, check_pacing, make_plan
from stemcache.cli.replay_screen import show_report
from stemcache.cli.replay_watch import ending_signals, say, watching
from stemcache.cli.trace_options import Reading, trace_options
from stemcache.clock import MonotonicClock
from stemcache.errors import UsageError
from stemcache.replay.html import report_page
from stemcache.replay.isolation import in_words
from stemcache.replay.page import check_extra
from stemcache.replay.report import LoadPart, Report, TracePart, report_json, without_columns
from stemcache.replay.run import Run, Runner
from stemcache.replay.save import check_apart, check_writable, write_bytes, write_records
from stemcache.replay.selection import Selection, nothing_left, select
from stemcache.replay.slo import parse_slo
from stemcache.replay.summary import Setting, summarize
from stemcache.replay.vocabulary import with_token_range

__all__ = ["replay"]

OutputFormat = Literal["full", "json"]

_INTERRUPTED = 130
"""Exit code of a run that was ended early; its report was printed all the same."""


@click.command()
@click.argument("trace", type=click.Path())
@asking_options
@pacing_options
@trace_options
@click.option(
    "--slo",
    metavar="BOUNDS",
    help="Count who is served well: ttft=500ms,itl=50ms,tpot=40ms,e2e=10s.",
)
@click.option(
    "--output-format", default="full", show_default=True, type=click.Choice(get_args(OutputFormat))
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report with figures per request, for `stemcache compare`.",
)
@click.option(
    "--records",
    "records_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a line of JSON for each request: every moment, every gap.",
)
@click.option(
    "--html",
    "html_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with plots, complete in itself.",
)
@click.option("--quiet", is_flag=True, help="Say nothing on stderr while the run goes on.")
def replay(
    *,
    trace: str,
    asking: Asking,
    pacing: Pacing,
    reading: Reading,
    slo: str | None,
    output_format: OutputFormat,
    json_path: Path | None,
    records_path: Path | None,
    html_path: Path | None,
    quiet: bool,
) -> None:
    """Send TRACE to a live server at its own pace and measure what its users would see.

    \b
    Examples:
      stemcache replay trace.jsonl.gz --target http://127.0.0.1:8000 --speed 2
      stemcache replay trace.jsonl.gz --target http://127.0.0.1:8000 --concurrency 8 \\
          --tokens-per-block 32 --max-prompt-tokens 4000 --limit 1000
      stemcache replay sessions.jsonl.gz --target https://host/v1/chat/completions \\
          --concurrency 20 --think 2 --slo ttft=500ms,tpot=50ms --html report.html
      stemcache compare before.json after.json

    Equal prefixes of the trace are equal prefixes on the wire, made of tokens or words that mean
    nothing. Latency counts from the moment at which a request was due, so a target that stalls is
    charged for all who would have come meanwhile. ^C ends the run with a report of what there is.
    Exit code 1 if a request failed, 130 if the run was ended early.
    """
    check_pacing(pacing)
    bounds = None if slo is None else parse_slo(slo)
    if html_path is not None:
        check_extra()
    flags = (("--json", json_path), ("--records", records_path), ("--html", html_path))
    files = [(flag, path) for flag, path in flags if path is not None]
    check_apart(files, trace=trace)
    for flag, path in files:
        check_writable(path, flag)
    with reading.open(trace) as opened:
        selection = select(
            opened,
            limit=pacing.limit,
            tokens_per_block=pacing.tokens_per_block,
            max_prompt_tokens=pacing.max_prompt_tokens,
            max_tokens=pacing.max_tokens,
        )
        characters = opened.reader.unit == "characters"
    if not selection.planned:
        raise UsageError(nothing_left(selection, trace))
    plan = make_plan(
        asking, pacing, selection, environment=os.environ, fresh_salt=secrets.token_hex(4)
    )
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    run = _run(plan, len(selection.planned), quiet=quiet)
    report = summarize(
        run,
        Setting(
            stemcache=__version__,
            started_at=started_at,
            trace=_trace_part(trace, pacing, selection, plan),
            target=plan.job.target,
            load=_load_part(pacing, plan, run),
            planned=len(selection.planned),
            unknown_outputs=selection.unknown_outputs,
            characters=characters,
            times_drawn=plan.times_drawn,
            schedule_s=plan.schedule_s,
            metrics=plan.job.metrics is not None,
            extra=plan.job.extra,
            slo=bounds,
        ),
    )
    if files:
        say("writing the report …", quiet=quiet)
    if json_path is not None:
        write_bytes(json_path, report_json(report), "--json")
    if records_path is not None:
        write_records(records_path, run.outcomes)
    if html_path is not None:
        write_bytes(html_path, report_page(report).encode(), "--html")
    _print(report, output_format)
    if report.ended_by is not None:
        sys.exit(_INTERRUPTED)
    sys.exit(1 if report.counts.failed else 0)


def _run(plan: Plan, total: int, *, quiet: bool) -> Run:
    with (
        watching(total, quiet=quiet) as watch,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop,
    ):
        runner = Runner(plan.job, clock=MonotonicClock(), on_tick=watch)

        def end(sign: signal.Signals, reason: str) -> None:
            runner.end(reason)
            # A second one ends the program at once.
            loop.get_loop().remove_signal_handler(sign)

        async def main() -> Run:
            for sign, reason in ending_signals().items():
                loop.get_loop().add_signal_handler(sign, end, sign, reason)
            return await runner.run()

        try:
            return loop.run(main())
        except UsageError as error:
            raise UsageError(with_token_range(str(error))) from None


def _trace_part(trace: str, pacing: Pacing, selection: Selection, plan: Plan) -> TracePart:
    return TracePart(
        path=trace,
        requests_read=selection.read,
        left_out_too_long=selection.too_long,
        left_out_empty=selection.empty,
        out_of_order=plan.out_of_order,
        block_tokens=selection.block_tokens,
        tokens_per_block=pacing.tokens_per_block,
    )


def _load_part(pacing: Pacing, plan: Plan, run: Run) -> LoadPart:
    isolation = plan.job.isolation
    return LoadPart(
        mode=plan.mode,
        speed=pacing.speed,
        rate=pacing.rate,
        concurrency=pacing.concurrency,
        think=plan.think,
        max_in_flight=pacing.max_in_flight,
        duration_s=pacing.duration_s,
        encoding=plan.encoding,
        isolation=isolation.kind,
        salt=isolation.salt if isolation.kind in {"salted", "cache-salt"} else None,
        isolation_in_words=in_words(isolation, run.reset_path),
    )


def _print(report: Report, output_format: OutputFormat) -> None:
    match output_format:
        case "json":
            click.echo(report_json(without_columns(report)).decode(), nl=False)
        case "full":
            show_report(Console(), report)
