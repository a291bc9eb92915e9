"""Who is there, out of what a source sees, with a memory for short absences. Pure.

```
 unknown ──ready──► there ──not ready, or not seen──► absent ──for too long, or another──► forgotten
                    │   ▲ └────────ready──────────────┘      took its place                   ▲
                    └ terminating ──not seen, or not ready────────────────────────────────────┘
```
Who is absent or terminates stays, and gets nothing new: what is known of its cache is kept. A pod
whose probe failed for a moment, or an address that one answer of DNS lacked, has lost nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from stemcache.gateway.replica import ReplicaSpec

__all__ = ["ABSENT_S", "Found", "Presence", "Sighting", "State"]

ABSENT_S = 60.0
"""Six lookups of DNS; a probe that fails and is well again takes Kubernetes some 40 s."""


class State(StrEnum):
    """Of what is seen."""

    READY = "ready"
    UNREADY = "unready"
    TERMINATING = "terminating"
    """It ends for good once it has answered what it has."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One replica, as a source sees it."""

    spec: ReplicaSpec
    state: State = State.READY
    identity: str = ""
    """Of the pod, say: another one at the same address is another replica. Empty: not told."""


@dataclass(frozen=True, slots=True)
class Found:
    """What to make of it."""

    replicas: tuple[ReplicaSpec, ...] = ()
    draining: frozenset[str] = frozenset()
    """Names of those that get nothing new."""
    replaced: frozenset[str] = frozenset()
    """Names behind which there is another than there was: it holds nothing of what that held."""


@dataclass(frozen=True, slots=True)
class _Known:
    last: Sighting
    absent_s: float | None = None
    """Since when; None: it is there."""


class Presence:
    """Of one source. O(replicas) a look."""

    def __init__(self, absent_s: float = ABSENT_S) -> None:
        """`absent_s`: for how long who is absent is remembered."""
        self._absent_s = absent_s
        self._known: dict[str, _Known] = {}

    def look(self, seen: Iterable[Sighting], *, now_s: float) -> Found:
        """What the source sees now, all of it."""
        sightings = {one.spec.name: one for one in seen}
        replaced = set()
        for name, one in sightings.items():
            known = self._known.get(name)
            if known is not None and _another(known.last, one):
                del self._known[name]
                if one.state is State.READY:
                    replaced.add(name)
        kept = {
            name: known for name in self._known if (known := self._kept(name, sightings, now_s))
        }
        for name, one in sightings.items():
            if one.state is not State.UNREADY:
                kept[name] = _Known(one)
        self._known = {name: kept[name] for name in sorted(kept)}
        return self._found(frozenset(replaced))

    def lapse(self, *, now_s: float) -> Found:
        """Forget who has been absent for too long; nothing else is looked at."""
        self._known = {name: one for name, one in self._known.items() if not self._over(one, now_s)}
        return self._found(frozenset())

    @property
    def lapses_s(self) -> float | None:
        """When the next is to be forgotten; None: nobody is absent."""
        since = [one.absent_s for one in self._known.values() if one.absent_s is not None]
        return min(since) + self._absent_s if since else None

    def _kept(self, name: str, sightings: dict[str, Sighting], now_s: float) -> _Known | None:
        """Who was known before, as absent; None for who is not to be kept."""
        known, seen = self._known[name], sightings.get(name)
        if known.last.state is State.TERMINATING and (seen is None or seen.state is State.UNREADY):
            return None
        if known.absent_s is None:
            known = replace(known, absent_s=now_s)
        return None if self._over(known, now_s) else known

    def _over(self, known: _Known, now_s: float) -> bool:
        return known.absent_s is not None and now_s - known.absent_s >= self._absent_s

    def _found(self, replaced: frozenset[str]) -> Found:
        away = (
            name
            for name, one in self._known.items()
            if one.absent_s is not None or one.last.state is State.TERMINATING
        )
        specs = tuple(one.last.spec for one in self._known.values())
        return Found(specs, frozenset(away), replaced)


def _another(before: Sighting, now: Sighting) -> bool:
    return bool(before.identity and now.identity and before.identity != now.identity)
