"""`stemcache lint` on logs, from the file to the finding."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.lint_runs import lint

SECRET = "the patient's name is Ada"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings file of whoever runs the tests."""
    (tmp_path / "stemcache.toml").touch()  # the nearest, so that none above it is read
    monkeypatch.chdir(tmp_path)


def body(second: int) -> dict[str, Any]:
    """A request whose system prompt begins with a clock, in front of a long text."""
    clock = f"Current time: 2026-11-30T10:00:{second:02}Z\n"
    text = "".join(f"Clause {n}: {SECRET} and pays {n * 7} a month.\n" for n in range(400))
    return {
        "model": "claude-opus-4-5",
        "max_tokens": 16,
        "system": [{"type": "text", "text": clock + text, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": f"Question {second}?"}],
    }


def log(path: Path, values: list[Any]) -> Path:
    """A JSONL file of these."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def test_a_bare_log_gives_a_finding_with_place_cost_and_fix(tmp_path: Path) -> None:
    """Without any flag."""
    run = lint(log(tmp_path / "calls.jsonl", [body(n) for n in range(5)]))
    assert run.code == 1
    assert run.err == ""
    assert "STM101 clock-in-prefix" in run.out
    assert "/system/0/text:32" in run.out
    assert "warning: 4 requests" in run.out
    assert "$" in run.out
    assert "help:" in run.out
    assert SECRET not in run.out


def test_the_json_of_a_log_has_kind_and_pointer(tmp_path: Path) -> None:
    """As programs want it."""
    path = log(tmp_path / "calls.jsonl", [body(n) for n in range(5)])
    told = json.loads(lint(path, "--output-format", "json").out)
    found = told["findings"][0]
    assert (found["kind"], found["severity"], found["count"]) == ("clock", "warning", 4)
    assert found["location"]["pointer"] == "/system/0/text"
    assert found["location"]["file"] == str(path)
    assert found["lost_tokens"] > 10_000
    assert found["cost_usd"] > 0
    assert told["total"]["calls"] == 5


def test_a_baseline_of_one_log_holds_for_the_next(tmp_path: Path) -> None:
    """The same cause in other requests is known."""
    first = log(tmp_path / "monday.jsonl", [body(n) for n in range(5)])
    second = log(tmp_path / "tuesday.jsonl", [body(n) for n in range(20, 30)])
    assert lint(first, "--write-baseline", "lint.json").code == 0
    run = lint(second, "--baseline", "lint.json")
    assert run.code == 0
    assert run.out.startswith("Nothing found beyond the ")


def test_a_log_comes_from_a_pipe(tmp_path: Path) -> None:
    """As from a file."""
    data = log(tmp_path / "calls.jsonl", [body(n) for n in range(3)]).read_bytes()
    run = lint("-", "--output-format", "concise", stdin=data)
    assert run.code == 1
    assert run.out.startswith("-:")
    assert " STM101 clock-in-prefix /system/0/text:32 " in run.out


def test_lines_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    """And the others are judged."""
    path = log(tmp_path / "calls.jsonl", [body(n) for n in range(3)])
    with path.open("a") as file:
        file.write('{"model": \n')
    run = lint(path, "--output-format", "json")
    told = json.loads(run.out)
    assert told["findings"][0]["code"] == "STM101"
    assert sum(told["total"]["skipped"].values()) == 1
    assert f"not read: {path}:4: " in told["remarks"][-1]


def test_a_log_of_no_calls_is_refused(tmp_path: Path) -> None:
    """With what to try."""
    run = lint(log(tmp_path / "t.jsonl", [{"a": 1}]))
    assert run.code == 2
    assert "--map request=/payload/body" in run.err
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"a": \n{"b": \n')
    run = lint(broken)
    assert run.code == 2
    assert str(broken) in run.err
    run = lint(tmp_path / "none.jsonl")
    assert run.code == 2
    assert "none.jsonl" in run.err
