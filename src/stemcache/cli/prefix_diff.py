"""`stemcache prefix diff`: where prefixes differ from what is locked, and what that costs."""

from collections.abc import Mapping
from pathlib import Path

from stemcache.cli.prefix_git import NoHistoryError, commit_of, last_commit
from stemcache.cli.prefix_report import Report, report_of
from stemcache.cli.prefix_run import Run, lock_of_commit, payers, read, started
from stemcache.cli.prefix_told import earlier_texts, told_of, unstable_findings, unstable_of
from stemcache.cli.printable import printable
from stemcache.errors import UsageError
from stemcache.prompt.lock.portions import Pinned, Portion

__all__ = ["differing"]


def differing(
    names: tuple[str, ...],
    *,
    base: str | None,
    digests_only: bool,
    live: int | None,
    logs: tuple[str, ...],
    log_format: str | None,
    config: Path | None,
) -> Report:
    """All that differs from the lock, or from that of a commit. Raises UsageError."""
    if logs and live is not None:
        raise UsageError("--log and --live both say how many caches are alive; leave one out")
    run = started(names, config)
    before = run.stable(_locked(run) if base is None else _of_base(run, base))
    stable = run.stable(run.now)
    texts, remarks = ({}, ()) if digests_only else _texts(run, before, stable, base)
    told = told_of(
        before,
        stable,
        portions=run.built.portions,
        texts=texts,
        payers=payers(run, before, logs=logs, log_format=log_format, live=live),
    )
    priced = any(one.costs for one in told)
    if any(one.difference is not None for one in told) and not priced:
        remarks += (
            'no model is named, so nothing is priced; add models = ["provider/model"] to [lock]',
        )
    shown = (*unstable_of(run.built, run.prefixes), *told)
    return report_of(run, unstable_findings(run.built, run.prefixes), shown, remarks)


def _locked(run: Run) -> dict[str, Pinned]:
    file = run.project.lock
    found = read(file)
    if found is None:
        raise UsageError(
            f"there is no {file.name} in {file.parent}; write it with `stemcache prefix lock`"
        )
    return run.of(found)


def _of_base(run: Run, base: str) -> dict[str, Pinned]:
    source = f"{run.project.lock.name} of {printable(base, most_characters=80)}"
    return run.of(lock_of_commit(run, commit_of(run.project.folder, base), source))


def _texts(
    run: Run, before: Mapping[str, Pinned], now: Mapping[str, Pinned], base: str | None
) -> tuple[dict[str, tuple[Portion, ...]], tuple[str, ...]]:
    """What the prefixes that changed were, as far as git has it."""
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
