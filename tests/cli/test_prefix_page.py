"""The page on prefixes, against the code."""

import re
import shlex
from dataclasses import fields
from pathlib import Path

import click
import pytest

from stemcache.cli.prefix import prefix
from stemcache.cli.prefix_report import VERSION, Report, as_json
from stemcache.cli.prefix_settings import _KEYS, _LOCK_KEYS, _TIMEOUT_S, project_of
from stemcache.lint.settings import read_settings
from stemcache.prompt.lock.check import FindingKind
from stemcache.prompt.lock.cost import ColdWrite
from stemcache.wire.api import Api
from tests.cli.prefix_projects import RULES, Project

PAGE = (Path(__file__).parents[2] / "docs" / "prefix.md").read_text(encoding="utf-8")
OWN = PAGE.partition("<!-- generated")[0]


def cells(head: str) -> list[str]:
    """Names in the first cells of the table with this head."""
    _, found, rest = OWN.partition(head)
    assert found, f"there is a table with the head {head}"
    rows = rest.partition("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def blocks(language: str) -> list[str]:
    """Code of the page."""
    return re.findall(rf"```{language}\n(.*?)```", OWN, re.DOTALL)


def test_every_key_and_finding_is_on_the_page() -> None:
    """And no other."""
    assert sorted(cells("| key of a prefix | |")) == sorted(_KEYS)
    assert sorted(cells("| key of `lock` | default | |")) == sorted(_LOCK_KEYS)
    assert sorted(cells("| finding | |")) == sorted(FindingKind)
    assert f"| `timeout` | {_TIMEOUT_S:g} |" in OWN
    (apis,) = re.findall(r"^\| `api` \| (.*) \|$", OWN, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", apis)) == sorted(Api)


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    """Read as they stand."""
    path = tmp_path / "pyproject.toml"
    path.write_text(blocks("toml")[0])
    found = project_of(read_settings(path))
    assert [one.name for one in found.prefixes] == ["agent", "rules", "support", "triage"]


def test_the_layout_of_the_page_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands."""
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path)
    project.write("app.py", blocks("python")[0])
    project.settings('support = "app:support"')
    assert project.run("lock").code == 0
    assert 'version = "rules=3 handbook=2026-11"' in (tmp_path / "stemcache.lock").read_text()


def test_the_diff_of_the_page_is_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For an edit of a date in a long text."""
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path)
    lock = 'models = ["anthropic/claude-opus-4-5"]'
    project.text(f"Today is 2026-11-30.\n{RULES}", lock=lock)
    project.run("lock")
    project.commit()
    project.text(f"Today is 2026-12-01.\n{RULES}", version="2", lock=lock)
    (shown,) = (block for block in blocks("console") if "diff triage" in block)
    assert project.run("diff", "triage").out == shown.partition("\n")[2]


def test_commands_of_the_page_have_the_flags_that_they_are_given() -> None:
    """Those for CI too."""
    lines = re.findall(r"stemcache prefix ((?:lock|check|diff)[^`\n|>]*)", OWN)
    assert len(lines) > 6
    context = click.Context(prefix)
    for line in lines:
        name, *words = shlex.split(line.partition("  #")[0])
        command = prefix.get_command(context, name)
        assert command is not None
        known = {flag for one in command.params for flag in one.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def test_the_json_of_the_page_is_what_is_written() -> None:
    """Every name, and the version."""
    told = "\n".join(as_json(Report(lock="x"), show_text=False))
    names = {"version", "lock", "checked", "findings", "prefixes", "remarks"}
    assert set(re.findall(r'^  "(\w+)"', told, re.MULTILINE)) == names
    assert set(cells("| name | holds |")) == names
    assert f"| `version` | {VERSION}; " in OWN
    (costs,) = re.findall(r"^\| `costs` \| (.*) \|$", OWN, re.MULTILINE)
    assert {one.name for one in fields(ColdWrite)} < set(re.findall(r"`(\w+)`", costs))
