"""What a conversation's earlier requests have written, and how likely it is still there.

```
request 1    tools │ rules │ question ▲                       sent: its marks, at 0 s, for 5 minutes
request 2    tools │ rules │ question   answer  40 results    held: boundary 3, 1.0   (200 s later)
                                      ▲ a mark here reads it, one at the end alone would not
compacted    tools │ rules │ summary                          held: nothing; the pieces are others
```
An entry is known by the name of its prefix (`prefixes`), so that whatever has become of the prompt
since, only what stands before a boundary as it stood then counts as held there.

Not counted on: entries that a mark further behind has read on the way, and what a provider may keep
beyond the lifetime that it promises. Both are read all the same where they are there.

| verb | cost |
|---|---|
| `held` | the boundaries |
| `sent`, `fork`, `saved` | the entries, at most `MOST_ENTRIES` |

Invariant: entries stand in the order in which they were last written or read.
"""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import NamedTuple

import msgspec

from stemcache.errors import UsageError
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.placement import Held
from stemcache.provider.usage import Usage

__all__ = ["MOST_ENTRIES", "Memory"]

MOST_ENTRIES = 64
"""Of more, those are forgotten that were not used for longest."""
_MOST_BYTES = 2**16
_FORM = "stemcache memory"


class _Entry(NamedTuple):
    used_s: float | None
    """When a request that wrote or read it was sent; None where nobody said."""
    lasts_s: float


class Memory:
    """Of one conversation; a fork of it gets a fork of this. Times may be of any clock.

    Holds names, times and lifetimes, and no text. Not for several threads at once.
    """

    def __init__(self) -> None:
        self._entries: dict[bytes, _Entry] = {}
        self._asked: dict[bytes, _Entry] = {}
        """What the last request asked for, as if nothing had been there."""

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Memory of {len(self)} prefixes>"

    def held(
        self, prefixes: Sequence[bytes], *, forecast: Forecast, now_s: float | None = None
    ) -> tuple[Held, ...]:
        """What of these prefixes was written, for `place`: those that have expired with chance 0.

        With both times an entry is there within its lifetime and not beyond. Without, it is there
        as often as one conversation's next request comes in time, by the forecast. Changes nothing.
        """
        _check(now_s)
        return tuple(
            Held(boundary, _alive(entry, boundary, forecast, now_s))
            for boundary, name in enumerate(prefixes)
            if boundary and (entry := self._entries.get(name)) is not None
        )

    def sent(
        self,
        prefixes: Sequence[bytes],
        written: Mapping[int, float],
        *,
        refreshed: bool = True,
        now_s: float | None = None,
    ) -> None:
        """Take it that a request goes out now and writes these boundaries (`written`), for seconds.

        What is still there is read instead, keeps its lifetime, and begins it anew if `refreshed`.
        `now_s` is when the request begins, in seconds of a clock that does not go back.
        """
        _check(now_s)
        self._asked = {
            prefixes[boundary]: _Entry(now_s, lasts_s)
            for boundary, lasts_s in sorted(written.items())[-MOST_ENTRIES:]
        }
        for name, asked in self._asked.items():
            before = self._entries.pop(name, None)
            self._entries[name] = (
                asked if before is None else _again(before, asked, refreshed=refreshed)
            )
        while len(self._entries) > MOST_ENTRIES:
            del self._entries[next(iter(self._entries))]

    def reported(self, usage: Usage) -> None:
        """Take from the last request's usage what was not there: a read of zero says nothing was.

        Then only what that request wrote is held. Any other figure tells nothing for sure, since
        boundaries are counted in estimated tokens.
        """
        if usage.read_tokens == 0:
            self._entries = dict(self._asked)

    def fork(self) -> "Memory":
        """Another that goes on from here by itself."""
        made = Memory()
        made._entries, made._asked = dict(self._entries), dict(self._asked)
        return made

    def saved(self) -> bytes:
        """One line of JSON, to be kept beside the conversation: some 90 bytes an entry.

        Times have to be of a clock that means the same to whoever goes on: the time of day.
        """
        lists = [_list(self._entries), _list(self._asked)]
        return msgspec.json.encode(_Saved(_FORM, 1, *lists)) + b"\n"

    @classmethod
    def resumed(cls, saved: bytes) -> "Memory":
        """The one that was saved so. Raises UsageError for what `saved` has not written."""
        made = cls()
        made._entries, made._asked = _read(saved)
        return made


def _alive(entry: _Entry, boundary: int, forecast: Forecast, now_s: float | None) -> float:
    if entry.lasts_s == inf:
        return 1.0
    if now_s is not None and entry.used_s is not None:
        return float(now_s - entry.used_s <= entry.lasts_s)
    # Of requests that come at all: this one has come.
    ever = forecast.alive(boundary, inf)
    return min(forecast.alive(boundary, entry.lasts_s) / ever, 1.0) if ever > 0 else 0.0


def _again(before: _Entry, asked: _Entry, *, refreshed: bool) -> _Entry:
    """What is there after a mark at an entry that was there, or was not any more."""
    if before.used_s is None or asked.used_s is None:
        return _Entry(asked.used_s, min(before.lasts_s, asked.lasts_s))
    if asked.used_s - before.used_s > before.lasts_s:
        return asked
    return _Entry(asked.used_s if refreshed else before.used_s, before.lasts_s)


def _check(now_s: float | None) -> None:
    if now_s is not None and not isfinite(now_s):
        raise UsageError(f"now_s is {now_s}; give seconds of a clock, or None where there is none")


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    form: str
    version: int
    entries: list[tuple[str, float | None, float | None]]
    """Name, when used, and for how long; None for ever."""
    asked: list[tuple[str, float | None, float | None]]


def _list(entries: Mapping[bytes, _Entry]) -> list[tuple[str, float | None, float | None]]:
    return [
        (name.hex(), used_s, None if lasts_s == inf else lasts_s)
        for name, (used_s, lasts_s) in entries.items()
    ]


def _read(saved: bytes) -> tuple[dict[bytes, _Entry], dict[bytes, _Entry]]:
    if len(saved) > _MOST_BYTES:
        raise _damaged(f"it has {len(saved):,} bytes, and {_MOST_BYTES:,} are the most")
    try:
        made = msgspec.json.decode(saved, type=_Saved)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(str(error)[:120]) from None
    if made.form != _FORM:
        raise _damaged(f"its form is {made.form[:40]!r}")
    if made.version != 1:
        raise UsageError(
            f"a memory is saved in version {made.version}, and this stemcache reads 1; "
            "update stemcache, or begin with Memory()"
        )
    return _entries(made.entries), _entries(made.asked)


def _entries(listed: Sequence[tuple[str, float | None, float | None]]) -> dict[bytes, _Entry]:
    found: dict[bytes, _Entry] = {}
    for name, used_s, lasts_s in listed:
        try:
            key = bytes.fromhex(name)
        except ValueError:
            raise _damaged(f"{name[:40]!r} is no name of a prefix") from None
        if not all(isfinite(one) for one in (used_s, lasts_s) if one is not None):
            raise _damaged("a time is not finite")
        found[key] = _Entry(used_s, inf if lasts_s is None else lasts_s)
    if len(found) > MOST_ENTRIES:
        raise _damaged(f"it has {len(found)} entries, and {MOST_ENTRIES} are the most")
    return found


def _damaged(what: str) -> UsageError:
    return UsageError(
        f"this is no memory of a conversation: {what}; give what saved() returned, or begin with "
        "Memory()"
    )
