"""`stemcache prefix check`: prefixes built, and held against the lock and that of a commit."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from stemcache.cli.prefix_git import commit_of, locks_up_to
from stemcache.cli.prefix_report import Report, report_of
from stemcache.cli.prefix_run import Run, lock_of_commit, payers, read, started
from stemcache.cli.prefix_told import told_of, unstable_findings, unstable_of
from stemcache.cli.printable import printable
from stemcache.errors import UsageError
from stemcache.prompt.lock.check import FindingKind, broken, check, reused
from stemcache.prompt.lock.file import read_lock
from stemcache.prompt.lock.portions import Pinned

__all__ = ["checked"]

_OTHER_BYTES = frozenset({FindingKind.CHANGED, FindingKind.SEGMENT_CHANGED})
_MOST_COMMITS = 100
"""That wrote the lock, looked through for a version of now."""


def checked(
    names: tuple[str, ...], *, base: str | None, live: int | None, config: Path | None
) -> Report:
    """What is not as locked, and what that costs. Raises UsageError."""
    run = started(names, config)
    file = run.project.lock
    stable = run.stable(run.now)
    before = run.stable(run.of(read(file) or {}))
    findings = unstable_findings(run.built, run.prefixes)
    findings += check(before, stable, source=file.name)
    if base is not None:
        source = f"{file.name} of {printable(base, most_characters=80)}"
        commit = commit_of(run.project.folder, base)
        earlier = lock_of_commit(run, commit, source)
        before |= {name: one for name, one in run.of(earlier).items() if name in stable}
        known = {(one.kind, one.prefix) for one in findings}
        for name, now in stable.items():
            if name in earlier:
                more = broken(earlier[name], now, source=source)
                findings += [one for one in more if (one.kind, name) not in known]
        told_already = {one.prefix for one in findings if one.kind in _OTHER_BYTES}
        moved = {
            name: now
            for name, now in stable.items()
            if now != earlier.get(name) and name not in told_already
        }
        findings += reused(_locks(run, commit), moved, source=file.name)
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
    return report_of(run, findings, shown)


def _locks(run: Run, commit: str) -> Iterator[tuple[str, Mapping[str, Pinned]]]:
    """Locks of earlier commits; what one has that cannot be read says nothing of versions."""
    file = run.project.lock
    for name, text in locks_up_to(commit, file, most=_MOST_COMMITS):
        with suppress(UsageError):
            yield name[:12], read_lock(text, file.name)
