import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stemcache.cli.compare import compare
from stemcache.replay.outcome import Outcome
from stemcache.replay.report import report_json
from tests.replay.test_compare import report, served


def written(path: Path, outcomes: list[Outcome]) -> str:
    """A report's file."""
    path.write_bytes(report_json(report(outcomes)))
    return str(path)


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    """Two runs, the second a little slower."""
    return [
        written(tmp_path / "a.json", served()),
        written(tmp_path / "b.json", served(0.01)),
    ]


def test_two_reports_are_compared_on_the_screen(pair: list[str]) -> None:
    """With both files' names and a plain sentence."""
    done = CliRunner().invoke(compare, pair, env={"COLUMNS": "160"})
    assert done.exit_code == 0
    assert "a.json" in done.output
    assert "B differs from A: TTFT mean is higher" in done.output


def test_and_as_json(pair: list[str]) -> None:
    """The same for the same seed; pairing can be turned off."""
    runner = CliRunner()
    one, two = (
        runner.invoke(compare, [*pair, "--output-format", "json", "--seed", "5"]).output
        for _ in range(2)
    )
    assert one == two
    values = json.loads(one)
    assert (values["paired"], values["seed"]) == (True, 5)
    assert all(figure["distinguishable"] for figure in values["figures"][:8])
    apart = runner.invoke(compare, [*pair, "--output-format", "json", "--unpaired"]).output
    assert not json.loads(apart)["paired"]


def test_another_file_is_refused(pair: list[str], tmp_path: Path) -> None:
    """By name."""
    other = tmp_path / "o.json"
    other.write_text("{}")
    done = CliRunner().invoke(compare, [pair[0], str(other)])
    assert done.exit_code != 0
    assert "o.json is no report of a replay" in str(done.exception)


def test_a_seed_that_draws_nothing_is_refused(pair: list[str]) -> None:
    """With what to write."""
    done = CliRunner().invoke(compare, [*pair, "--seed", "-1"])
    assert done.exit_code == 2
    assert "-1 is not in the range x>=0" in done.output
