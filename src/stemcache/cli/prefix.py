"""`stemcache prefix`: stable prefixes of prompts pinned in a lock, checked, compared and priced."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stemcache.cli import prefix_options as shared
from stemcache.cli.lint_values import check_format, format_option
from stemcache.cli.prefix_options import OutputFormat
from stemcache.cli.printable import printable
from stemcache.errors import StemcacheError

if TYPE_CHECKING:
    from stemcache.cli.prefix_report import Report

__all__ = ["prefix"]


@click.group()
def prefix() -> None:
    """Pin the stable beginnings of prompts, so that none changes without a version.

    \b
    Examples:
      stemcache prefix lock              # write stemcache.lock, to be committed
      stemcache prefix check             # in CI: fail where bytes changed without a version
      stemcache prefix diff              # what changed, what is lost, what it costs

    \b
    The settings name them, in pyproject.toml or, without tool.stemcache, in stemcache.toml:
      [tool.stemcache.prefixes]
      support = "app.prompts:support"                       # a Layout, or a function
      triage = { path = "prompts/triage.md", version = "3" }
      agent = { object = "app.agent:body", api = "messages", version = "7" }

    Objects are built by running the project's code, twice, under two hash seeds; files are read.
    """


@prefix.command()
@shared.names
@click.option(
    "--amend",
    is_flag=True,
    help="Take other bytes under a version that is locked, and drop prefixes that are gone.",
)
@shared.config
@shared.output_format
def lock(
    *, names: tuple[str, ...], amend: bool, config: Path | None, output_format: OutputFormat
) -> None:
    """Write the lock: name, version, digest and tokens of each prefix.

    \b
    Examples:
      stemcache prefix lock
      stemcache prefix lock support      # this one alone; the others stay as they are locked
      stemcache prefix lock --amend      # the version that is locked was not released yet

    Bytes that changed need a new version, of the prefix in the settings or of the segment that
    changed. Where one has none, nothing is written; nor where the settings no longer have a prefix
    that is locked under a version.

    Exits with 1 if nothing was written for that reason, or because a builder gives another text
    every time, with 2 for what cannot be used, such as a model that nobody knows.
    """
    with _told_as(output_format):
        from stemcache.cli.prefix_lock import locked  # noqa: PLC0415  --help waits for no numpy

        report = locked(names, amend=amend, config=config)
    _print(report, output_format)
    if report.findings:
        sys.exit(1)


@prefix.command()
@shared.names
@click.option(
    "--base",
    metavar="REV",
    help="Compare with the lock of this commit too: bytes that differ from it need a new version.",
)
@shared.live
@shared.config
@shared.output_format
def check(
    *,
    names: tuple[str, ...],
    base: str | None,
    live: int | None,
    config: Path | None,
    output_format: OutputFormat,
) -> None:
    """Fail where a prefix is not what is locked, and tell what the change costs.

    \b
    Examples:
      stemcache prefix check
      stemcache prefix check --base origin/main     # in CI: versions against the target branch
      stemcache prefix check --output-format json

    \b
    Finds
      changed            other bytes under the same version, or under none
      segment-changed    the same of a segment that has a version of its own
      version-unlocked   a version that the lock does not have
      version-reused     with --base: one that had other bytes in an earlier commit
      new, gone          a prefix that only the settings, or only the lock has
      unstable           a builder that gives another text under another hash seed

    Exits with 1 for findings, with 2 for what cannot be used, such as a builder that fails.
    """
    with _told_as(output_format):
        from stemcache.cli.prefix_check import checked  # noqa: PLC0415  --help waits for no numpy
        from stemcache.cli.prefix_report import summary  # noqa: PLC0415

        report = checked(names, base=base, live=live, config=config)
    _print(report, output_format)
    click.echo(printable(summary(report), most_characters=400), err=True)
    if report.findings:
        sys.exit(1)


@prefix.command()
@shared.names
@click.option(
    "--base",
    metavar="REV",
    help="Compare with the lock and the texts of this commit.  [default: the lock that is here, "
    "and the texts of the last commit that wrote it]",
)
@click.option(
    "--digests-only",
    is_flag=True,
    help="Run no earlier code: places are then known to a sixteenth of a segment.",
)
@click.option("--show-text", is_flag=True, help="Show the texts that differ. Else none is shown.")
@shared.live
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="LOG",
    help="Count live caches and conversations in a log of calls, of any format that lint reads. "
    "May be repeated.",
)
@format_option
@shared.config
@shared.output_format
def diff(
    *,
    names: tuple[str, ...],
    base: str | None,
    digests_only: bool,
    show_text: bool,
    live: int | None,
    logs: tuple[str, ...],
    log_format: str | None,
    config: Path | None,
    output_format: OutputFormat,
) -> None:
    """Show where prefixes differ from what is locked, what is lost, and what that costs.

    \b
    Examples:
      stemcache prefix diff
      stemcache prefix diff support --show-text
      stemcache prefix diff --base origin/main --live 40
      stemcache prefix diff --log calls.jsonl       # caches and conversations that are alive

    The cost of a change is a cold write for every live cache: the tokens from the first change on
    at the provider's price of a write, for each model that the settings name in lock.models. No
    text of a prompt is shown without --show-text.

    Exits with 1 if anything differs, with 2 for what cannot be used.
    """
    with _told_as(output_format):
        from stemcache.cli.prefix_diff import differing  # noqa: PLC0415  --help waits for no numpy

        check_format(log_format, source="--format")
        report = differing(
            names,
            base=base,
            digests_only=digests_only,
            live=live,
            logs=logs,
            log_format=log_format,
            config=config,
        )
    _print(report, output_format, show_text=show_text)
    if report.prefixes:
        sys.exit(1)
    said = f"{report.lock}{f' of {base}' if base else ''}"
    click.echo(f"nothing differs from {printable(said, most_characters=200)}", err=True)


@contextmanager
def _told_as(output_format: OutputFormat) -> Iterator[None]:
    """Say on stdout too what cannot be used, where a program reads it."""
    try:
        yield
    except StemcacheError as error:
        if output_format == "json":
            from stemcache.cli.prefix_report import error_json  # noqa: PLC0415

            click.echo(error_json(error))
        raise


def _print(report: "Report", output_format: OutputFormat, *, show_text: bool = False) -> None:
    from stemcache.cli.prefix_report import as_json, as_text  # noqa: PLC0415

    render = as_json if output_format == "json" else as_text
    for line in render(report, show_text=show_text):
        click.echo(line)
