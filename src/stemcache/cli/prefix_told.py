"""Prefixes of now against those of before: where they differ, and what that costs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stemcache.cli.prefix_build import SEEDS, Built, build
from stemcache.cli.prefix_costs import Costed, Payer, costs_of
from stemcache.cli.prefix_git import NoHistoryError, checked_out
from stemcache.cli.prefix_settings import PrefixSpec, Project, project_of
from stemcache.errors import UsageError
from stemcache.lint.settings import find_settings
from stemcache.prompt.lock.check import Finding, FindingKind
from stemcache.prompt.lock.diff import Difference, by_digests, by_texts
from stemcache.prompt.lock.portions import Pinned, Portion, pinned
from stemcache.trace.spans.prompt import ORDER

__all__ = [
    "Told",
    "earlier_texts",
    "pinned_all",
    "told_of",
    "unstable_findings",
    "unstable_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One prefix that is not what it was."""

    name: str
    before: Pinned | None
    now: Pinned | None
    difference: Difference | None
    """None where it is new or gone."""
    exact: bool
    """Whether the texts were compared, and not digests alone."""
    costs: tuple[Costed, ...] = ()


def pinned_all(built: Built, prefixes: Iterable[PrefixSpec]) -> dict[str, Pinned]:
    """What would be locked. Raises UsageError for a prefix that is empty."""
    return {
        one.name: pinned(one.name, built.portions[one.name], version=one.version)
        for one in prefixes
    }


def told_of(
    before: Mapping[str, Pinned],
    now: Mapping[str, Pinned],
    *,
    portions: Mapping[str, Sequence[Portion]],
    texts: Mapping[str, Sequence[Portion]],
    payers: Mapping[str, Sequence[Payer]],
) -> tuple[Told, ...]:
    """Those that differ in bytes or in version, by name.

    `portions` are those of now, `texts` those of before as far as they are known.
    """
    found: list[Told] = []
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if old is None or new is None:
            found.append(Told(name=name, before=old, now=new, difference=None, exact=False))
            continue
        if old.digest == new.digest and old.version == new.version:
            continue
        who = payers.get(name, ())
        known = texts.get(name)
        differences = {
            order: by_digests(old, portions[name], order)
            if known is None
            else by_texts(known, portions[name], order)
            for order in {ORDER, *(one.rule.order for one in who)}
        }
        found.append(
            Told(
                name=name,
                before=old,
                now=new,
                difference=differences[ORDER],
                exact=known is not None or old.digest == new.digest,
                costs=costs_of(who, differences) if old.digest != new.digest else (),
            )
        )
    return tuple(found)


def unstable_of(built: Built, prefixes: Iterable[PrefixSpec]) -> tuple[Told, ...]:
    """Those whose two runs gave two texts, the second as what is now."""
    return tuple(
        Told(
            name=one.name,
            before=pinned(one.name, built.portions[one.name], version=one.version),
            now=pinned(one.name, built.unstable[one.name], version=one.version),
            difference=by_texts(built.portions[one.name], built.unstable[one.name], ORDER),
            exact=True,
        )
        for one in prefixes
        if one.name in built.unstable
    )


def unstable_findings(built: Built, prefixes: Iterable[PrefixSpec]) -> list[Finding]:
    """What is said of them."""
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
        for one in prefixes
        if one.name in built.unstable
    ]


def earlier_texts(
    project: Project, prefixes: Sequence[PrefixSpec], before: Mapping[str, Pinned], commit: str
) -> tuple[dict[str, tuple[Portion, ...]], tuple[str, ...]]:
    """Texts of before, built from the files of a commit; and a sentence for each that are not.

    What is built counts only if it has the digest that was pinned.
    """
    found: dict[str, tuple[Portion, ...]] = {}
    remarks: list[str] = []
    short = commit[:12]
    try:
        with checked_out(project.folder, commit) as folder:
            settings = find_settings(folder)
            then = project_of(settings) if settings.folder == folder else project
            known = {one.name: one for one in then.prefixes}
            for now in prefixes:
                spec = known.get(now.name, now)
                try:
                    built = build(
                        [spec], folder=folder, sources=then.sources, timeout_s=project.timeout_s
                    )
                except UsageError as error:
                    remarks.append(f"the texts of {short} cannot be compared: {error}")
                    continue
                portions = built.portions[now.name]
                if portions and pinned(now.name, portions).digest == before[now.name].digest:
                    found[now.name] = portions
                else:
                    remarks.append(
                        f"{now.name} as built from {short} is not what was locked, so digests are "
                        "compared; another commit may have it: name it with --base"
                    )
    except NoHistoryError as error:
        remarks.append(f"there are no earlier texts, so digests are compared: {error}")
    return found, tuple(remarks)
