import math

import click
import pytest
from click.testing import CliRunner

from stemcache.cli.multiplex_options import multiplex_options
from stemcache.errors import UsageError
from stemcache.trace.multiplex import Mix


@click.command()
@multiplex_options
@click.option("--other", default=1)
def command(*, mix: Mix | None, other: int) -> None:
    """Tells."""
    click.echo(f"{mix} {other}")


def told(*flags: str) -> str:
    """What the command got."""
    done = CliRunner().invoke(command, flags)
    if done.exception is not None:
        raise done.exception
    return done.stdout.strip()


def test_the_flags_arrive_as_one_value() -> None:
    """Beside the command's own."""
    assert told("--other", "7") == "None 7"
    assert told("--multiplex", "3") == f"{Mix(3, 7200.0, 14400.0, 0)} 1"
    flags = ["--multiplex", "3", "--within", "10m", "--cut", "inf", "--seed", "5"]
    assert told(*flags) == f"{Mix(3, 600.0, math.inf, 5)} 1"


@pytest.mark.parametrize(("flag", "value"), [("--within", "2h"), ("--cut", "4h"), ("--seed", "0")])
def test_flags_of_a_mix_are_refused_without_one(flag: str, value: str) -> None:
    """Also where they say what is the default: they would do nothing."""
    with pytest.raises(UsageError) as caught:
        told(flag, value)
    assert str(caught.value) == (
        f"{flag} is given without --multiplex; add it, or leave {flag} out"
    )


def test_a_window_without_an_end_is_refused() -> None:
    """Starts are drawn from it."""
    with pytest.raises(UsageError, match="--within is inf; use a window with an end"):
        told("--multiplex", "1", "--within", "inf")
