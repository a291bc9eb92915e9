"""Clocks that start where they are told and go on by a step a reading.

```
level 0    2026-03-14 09:26:53.250   a Saturday
level 1    2031-10-08 22:41:05.750   every field is another, weekday and half of the day too
level 2 …  anywhere from 2021 to 2036
```
A reading is one millisecond after the last, and a sleep adds its length, so that code which waits
for a while does come to an end. `datetime.now` is a method of a type of C's, and is replaced in the
type itself: every reference to the class sees it, and the class stays what it is.
"""

import ctypes
import gc
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any

from stemcache.integrations.stability_patch import Patches, called_by_waiting
from stemcache.integrations.stability_world import Perturbation, World

__all__ = ["turn_clocks", "turn_zone"]

_HELD_NS = 1_773_480_413_250_000_000
_OTHER_NS = 1_949_265_665_750_000_000
_FIRST_NS, _LAST_NS = 1_610_000_000_000_000_000, 2_080_000_000_000_000_000
_STEP_NS = 1_000_000
_UP_NS = 86_400_000_000_000
"""How long the machine has been up, at level 0."""
_ZONES = ("PST8PDT,M3.2.0,M11.1.0", "<+14>-14", "IST-5:30", "NST3:30NDT,M3.2.0,M11.1.0")
"""In POSIX's own form, which needs no data of zones."""


class _Clock:
    """Both the wall's time and the time since the start of the machine."""

    def __init__(self, world: World) -> None:
        level, rng = world.level(Perturbation.CLOCK), world.rng(Perturbation.CLOCK)
        starts = (_HELD_NS, _OTHER_NS)
        self._start_ns = (
            starts[level] if level < len(starts) else rng.randrange(_FIRST_NS, _LAST_NS)
        )
        self._up_ns = _UP_NS if not level else rng.randrange(_UP_NS, 400 * _UP_NS)
        self._readings = itertools.count()
        self._slept_ns = 0

    def _passed_ns(self) -> int:
        return next(self._readings) * _STEP_NS + self._slept_ns

    def wall_ns(self) -> int:
        return self._start_ns + self._passed_ns()

    def up_ns(self) -> int:
        return self._up_ns + self._passed_ns()

    def sleep(self, real: Callable[[float], None], seconds: float) -> None:
        """Really, too: there may be a thread to wait for."""
        real(seconds)
        self._slept_ns += int(seconds * 1e9)


def turn_clocks(patches: Patches, world: World) -> None:
    """The clocks of `time` and `datetime`."""
    clock = _Clock(world)
    for name, read in (
        ("time", clock.wall_ns),
        ("monotonic", clock.up_ns),
        ("perf_counter", clock.up_ns),
        ("process_time", clock.up_ns),
        ("thread_time", clock.up_ns),
    ):
        patches.function(time, name, _reading(getattr(time, name), read, 1e-9))
        whole = f"{name}_ns"
        patches.function(time, whole, _reading(getattr(time, whole), read, None))
    for name in ("localtime", "gmtime", "ctime"):
        patches.function(time, name, _of_seconds(getattr(time, name), clock))
    local = time.localtime
    patches.function(time, "asctime", _of_fields(time.asctime, 0, local))
    patches.function(time, "strftime", _of_fields(time.strftime, 1, local))
    patches.function(time, "sleep", partial(clock.sleep, time.sleep))
    for name, scale in (("clock_gettime", 1e-9), ("clock_gettime_ns", None)):
        if hasattr(time, name):
            patches.function(time, name, _of_kind(getattr(time, name), clock, scale))
    _turn_datetime(patches, clock)


def turn_zone(patches: Patches, world: World) -> None:
    """Local time, from level 1 on."""
    level = world.level(Perturbation.ZONE)
    if level and hasattr(time, "tzset"):
        patches.undo(time.tzset)  # behind what sets TZ back, since that is undone before
        patches.variable("TZ", _ZONES[(level - 1) % len(_ZONES)])
        time.tzset()


def _reading(
    real: Callable[[], float], read: Callable[[], int], scale: float | None
) -> Callable[[], float]:
    def reading() -> float:
        if called_by_waiting():
            return real()
        return read() if scale is None else read() * scale

    return reading


def _of_seconds(real: Callable[..., Any], clock: _Clock) -> Callable[..., Any]:
    """For functions that take seconds, and without any the time that it is."""

    def of_seconds(seconds: float | None = None, /) -> Any:
        return real(clock.wall_ns() / 1e9 if seconds is None else seconds)

    return of_seconds


def _of_fields(
    real: Callable[..., Any], ahead: int, local: Callable[[], Any]
) -> Callable[..., Any]:
    """For functions that take fields behind `ahead` arguments, and without any those of now."""

    def of_fields(*given: Any) -> Any:
        return real(*given, local()) if len(given) == ahead else real(*given)

    return of_fields


def _of_kind(
    real: Callable[[int], float], clock: _Clock, scale: float | None
) -> Callable[[int], float]:
    def of_kind(kind: int, /) -> float:
        if called_by_waiting():
            return real(kind)
        read_ns = clock.wall_ns() if kind == time.CLOCK_REALTIME else clock.up_ns()
        return read_ns if scale is None else read_ns * scale

    return of_kind


def _turn_datetime(patches: Patches, clock: _Clock) -> None:
    """`date.today` and `datetime.today` ask `time.time`; these two ask the machine."""

    def now(cls: type[datetime], tz: tzinfo | None = None) -> datetime:
        return cls.fromtimestamp(clock.wall_ns() / 1e9, tz)

    def utcnow(cls: type[datetime]) -> datetime:
        return cls.fromtimestamp(clock.wall_ns() / 1e9, UTC).replace(tzinfo=None)

    members = next(one for one in gc.get_referents(datetime.__dict__) if type(one) is dict)

    def forget() -> None:
        """What the interpreter remembers of the type's methods."""
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime))

    patches.undo(forget)  # behind what sets the methods back
    patches.item(members, "now", classmethod(now))
    patches.item(members, "utcnow", classmethod(utcnow))
    forget()
