"""`stemcache prefix`: stable prefixes of prompts pinned in a lock, checked, compared and priced."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.shell_completion import CompletionItem

from stemcache.cli.lint_values import check_format, format_option
from stemcache.cli.printable import printable
from stemcache.errors import StemcacheError, UsageError

if TYPE_CHECKING:
    from stemcache.cli.prefix_report import Report
    from stemcache.cli.prefix_run import Run
    from stemcache.cli.prefix_told import Told
    from stemcache.prompt.lock.check import Finding
    from stemcache.prompt.lock.portions import Pinned, Portion

__all__ = ["prefix"]

OutputFormat = Literal["text", "json"]


def _complete_names(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Prefixes that the settings name, without building any."""
    from stemcache.lint.settings import find_settings, read_settings  # noqa: PLC0415

    config = ctx.params.get("config")
    try:
        settings = find_settings(Path.cwd()) if config is None else read_settings(Path(config))
    except StemcacheError:
        return []
    return [CompletionItem(name) for name in settings.prefixes if name.startswith(incomplete)]


_names = click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=_complete_names)
_config = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings to read.  [default: the nearest stemcache.toml, or pyproject.toml with "
    "[tool.stemcache]]",
)
_output_format = click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or for programs.",
)
_live = click.option(
    "--live",
    type=click.IntRange(0, 10**9),
    metavar="N",
    help="How many caches hold each prefix.  [default: as the settings say, or 1]",
)


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

    Prefixes are built by running the project's code, twice, under two hash seeds.
    """


@prefix.command()
@_names
@click.option(
    "--amend",
    is_flag=True,
    help="Take other bytes under a version that is locked, and drop prefixes that are gone.",
)
@_config
@_output_format
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
    from stemcache.cli.prefix_report import Report  # noqa: PLC0415  --help waits for no numpy
    from stemcache.cli.prefix_run import check_models, read, started  # noqa: PLC0415
    from stemcache.cli.prefix_told import told_of, unstable_of  # noqa: PLC0415
    from stemcache.prompt.lock.check import broken, dropped  # noqa: PLC0415

    run = started(names, config)
    check_models(run)
    file = run.project.lock
    try:
        locked = read(file) or {}
    except UsageError:
        if not amend or not run.whole:
            raise
        locked = {}  # what cannot be read is written anew
    unstable = unstable_of(run.built, run.prefixes)
    findings = _unstable_findings(run)
    if not findings and not amend:
        for name, now in run.now.items():
            if name in locked:
                findings += broken(locked[name], now, source=file.name)
        findings += dropped(run.of(locked), run.now, source=file.name)
    told = unstable or told_of(
        run.of(locked), run.now, portions=run.built.portions, texts={}, payers={}
    )
    if findings:
        _print(_report(run, findings, told), output_format)
        sys.exit(1)
    kept = {} if run.whole else {n: one for n, one in locked.items() if n not in run.now}
    _write(file, {**kept, **run.now}, locked)
    report = Report(lock=file.name, prefixes=told, checked=len(run.prefixes))
    _print(report, output_format)


@prefix.command()
@_names
@click.option(
    "--base",
    metavar="REV",
    help="Compare with the lock of this commit too: bytes that differ from it need a new version.",
)
@_live
@_config
@_output_format
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
      new, gone          a prefix that only the settings, or only the lock has
      unstable           a builder that gives another text under another hash seed

    Exits with 1 for findings, with 2 for what cannot be used, such as a builder that fails.
    """
    from stemcache.cli.prefix_git import commit_of  # noqa: PLC0415  --help waits for no numpy
    from stemcache.cli.prefix_report import summary  # noqa: PLC0415
    from stemcache.cli.prefix_run import lock_of_commit, payers, read, started  # noqa: PLC0415
    from stemcache.cli.prefix_told import told_of, unstable_of  # noqa: PLC0415
    from stemcache.prompt.lock.check import broken  # noqa: PLC0415
    from stemcache.prompt.lock.check import check as checked  # noqa: PLC0415

    run = started(names, config)
    file = run.project.lock
    locked = run.of(read(file) or {})
    stable = {name: one for name, one in run.now.items() if name not in run.built.unstable}
    of_stable = {name: one for name, one in locked.items() if name not in run.built.unstable}
    findings = [*_unstable_findings(run), *checked(of_stable, stable, source=file.name)]
    before = dict(of_stable)
    if base is not None:
        source = f"{file.name} of {printable(base, most_characters=80)}"
        earlier = lock_of_commit(run, commit_of(run.project.folder, base), source)
        before |= {name: one for name, one in run.of(earlier).items() if name in stable}
        known = {(one.kind, one.prefix) for one in findings}
        for name, now in stable.items():
            if name in earlier:
                more = broken(earlier[name], now, source=source)
                findings += [one for one in more if (one.kind, name) not in known]
    told = told_of(
        before,
        stable,
        portions=run.built.portions,
        texts={},
        payers=payers(run, before, logs=(), log_format=None, live=live),
    )
    named = {one.prefix for one in findings}
    shown = (
        *unstable_of(run.built, run.prefixes),
        *(one for one in told if one.name in named or one.difference is not None),
    )
    _print(_report(run, findings, shown), output_format)
    said = summary(findings, len(run.prefixes), file.name)
    click.echo(printable(said, most_characters=400), err=True)
    if findings:
        sys.exit(1)


