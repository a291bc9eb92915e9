"""What is pinned against what is built: bytes that changed without a version, and the like.

| in the lock | built now | finding |
|---|---|---|
| version 7, bytes A | version 7, bytes B | `changed` |
| version 7, segment rules 3, bytes A | version 8, segment rules 3, bytes B | `segment-changed` |
| version 7 | version 8 | `version-unlocked` |
| nothing | something | `new` |
| something | nothing | `gone` |

| in the lock of an earlier commit | built now | finding |
|---|---|---|
| version 7, bytes A; then version 8 | version 7, bytes B | `version-reused` |
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from stemcache.prompt.lock.portions import Pinned, PinnedPortion

__all__ = ["Finding", "FindingKind", "broken", "check", "dropped", "reused"]

_MOST_NAMED = 3


class FindingKind(StrEnum):
    """Why a check fails."""

    CHANGED = "changed"
    """Other bytes under the same version, or under none."""
    SEGMENT_CHANGED = "segment-changed"
    """The same of one segment, though the prefix has a new version."""
    VERSION_UNLOCKED = "version-unlocked"
    """A version that the lock does not have."""
    VERSION_REUSED = "version-reused"
    """A version that had other bytes before the one that is locked."""
    NEW = "new"
    GONE = "gone"
    UNSTABLE = "unstable"
    """Built twice, two texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason, without any text of a prompt."""

    kind: FindingKind
    prefix: str
    message: str
    help: str


def check(
    locked: Mapping[str, Pinned], built: Mapping[str, Pinned], *, source: str = "stemcache.lock"
) -> tuple[Finding, ...]:
    """All findings, by name of prefix; `source` is what messages call the lock. Pure, linear."""
    found: list[Finding] = []
    for name in sorted({*locked, *built}):
        before, now = locked.get(name), built.get(name)
        if before is None:
            found.append(
                Finding(
                    kind=FindingKind.NEW,
                    prefix=name,
                    message=f"{source} does not have it",
                    help="run `stemcache prefix lock` and commit the lock",
                )
            )
        elif now is None:
            found.append(_gone(before, source))
        else:
            broken_ones = broken(before, now, source=source)
            found += broken_ones or _unlocked(before, now, source)
    return tuple(found)


def dropped(
    locked: Mapping[str, Pinned], built: Mapping[str, Pinned], *, source: str
) -> tuple[Finding, ...]:
    """Prefixes with a version that a lock of what is built would no longer have. Pure, linear.

    What was given a version is somebody's to take away: settings of another project name none.
    """
    return tuple(
        _gone(locked[name], source)
        for name in sorted(locked.keys() - built.keys())
        if _is_versioned(locked[name])
    )


def broken(before: Pinned, now: Pinned, *, source: str) -> tuple[Finding, ...]:
    """Bytes that changed under a version that did not: of the prefix, else of its segments."""
    if before.digest == now.digest:
        return ()
    if before.version == now.version:
        return (_changed(before, now, source),)
    return tuple(_segments(before, now, source))


def reused(
    earlier: Iterable[tuple[str, Mapping[str, Pinned]]],
    built: Mapping[str, Pinned],
    *,
    source: str,
) -> tuple[Finding, ...]:
    """Versions that were locked with other bytes, the latest time that they were. Pure, linear.

    `earlier` has the locks of commits, the newest first, each with what messages call its commit;
    no more of them are asked for than it takes. Segments with a version of their own are looked at
    like prefixes, and one that is found says why its prefix differs.
    """
    wanted = {
        (name, segment): told for name, one in built.items() for segment, told in _versions(one)
    }
    found: dict[tuple[str, str], Finding] = {}
    commits = iter(earlier)
    while wanted:
        commit, lock = next(commits, ("", None))
        if lock is None:
            break
        for name, one in lock.items():
            for segment, (version, digests) in _versions(one):
                told = wanted.get((name, segment))
                if told is None or told[0] != version:
                    continue
                del wanted[name, segment]
                if told[1] != digests:
                    where = f"{source} of {commit}"
                    found[name, segment] = _reused(name, segment, version, where)
    told_by_segments = {name for name, segment in found if segment}
    return tuple(
        found[name, segment]
        for name, segment in sorted(found)
        if segment or name not in told_by_segments
    )


def _versions(one: Pinned) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """The prefix by an empty name, then its segments: versions, and digests of what has them."""
    if one.version is not None:
        yield "", (one.version, (one.digest,))
    for name, parts in _by_segment(one).items():
        if parts[0].version is not None:
            yield name, (parts[0].version, tuple(part.digest for part in parts))


def _reused(name: str, segment: str, version: str, source: str) -> Finding:
    whose = f"segment {segment}" if segment else "it"
    return Finding(
        kind=FindingKind.VERSION_REUSED,
        prefix=name,
        message=f"{whose} has version {version!r} again, with other bytes than in {source}",
        help="give it a version that it never had, then run `stemcache prefix lock`",
    )


def _gone(before: Pinned, source: str) -> Finding:
    command = "stemcache prefix lock --amend" if _is_versioned(before) else "stemcache prefix lock"
    return Finding(
        kind=FindingKind.GONE,
        prefix=before.name,
        message=f"{source} has it and the settings do not",
        help=f"run `{command}` if it was meant to go, else put it back",
    )


def _is_versioned(one: Pinned) -> bool:
    return one.version is not None or any(part.version is not None for part in one.portions)


def _changed(before: Pinned, now: Pinned, source: str) -> Finding:
    names = _differing(before, now)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    where = f"in {', '.join(names[:_MOST_NAMED])}{more}" if names else "in the order of its parts"
    if now.version is None:
        return Finding(
            kind=FindingKind.CHANGED,
            prefix=now.name,
            message=f"its bytes changed {where}, and it has no version",
            help=(
                f"give prefixes.{now.name} in the settings, or the segments, a version, then run "
                "`stemcache prefix lock`; or undo the change"
            ),
        )
    return Finding(
        kind=FindingKind.CHANGED,
        prefix=now.name,
        message=(f"its bytes changed {where}, and its version is {now.version!r} as in {source}"),
        help="give it a new version, then run `stemcache prefix lock`; or undo the change",
    )


def _segments(before: Pinned, now: Pinned, source: str) -> Iterator[Finding]:
    """Segments with a version of their own, which says that they are as they were."""
    olds, news = _by_segment(before), _by_segment(now)
    for name, parts in news.items():
        version, were = parts[0].version, olds.get(name)
        if version is None or were is None or were[0].version != version:
            continue
        if [one.digest for one in were] != [one.digest for one in parts]:
            yield Finding(
                kind=FindingKind.SEGMENT_CHANGED,
                prefix=now.name,
                message=(
                    f"the bytes of segment {name} changed, and its version is {version!r} as in "
                    f"{source}"
                ),
                help="give the segment a new version too, then run `stemcache prefix lock`",
            )


def _unlocked(before: Pinned, now: Pinned, source: str) -> tuple[Finding, ...]:
    olds, news = _by_segment(before), _by_segment(now)
    if before.version != now.version:
        message = f"its version is {_said(now.version)}, and {source} has {_said(before.version)}"
    else:
        moved = [
            name
            for name, parts in news.items()
            if name in olds and olds[name][0].version != parts[0].version
        ]
        if not moved:
            return ()
        message = f"{source} has another version of segment {moved[0]}"
    return (
        Finding(
            kind=FindingKind.VERSION_UNLOCKED,
            prefix=now.name,
            message=message,
            help="run `stemcache prefix lock` and commit the lock",
        ),
    )


def _by_segment(one: Pinned) -> dict[str, list[PinnedPortion]]:
    found: dict[str, list[PinnedPortion]] = {}
    for portion in one.portions:
        # What has no version is no segment with one: pointers of bodies are whole names.
        name = portion.name if portion.version is None else portion.name.partition("/")[0]
        found.setdefault(name, []).append(portion)
    return found


def _differing(before: Pinned, now: Pinned) -> list[str]:
    """Names of the portions that are not in both, in the order of the prompt."""
    olds = {(one.name, one.digest) for one in before.portions}
    news = {(one.name, one.digest) for one in now.portions}
    names = [one.name for one in now.portions if (one.name, one.digest) not in olds]
    names += [one.name for one in before.portions if (one.name, one.digest) not in news]
    return list(dict.fromkeys(names))


def _said(version: str | None) -> str:
    return "none" if version is None else repr(version)
