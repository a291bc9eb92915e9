"""The flags of every command that can put sessions with clocks of their own on one.

```python
@click.command()
@multiplex_options
def command(*, mix: Mix | None) -> None:
    requests = opened if mix is None else multiplex(opened, mix)
```
"""

import functools
import math
from collections.abc import Callable
from typing import TypeVar

import click
from click.core import ParameterSource

from stemcache.cli.durations import DURATION
from stemcache.errors import UsageError
from stemcache.trace.multiplex import Mix

__all__ = ["multiplex_options"]

R = TypeVar("R")

_GIVEN_WITH = {"mix_within_s": "--within", "mix_cut_s": "--cut", "mix_seed": "--seed"}
"""Flags by parameter that do nothing without --multiplex."""


def multiplex_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the flags to a command, which gets them as one argument, `mix`: None without --multiplex.

    Raises UsageError for a flag that would do nothing.
    """

    @click.option(
        "--multiplex",
        "mix_sessions",
        type=click.IntRange(1),
        metavar="N",
        help="Put N random sessions, each with its own clock in the trace, on one clock.",
    )
    @click.option(
        "--within",
        "mix_within_s",
        default="2h",
        show_default=True,
        type=DURATION,
        help="With --multiplex: start them at random moments of this window.",
    )
    @click.option(
        "--cut",
        "mix_cut_s",
        default="4h",
        show_default=True,
        type=DURATION,
        help="With --multiplex: drop what would come later than this.",
    )
    @click.option(
        "--seed",
        "mix_seed",
        default=0,
        show_default=True,
        help="With --multiplex: draw other sessions and starts.",
    )
    @functools.wraps(command)
    def with_mix(
        *args: object,
        mix_sessions: int | None,
        mix_within_s: float,
        mix_cut_s: float,
        mix_seed: int,
        **kwargs: object,
    ) -> R:
        mix = None
        if mix_sessions is None:
            _refuse_given()
        elif math.isinf(mix_within_s):
            raise UsageError("--within is inf; use a window with an end")
        else:
            mix = Mix(mix_sessions, mix_within_s, mix_cut_s, mix_seed)
        return command(*args, mix=mix, **kwargs)

    return with_mix


def _refuse_given() -> None:
    context = click.get_current_context()
    for parameter, flag in _GIVEN_WITH.items():
        if context.get_parameter_source(parameter) is not ParameterSource.DEFAULT:
            raise UsageError(f"{flag} is given without --multiplex; add it, or leave {flag} out")