@prefix.command()
@_names
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
@_live
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="LOG",
    help="Count live caches and conversations in a log of calls, of any format that lint reads. "
    "May be repeated.",
)
@format_option
@_config
@_output_format
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
    from stemcache.cli.prefix_run import payers, read, started  # noqa: PLC0415  see above
    from stemcache.cli.prefix_told import told_of, unstable_of  # noqa: PLC0415

    if logs and live is not None:
        raise UsageError("--log and --live both say how many caches are alive; leave one out")
    check_format(log_format, source="--format")
    run = started(names, config)
    file = run.project.lock
    if base is None:
        found = read(file)
        if found is None:
            raise UsageError(
                f"there is no {file.name} in {file.parent}; write it with `stemcache prefix lock`"
            )
        before = run.of(found)
    else:
        before = _of_base(run, base)
    stable = {name: one for name, one in run.now.items() if name not in run.built.unstable}
    before = {name: one for name, one in before.items() if name not in run.built.unstable}
    texts, remarks = ({}, ()) if digests_only else _texts(run, before, stable, base)
    told = told_of(
        before,
        stable,
        portions=run.built.portions,
        texts=texts,
        payers=payers(run, before, logs=logs, log_format=log_format, live=live),
    )
    shown = (*unstable_of(run.built, run.prefixes), *told)
    priced = any(one.costs for one in told)
    if any(one.difference is not None for one in told) and not priced:
        remarks += (
            'no model is named, so nothing is priced; add models = ["provider/model"] to [lock]',
        )
    report = _report(run, _unstable_findings(run), shown, remarks)
    _print(report, output_format, show_text=show_text)
    if not shown:
        said = f"{file.name}{f' of {base}' if base else ''}"
        click.echo(f"nothing differs from {printable(said, most_characters=200)}", err=True)
    else:
        sys.exit(1)


def _of_base(run: "Run", base: str) -> "dict[str, Pinned]":
    from stemcache.cli.prefix_git import commit_of  # noqa: PLC0415
    from stemcache.cli.prefix_run import lock_of_commit  # noqa: PLC0415

    source = f"{run.project.lock.name} of {printable(base, most_characters=80)}"
    return run.of(lock_of_commit(run, commit_of(run.project.folder, base), source))


def _texts(
    run: "Run", before: "dict[str, Pinned]", now: "dict[str, Pinned]", base: str | None
) -> "tuple[dict[str, tuple[Portion, ...]], tuple[str, ...]]":
    """What the prefixes that changed were, as far as git has it."""
    from stemcache.cli.prefix_git import (  # noqa: PLC0415
        NoHistoryError,
        commit_of,
        last_commit,
    )
    from stemcache.cli.prefix_told import earlier_texts  # noqa: PLC0415

    changed = [
        one
        for one in run.prefixes
        if one.name in before
        and one.name in now
        and before[one.name].digest != now[one.name].digest
    ]
    if not changed:
        return {}, ()
    try:
        commit = (
            last_commit(run.project.lock) if base is None else commit_of(run.project.folder, base)
        )
    except NoHistoryError as error:
        return {}, (f"there are no earlier texts, so digests are compared: {error}",)
    return earlier_texts(run.project, changed, before, commit)


def _unstable_findings(run: "Run") -> "list[Finding]":
    from stemcache.cli.prefix_build import SEEDS  # noqa: PLC0415
    from stemcache.prompt.lock.check import Finding, FindingKind  # noqa: PLC0415

    return [
        Finding(
            kind=FindingKind.UNSTABLE,
            prefix=one.name,
            message=(
                f"{one.object or one.path} gave two texts in two runs, under PYTHONHASHSEED="
                f"{SEEDS[0]} and {SEEDS[1]}"
            ),
            help="sort what comes from a set, and keep times and random ids out of it",
        )
        for one in run.prefixes
        if one.name in run.built.unstable
    ]


def _report(
    run: "Run",
    findings: "list[Finding]",
    told: "tuple[Told, ...]",
    remarks: tuple[str, ...] = (),
) -> "Report":
    from stemcache.cli.prefix_report import Report  # noqa: PLC0415

    return Report(
        lock=run.project.lock.name,
        findings=tuple(findings),
        prefixes=told,
        remarks=remarks,
        checked=len(run.prefixes),
    )


def _print(report: "Report", output_format: OutputFormat, *, show_text: bool = False) -> None:
    from stemcache.cli.prefix_report import as_json, as_text  # noqa: PLC0415

    render = as_json if output_format == "json" else as_text
    for line in render(report, show_text=show_text):
        click.echo(line)


def _write(file: Path, prefixes: "dict[str, Pinned]", locked: "dict[str, Pinned]") -> None:
    from stemcache.prompt.lock.file import lock_text  # noqa: PLC0415
    from stemcache.replay.save import write_bytes  # noqa: PLC0415

    if prefixes == locked and file.exists():
        click.echo(f"{file.name} is as it should be", err=True)
        return
    write_bytes(file, lock_text(prefixes.values()).encode(), "the lock")
    click.echo(f"wrote {file.name}", err=True)
