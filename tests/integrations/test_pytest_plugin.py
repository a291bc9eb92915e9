"""pytest itself, in a folder of its own, whose `conftest.py` names the plug-in."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIGURATION = """
[tool.pytest.ini_options]
filterwarnings = ["error", "default::pytest.PytestDeprecationWarning"]  # other plug-ins' own
"""
BUILDERS = """
    from datetime import datetime

    def clocked(question):
        return [{"role": "system", "content": f"It is {datetime.now()}."},
                {"role": "user", "content": question}]

    def clean(question):
        return [{"role": "system", "content": "Be kind."},
                {"role": "user", "content": f"{datetime.now()} {question}"}]

    def unsorted(question):
        return ", ".join({"alpha", "beta", "gamma", "delta"})
"""
TESTS = """
    from builders import clean, clocked, unsorted

    def here(question):
        return "Be kind."

    def test_clean(assert_prefix_stable):
        assert "hash-seed" in assert_prefix_stable(clean, "Hello", runs=1).checked

    def test_clocked(assert_prefix_stable):
        assert_prefix_stable(clocked, "Hello", runs=1)

    def test_unsorted(assert_prefix_stable):
        assert_prefix_stable(unsorted, "Hello", runs=1, own_process=True)

    def test_of_this_file(assert_prefix_stable):
        assert_prefix_stable(here, "Hello", runs=1, own_process=True)

    def test_lambda(assert_prefix_stable):
        assert_prefix_stable(lambda: "Be kind.", runs=1)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of somebody's."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(CONFIGURATION)
    (folder / "conftest.py").write_text(
        'pytest_plugins = ["stemcache.integrations.pytest_plugin"]\n'
    )
    (folder / "builders.py").write_text(_dedented(BUILDERS))
    (folder / "test_prompts.py").write_text(_dedented(TESTS))
    return folder


def _dedented(text: str) -> str:
    return "\n".join(line[4:] for line in text.splitlines())


def _pytest(project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_a_fixture_of_that_name_is_there(project: Path) -> None:
    """By that line alone; faults fail with the place, the clean and the rest pass."""
    done = _pytest(project, "-rP", "-p", "no:randomly", "--import-mode=append")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 3 passed" in done.stdout
    assert "the prefix of the prompt changes with the clock" in done.stdout
    assert re.search(r"where +system, /0/content, byte 8 ", done.stdout)
    assert "changes with PYTHONHASHSEED, and so the order of sets of strings" in done.stdout
    assert "stability_check.py" not in done.stdout  # the traceback ends in the test
    assert "not checked: hash seeds and other processes: the builder is a lambda" in done.stdout


@pytest.mark.skipif(
    importlib.util.find_spec("pytest_randomly") is None, reason="needs pytest-randomly"
)
def test_what_turns_chance_itself_changes_nothing(project: Path) -> None:
    """pytest-randomly seeds the generators and shuffles tests."""
    done = _pytest(project, "-v", "-k", "clocked or of_this_file")

    assert "Using --randomly-seed" in done.stdout, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="needs pytest-xdist")
def test_workers_of_xdist_have_it_too(project: Path) -> None:
    """The same comes out in two processes at once."""
    done = _pytest(project, "-n", "2")

    assert "2 failed, 3 passed" in done.stdout, done.stdout + done.stderr


def test_files_of_one_name_are_told_apart(project: Path) -> None:
    """A test's file is imported elsewhere by its path, also where that is no package."""
    for name in ("one", "two"):
        (project / name).mkdir()
        (project / name / "test_it.py").write_text(
            "def built():\n"
            f"    return {name!r}\n"
            "def test_it(assert_prefix_stable):\n"
            "    assert_prefix_stable(built, runs=1, own_process=True)\n"
        )

    done = _pytest(project, "--import-mode=importlib", "one", "two")

    assert done.returncode == 0, done.stdout + done.stderr


def test_who_does_not_use_it_pays_nothing(project: Path) -> None:
    """Only three small modules are loaded; none of what checks, and no library."""
    (project / "test_prompts.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    ours = sorted(name for name in sys.modules if name.startswith('stemcache'))\n"
        "    assert ours == ['stemcache', 'stemcache.integrations',\n"
        "                    'stemcache.integrations.pytest_plugin']\n"
        "    assert 'msgspec' not in sys.modules and 'numpy' not in sys.modules\n"
    )

    done = _pytest(project, "-p", "no:randomly", "-p", "no:hypothesispytest")

    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_there_only_where_it_is_named(project: Path) -> None:
    """Who has stemcache installed gets no plug-in, and no rewritten assertions, unasked."""
    (project / "conftest.py").unlink()
    (project / "test_prompts.py").write_text(
        "def test_clean(assert_prefix_stable):\n    assert_prefix_stable(str)\n"
    )

    done = _pytest(project)

    assert "fixture 'assert_prefix_stable' not found" in done.stdout
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "pytest11" not in metadata["project"].get("entry-points", {})
