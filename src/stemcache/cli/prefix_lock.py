"""`stemcache prefix lock`: prefixes built, held against the lock, and written to it."""

from collections.abc import Mapping
from pathlib import Path

import click

from stemcache.cli.prefix_report import Report, report_of
from stemcache.cli.prefix_run import check_models, read, started
from stemcache.cli.prefix_told import told_of, unstable_findings, unstable_of
from stemcache.errors import UsageError
from stemcache.prompt.lock.check import broken, dropped
from stemcache.prompt.lock.file import lock_text
from stemcache.prompt.lock.portions import Pinned
from stemcache.replay.save import write_bytes

__all__ = ["locked"]


def locked(names: tuple[str, ...], *, amend: bool, config: Path | None) -> Report:
    """Write the lock, unless there are findings: those that forbid it. Raises UsageError."""
    run = started(names, config)
    check_models(run)
    file = run.project.lock
    try:
        there = read(file) or {}
    except UsageError:
        if not amend or not run.whole:
            raise
        there = {}  # what cannot be read is written anew
    unstable = unstable_of(run.built, run.prefixes)
    findings = unstable_findings(run.built, run.prefixes)
    if not findings and not amend:
        for name, now in run.now.items():
            if name in there:
                findings += broken(there[name], now, source=file.name)
        findings += dropped(run.of(there), run.now, source=file.name)
    told = unstable or told_of(
        run.of(there), run.now, portions=run.built.portions, texts={}, payers={}
    )
    if not findings:
        kept = {} if run.whole else {n: one for n, one in there.items() if n not in run.now}
        _write(file, {**kept, **run.now}, there)
    return report_of(run, findings, told)


def _write(file: Path, prefixes: Mapping[str, Pinned], there: Mapping[str, Pinned]) -> None:
    if prefixes == there and file.exists():
        click.echo(f"{file.name} is as it should be", err=True)
        return
    write_bytes(file, lock_text(prefixes.values()).encode(), "the lock")
    click.echo(f"wrote {file.name}", err=True)
