"""The files that bring lint into other repositories: a hook of pre-commit and a GitHub Action."""

import json
import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from stemcache.cli.lint import lint as command

ROOT = Path(__file__).parents[2]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
SHIM = """#!/usr/bin/env python3
import json, sys
print(json.dumps(sys.argv[1:]))
"""


def step(name: str) -> str:
    """The script of a step of the action."""
    text = ACTION[ACTION.index(f"- name: {name}") :]
    match = re.search(r"run: \|\n((?:        .*\n|\n)+)", text)
    assert match, f"the step {name} has a script"
    return textwrap.dedent(match[1])


def run(folder: Path, script: str, **environment: str) -> str:
    """What a script prints, run as GitHub runs it, with a stand-in for what it installs."""
    binary = folder / "temp/stemcache/bin/stemcache"
    binary.parent.mkdir(parents=True, exist_ok=True)
    for name in ("stemcache", "pip"):
        (binary.parent / name).write_text(SHIM)
        (binary.parent / name).chmod(0o755)
    python = folder / "bin/python"  # `python -m venv` has nothing left to make
    python.parent.mkdir(exist_ok=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={"PATH": path, "RUNNER_TEMP": str(folder / "temp"), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def asked(folder: Path, logs: str, args: str = "") -> list[str]:
    """The arguments that the action gives to stemcache."""
    told: list[str] = json.loads(run(folder, step("Lint"), LOGS=logs, ARGS=args))
    return told


def test_the_action_lints_what_its_patterns_match(tmp_path: Path) -> None:
    """In folders of any depth; flags are split at blanks and never matched with files."""
    (tmp_path / "logs/deep").mkdir(parents=True)
    for name in ("logs/a.jsonl", "logs/deep/b.jsonl", "c.jsonl"):
        (tmp_path / name).write_text("")
    found = asked(tmp_path, "logs/**/*.jsonl\nc.jsonl", "--select STM1 --fail-on hit_rate<0.8 *")
    flags = ["--select", "STM1", "--fail-on", "hit_rate<0.8", "*"]
    start = ["lint", "--output-format", "github", "--no-progress"]
    assert found == [*start, *flags, "--", "logs/a.jsonl", "logs/deep/b.jsonl", "c.jsonl"]


@pytest.mark.parametrize(
    "evil", ["$(touch x)", "`touch x`", "; touch x", "| touch x", "&& touch x"]
)
def test_no_input_is_executed(evil: str, tmp_path: Path) -> None:
    """It is a name of a log or a flag, whatever it spells."""
    asked(tmp_path, evil, evil)
    run(tmp_path, step("Install stemcache"), VERSION=evil, HERE="/here")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("version", "package"), [("", "/here/it is"), ("0.1.0", "stemcache==0.1.0")]
)
def test_the_action_installs_what_it_came_with(version: str, package: str, tmp_path: Path) -> None:
    """Or the version that is named."""
    told = run(tmp_path, step("Install stemcache"), VERSION=version, HERE="/here/it is")
    assert json.loads(told) == ["install", "--quiet", package]


def test_the_hook_and_the_action_use_flags_that_there_are() -> None:
    """And every input is used."""
    known = {flag for parameter in command.params for flag in parameter.opts}
    known |= {flag for parameter in command.params for flag in parameter.secondary_opts}
    for text in (HOOKS, step("Lint"), ACTION[ACTION.index("inputs:") : ACTION.index("runs:")]):
        flags = set(re.findall(r"--[a-z][a-z-]+", text))
        assert flags
        assert flags <= known
    for name in re.findall(r"^  ([a-z-]+):$", ACTION, re.MULTILINE):
        assert f"inputs.{name} }}}}" in ACTION or name == "steps"


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("calls.jsonl", True),
        ("logs/calls.jsonl.zst", True),
        ("page.har", True),
        ("calls.ndjson.gz", True),
        ("package.json", False),
        ("calls.jsonl.md", False),
    ],
)
def test_the_hook_takes_logs(name: str, *, taken: bool) -> None:
    """And leaves other files alone."""
    match = re.search(r"files: (.+)", HOOKS)
    assert match
    assert bool(re.search(match[1], name)) == taken
