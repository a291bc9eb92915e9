"""How fast, as people write it: a number that a run can end with."""

import math

import click

__all__ = ["PACE", "Pace"]

_SLOWEST = 1e-6
_FASTEST = 1e9


class Pace(click.ParamType[float]):
    """A finite number above zero. `nan` compares with nothing, and no timer takes infinity."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not _SLOWEST <= number <= _FASTEST:
            self.fail(
                f"{value} is no pace; write a number from {_SLOWEST:f} to {_FASTEST:,.0f}, "
                "such as 0.5 or 20",
                param,
                ctx,
            )
        return number


PACE = Pace()
