"""Lengths of time as people write them: 90s, 5m, 2h, 1.5d, inf."""

import math
import re

import click

from stemcache.lab.report.wording import lasting

__all__ = ["DURATION", "SOME_TIME", "Duration", "lasting"]

_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]*)")
_UNITS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class Duration(click.ParamType[float]):
    """Seconds, with a unit or without; `inf` for no end."""

    name = "duration"

    def __init__(self, *, least_s: float = 0.0) -> None:
        self._least_s = least_s

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds."""
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip().lower()
        if text in {"inf", "infinity"}:
            return math.inf
        found = _DURATION.fullmatch(text)
        if found is None or found["unit"] not in _UNITS:
            self.fail(f"{value!r} is no duration; use a number with a unit: 90s, 2h", param, ctx)
        seconds = float(found["number"]) * _UNITS[found["unit"]]
        if seconds < self._least_s:
            self.fail(
                f"{value} is too short; write {self._least_s * 1e3:g}ms or more, such as 10s or 5m",
                param,
                ctx,
            )
        return seconds


DURATION = Duration()
SOME_TIME = Duration(least_s=1e-3)
"""Where nothing at all could happen in no time."""
