"""What `stemcache prefix … --output-format json` says to programs where there is nothing to say."""

import json
from pathlib import Path

import pytest

from stemcache.cli.prefix_report import VERSION
from tests.cli.prefix_projects import RULES, Project

COMMANDS = ("lock", "check", "diff")
BUILDERS = """
def boom():
    raise KeyError("rules")

def number():
    return 3

def nothing():
    return {"messages": []}

def odd():
    raise ValueError("\\x1b[31m é")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty one, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    project = Project(tmp_path)
    project.write("app.py", BUILDERS)
    return project


def refused(project: Project, *arguments: str) -> str:
    """What is said on both streams by a command that exits with 2."""
    done = project.run(*arguments, "--output-format", "json")
    assert done.code == 2, done.out
    told = json.loads(done.out)
    assert sorted(told) == ["error", "version"]
    assert told["version"] == VERSION
    assert done.err.endswith(f"stemcache: {told['error']}\n")
    assert isinstance(told["error"], str)
    return told["error"]


@pytest.mark.parametrize(
    ("builder", "said"),
    [
        ("nowhere:x", "cannot be built: ModuleNotFoundError: No module named 'nowhere'"),
        ("app:boom", "cannot be built: KeyError: 'rules' at app.py:3"),
        ("app:number", "cannot be built: app:number is of type int; name a Layout"),
        ("app:nothing", "the prefix 'x' has nothing stable in it; give its layout static"),
        ("app:odd", r"cannot be built: ValueError: \x1b[31m é at app.py:12"),
    ],
)
def test_a_builder_that_fails_is_an_object_with_the_reason(
    project: Project, builder: str, said: str
) -> None:
    """One that cannot be imported, raises, or gives what is no prompt."""
    project.settings(f'x = {{ object = "{builder}", api = "messages" }}')
    assert said in refused(project, "check")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_so(project: Project, command: str) -> None:
    """Whatever it is that cannot be used: settings, names, the lock, models."""
    assert "no stemcache.toml and no pyproject.toml" in refused(project, command)
    project.text(RULES)
    assert "unknown prefix 'y' from the command line" in refused(project, command, "y")
    project.write("stemcache.lock", "[")
    assert "stemcache.lock" in refused(project, command)


def test_logs_formats_and_commits_that_there_are_not_are_said_too(project: Project) -> None:
    """What flags name."""
    project.text(RULES)
    assert project.run("lock").code == 0
    assert "'jsn' from --format" in refused(project, "diff", "--log=calls.jsonl", "--format=jsn")
    assert "leave one out" in refused(project, "diff", "--log=calls.jsonl", "--live=3")
    assert "from --base" in refused(project, "check", "--base=nowhere")


def test_people_are_told_once(project: Project) -> None:
    """On stderr alone."""
    project.settings('x = "app:boom"')
    assert "KeyError: 'rules' at app.py:3" in project.fails("check")


def test_an_answer_has_no_error(project: Project) -> None:
    """So that one name tells them apart, whatever was found."""
    project.text(RULES)
    found, locked = project.told("check"), project.told("lock")
    assert found["findings"]
    assert "error" not in found
    assert "error" not in locked
