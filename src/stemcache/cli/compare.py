"""`stemcache compare`: two replays, and whether they differ."""

from pathlib import Path
from typing import Literal, get_args

import click
import msgspec
from rich.console import Console

from stemcache.cli.replay_screen import show_comparison
from stemcache.replay.compare import as_json
from stemcache.replay.compare import compare as compared
from stemcache.replay.report import read_report

__all__ = ["compare"]

OutputFormat = Literal["full", "json"]


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "--paired/--unpaired",
    default=None,
    help="Whether equal numbers are the same request.  [default: if the traces have one name]",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the draws.")
@click.option(
    "--output-format", default="full", show_default=True, type=click.Choice(get_args(OutputFormat))
)
def compare(
    *, a: Path, b: Path, paired: bool | None, seed: int, output_format: OutputFormat
) -> None:
    """Compare two reports that `stemcache replay --json` wrote: A before, B after.

    \b
    Examples:
      stemcache replay trace.jsonl.gz --target http://127.0.0.1:8000 --json before.json
      stemcache replay trace.jsonl.gz --target http://127.0.0.1:9000 --json after.json
      stemcache compare before.json after.json

    Each difference of TTFT, end-to-end time and hit rate has an interval that would hold it in 95
    of 100 repetitions, as far as two runs can tell. One that includes zero is not distinguishable
    from noise.
    """
    comparison = compared(read_report(a), read_report(b), seed=seed, paired=paired)
    match output_format:
        case "json":
            text = msgspec.json.format(msgspec.json.encode(as_json(comparison)), indent=2)
            click.echo(text.decode())
        case "full":
            show_comparison(Console(), comparison, (str(a), str(b)))
