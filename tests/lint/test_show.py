"""Every format of every report, compared with what is kept in `snapshots/`.

.venv/bin/python -m tests.lint.test_show     writes them anew, to be read before a commit
"""

from pathlib import Path
from typing import get_args

import pytest

from stemcache import __version__
from stemcache.lint import render_sarif
from stemcache.lint.finding import Report
from stemcache.lint.show import OutputFormat, show
from tests.lint.reports import AWKWARD, CLEAN, RULE, SECRET, SIMPLE

SNAPSHOTS = Path(__file__).parent / "snapshots"
REPORTS = {"simple": SIMPLE, "awkward": AWKWARD, "clean": CLEAN}
FORMATS: tuple[OutputFormat, ...] = get_args(OutputFormat)
CASES = [(name, output_format) for name in REPORTS for output_format in FORMATS]


def rendered(report: Report, output_format: OutputFormat) -> str:
    """As a file; SARIF with one rule and no version, so that neither changes a snapshot."""
    if output_format == "sarif":
        text = "\n".join(render_sarif.render(report, rules=[RULE]))
        return text.replace(f'"semanticVersion": "{__version__}"', '"semanticVersion": "0"') + "\n"
    return "".join(f"{line}\n" for line in show(report, output_format))


@pytest.mark.parametrize(("name", "output_format"), CASES)
def test_a_report_is_shown_as_before(name: str, output_format: OutputFormat) -> None:
    """To the letter, whatever paths, figures and messages are in it."""
    kept = (SNAPSHOTS / f"{name}.{output_format}.txt").read_text(encoding="utf-8")
    assert rendered(REPORTS[name], output_format) == kept


@pytest.mark.parametrize(("name", "output_format"), CASES)
def test_nothing_that_moves_a_cursor_is_shown(name: str, output_format: OutputFormat) -> None:
    """No control but the ends of lines, no mark of direction, no half of a surrogate pair."""
    for line in show(REPORTS[name], output_format):
        assert line.isprintable()
        line.encode()


@pytest.mark.parametrize("output_format", FORMATS)
def test_texts_of_prompts_are_shown_when_asked_for(output_format: OutputFormat) -> None:
    """In the formats that have room for them, and in none unasked."""
    assert SECRET not in "\n".join(show(SIMPLE, output_format))
    told = "\n".join(show(SIMPLE, output_format, show_text=True))
    assert (SECRET in told) == (output_format in {"full", "json", "sarif"})


if __name__ == "__main__":
    SNAPSHOTS.mkdir(exist_ok=True)
    for report_name, chosen in CASES:
        kept_as = SNAPSHOTS / f"{report_name}.{chosen}.txt"
        kept_as.write_text(rendered(REPORTS[report_name], chosen), encoding="utf-8")
