"""What the three commands of `stemcache prefix` share: settings, lock, builds, logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stemcache.cli.lint_book import book_of
from stemcache.cli.lint_progress import reading
from stemcache.cli.prefix_build import Built, build
from stemcache.cli.prefix_costs import Payer, payers_of
from stemcache.cli.prefix_git import lock_at
from stemcache.cli.prefix_live import Live, live_caches
from stemcache.cli.prefix_settings import PrefixSpec, Project, chosen, project_of
from stemcache.cli.prefix_told import pinned_all
from stemcache.errors import UsageError
from stemcache.lint.settings import Settings, find_settings, read_settings
from stemcache.lint.visible import visible
from stemcache.prompt.lock.file import read_lock
from stemcache.prompt.lock.portions import Pinned
from stemcache.trace.calls.open import open_calls

__all__ = ["Run", "check_models", "lock_of_commit", "payers", "read", "started"]

_MOST_BYTES = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Settings read and prefixes built."""

    settings: Settings
    project: Project
    prefixes: tuple[PrefixSpec, ...]
    """That were asked for."""
    built: Built
    now: Mapping[str, Pinned]

    @property
    def whole(self) -> bool:
        """Whether all of the project's prefixes were asked for."""
        return len(self.prefixes) == len(self.project.prefixes)

    def stable(self, prefixes: Mapping[str, Pinned]) -> dict[str, Pinned]:
        """Those that are not built in two ways."""
        return {name: one for name, one in prefixes.items() if name not in self.built.unstable}

    def of(self, locked: Mapping[str, Pinned]) -> dict[str, Pinned]:
        """What a lock has of the prefixes that were asked for, and of those that are gone."""
        asked = {one.name for one in self.prefixes}
        known = {one.name for one in self.project.prefixes}
        return {
            name: one
            for name, one in locked.items()
            if name in asked or (self.whole and name not in known)
        }


def started(names: tuple[str, ...], config: Path | None) -> Run:
    """Read the settings, build the prefixes. Raises UsageError."""
    settings = find_settings(Path.cwd()) if config is None else read_settings(config.absolute())
    project = project_of(settings)
    prefixes = chosen(project, names)
    built = build(
        prefixes,
        folder=project.folder,
        sources=project.sources,
        timeout_s=project.timeout_s,
    )
    return Run(
        settings=settings,
        project=project,
        prefixes=prefixes,
        built=built,
        now=pinned_all(built, prefixes),
    )


def read(lock: Path) -> dict[str, Pinned] | None:
    """The lock; None where there is none. Raises UsageError."""
    shown = visible(lock.name)
    try:
        with lock.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {shown}: {error.strerror}; check the file") from None
    try:
        return read_lock(data.decode(), shown)
    except UnicodeDecodeError:
        raise UsageError(
            f"{shown} is not UTF-8; write it again with `stemcache prefix lock`"
        ) from (None)


def lock_of_commit(run: Run, commit: str, name: str) -> dict[str, Pinned]:
    """The lock in a commit, which messages call by a name; empty where it has none."""
    text = lock_at(commit, run.project.lock)
    return {} if text is None else read_lock(text, name)


def check_models(run: Run) -> None:
    """Raise UsageError for a model that could not be priced, before there is anything to price."""
    payers(run, {}, logs=(), log_format=None, live=None)


def payers(
    run: Run,
    before: Mapping[str, Pinned],
    *,
    logs: Sequence[str],
    log_format: str | None,
    live: int | None,
) -> dict[str, tuple[Payer, ...]]:
    """Who pays for a change, by name of prefix. Raises UsageError."""
    settings, project = run.settings, run.project
    book = book_of(settings.overrides, settings=settings.source, provider=None, provider_source="")
    shown: Mapping[str, tuple[Live, ...]] | None = None
    if logs:
        with (
            reading(wanted=None) as on_progress,
            open_calls(logs, format=log_format, on_progress=on_progress) as calls,
        ):
            shown = live_caches(
                calls, before, book=book, provider=settings.provider, aliases=settings.aliases
            )
    found: dict[str, tuple[Payer, ...]] = {}
    for one in run.prefixes:
        stated = next((n for n in (live, one.live, project.live) if n is not None), 1)
        found[one.name] = payers_of(
            one.models or project.models,
            book=book,
            aliases=settings.aliases,
            where=f"{one.where}, models" if one.models else f"{settings.source}, lock.models",
            caches=stated,
            live=None if shown is None else shown.get(one.name, ()),
        )
    return found
