"""`stemcache lint` in this process, with a report made by hand in place of an analysis."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from click.testing import CliRunner

from stemcache.cli.lint_options import Wishes
from stemcache.cli.main import stemcache
from stemcache.errors import StemcacheError
from stemcache.lint.finding import Report
from stemcache.lint.options import Options
from tests.cli.trace_runs import Run

__all__ = ["Asked", "lint", "pretend"]


@dataclass
class Asked:
    """What an analysis was asked for."""

    options: list[Options] = field(default_factory=list)
    wishes: list[Wishes] = field(default_factory=list)


def pretend(patch: pytest.MonkeyPatch, report: Report) -> Asked:
    """Make every analysis give this report; remember what was asked."""
    asked = Asked()

    def analysed(_logs: tuple[str, ...], wishes: Wishes, options: Options) -> Report:
        asked.wishes.append(wishes)
        asked.options.append(options)
        return report

    patch.setattr("stemcache.cli.lint._analysed", analysed)
    return asked


def lint(
    *arguments: object, stdin: bytes | None = None, env: Mapping[str, str | None] | None = None
) -> Run:
    """`stemcache lint` with these arguments."""
    result = CliRunner().invoke(stemcache, ["lint", *map(str, arguments)], input=stdin, env=env)
    if isinstance(result.exception, StemcacheError):
        return Run(2, result.stdout, f"{result.stderr}stemcache: {result.exception}\n")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)
