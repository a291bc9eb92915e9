"""Commands on traces, run in this process as `main` would."""

from typing import NamedTuple

from click.testing import CliRunner

from stemcache.cli.main import stemcache
from stemcache.errors import StemcacheError

__all__ = ["Run", "fails", "run"]


class Run(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def run(*arguments: object, stdin: bytes | None = None) -> Run:
    """`stemcache trace` with these arguments."""
    result = CliRunner().invoke(stemcache, ["trace", *map(str, arguments)], input=stdin)
    if isinstance(result.exception, StemcacheError):
        return Run(2, result.stdout, f"{result.stderr}stemcache: {result.exception}\n")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


def fails(*arguments: object) -> str:
    """What is said at the end on stderr by a command that exits with 2 and prints nothing."""
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    return done.err.splitlines()[-1]
