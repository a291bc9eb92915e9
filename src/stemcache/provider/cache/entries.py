"""The entries of a simulated cache: a bounded table that forgets what was not used for longest.

```
            young ──────────────┐   full: old is dropped, young becomes old
   put ──►  key → slot          │   ┌─────────────── old
            started  [ … ]      ├──►│ key → slot     │
            readable [ … ]      │   │ …              ├──► gone
            flags    [ … ]      │   └────────────────┘
            ────────────────────┘
   find ──► young, then old. Using or putting what stands in old moves it to young.
```
Nothing is ever scanned. An entry takes about 120 bytes: a number as key, one as slot, two times and
a byte. At most `most_entries` are held, and at least half as many of the latest. An entry that
has expired stays until it is forgotten, so that expiry can be told from never having been there.

Times: `nan` is an unknown start, which never expires; a readable time of minus infinity is one that
nothing is known against.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Entries", "Entry"]

_ENDS_PROMPT = 0x80
_TTL = 0x7F
_UNKNOWN = float("nan")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one cut."""

    started_s: float
    """Start of the request that wrote it or last read it."""
    readable_s: float
    """From when on it can be found."""
    ttl: int
    """Number in the rule's list; at most 127."""
    ends_prompt: bool
    """Whether a whole prompt ended here, so that its answer may be kept behind it."""


class _Generation:
    __slots__ = ("flags", "readable", "slots", "started")

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        self.started = array("d")
        self.readable = array("d")
        self.flags = bytearray()

    def get(self, key: int) -> Entry | None:
        slot = self.slots.get(key)
        if slot is None:
            return None
        flags = self.flags[slot]
        return Entry(
            started_s=self.started[slot],
            readable_s=self.readable[slot],
            ttl=flags & _TTL,
            ends_prompt=bool(flags & _ENDS_PROMPT),
        )

    def set(self, key: int, entry: Entry) -> None:
        flags = entry.ttl | (_ENDS_PROMPT if entry.ends_prompt else 0)
        slot = self.slots.get(key)
        if slot is None:
            self.slots[key] = len(self.flags)
            self.started.append(entry.started_s)
            self.readable.append(entry.readable_s)
            self.flags.append(flags)
        else:
            self.started[slot] = entry.started_s
            self.readable[slot] = entry.readable_s
            self.flags[slot] = flags


class Entries:
    """The table. `find` and `in` change nothing; all verbs cost O(1)."""

    def __init__(self, *, most_entries: int) -> None:
        if most_entries < 2:
            raise ValueError(f"most_entries is {most_entries}; a cache needs room for at least 2")
        self._room = most_entries // 2
        self._young = _Generation()
        self._old = _Generation()

    def __len__(self) -> int:
        """At least the entries that can be found; one that moved to young counts twice."""
        return len(self._young.slots) + len(self._old.slots)

    def __contains__(self, key: int) -> bool:
        return key in self._young.slots or key in self._old.slots

    def find(self, key: int) -> Entry | None:
        """The entry, or None where it never was or is forgotten."""
        return self._young.get(key) or self._old.get(key)

    def put(self, key: int, entry: Entry) -> None:
        """Sets an entry and makes it one of the latest."""
        if len(self._young.slots) >= self._room and key not in self._young.slots:
            self._old = self._young
            self._young = _Generation()
        self._young.set(key, entry)

    def use(
        self,
        keys: Iterable[int],
        made: Entry,
        *,
        now_s: float | None,
        lasts_s: Sequence[float],
        refreshes: bool,
    ) -> None:
        """A request that starts at `now_s` writes or reads these entries.

        `made` is what an entry is that was not there or has expired, `lasts_s` the lifetimes by
        number. One that is there keeps its lifetime and the earlier of both readable times; its
        clock starts anew where reads refresh, and where it was still being written, since then it
        is written twice. One loop without calls, for there are hundreds of keys a request.
        """
        now = _UNKNOWN if now_s is None else now_s  # comparisons with it are false
        flag = _ENDS_PROMPT if made.ends_prompt else 0
        for key in keys:
            young = self._young
            slot = young.slots.get(key)
            if slot is None:
                entry = self._old.get(key)
                self.put(key, made if entry is None else entry)
                if entry is None:
                    continue
                young = self._young
                slot = young.slots[key]
            started_s = young.started[slot]
            readable_s = young.readable[slot]
            if now - started_s > lasts_s[young.flags[slot] & _TTL]:
                young.set(key, made)
                continue
            if (refreshes or now < readable_s) and not started_s > made.started_s:
                young.started[slot] = made.started_s
            if made.readable_s < readable_s:
                young.readable[slot] = made.readable_s
            young.flags[slot] |= flag
