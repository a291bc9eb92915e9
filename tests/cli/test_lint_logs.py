"""`stemcache lint` on logs, from the file to the finding."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stemcache.cli.main import stemcache
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


@pytest.mark.parametrize("name", ["har", "claude-code", "codex", "batch", "litellm", "langfuse"])
def test_a_wrong_format_is_refused(tmp_path: Path, name: str) -> None:
    """A log of which no call is read must not pass as clean."""
    path = log(tmp_path / "calls.jsonl", [body(n) for n in range(5)])
    run = lint(path, "--format", name)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"stemcache: no call could be read from {path}: 5 ")
    assert run.err.endswith(
        "; leave --format out, so that the content tells, or say where requests are with --map "
        "request=/pointer\n"
    )


def test_a_wrong_format_of_a_settings_file_is_told_with_the_file(tmp_path: Path) -> None:
    """So is a mapping that leads nowhere."""
    path = log(tmp_path / "calls.jsonl", [body(0)])
    settings = tmp_path / "stemcache.toml"
    settings.write_text('format = "claude-code"\n')
    assert lint(path).err == (
        f"stemcache: no call could be read from {path}: 1 line in which the format claude-code has "
        f"no call; leave {settings}, format out, so that the content tells, or say where requests "
        "are with --map request=/pointer\n"
    )
    settings.write_text('map = {request = "/no"}\n')
    run = lint(path)
    assert run.code == 2
    assert run.err == (
        f"stemcache: no call could be read from {path}: 1 line skipped because nothing at /no; "
        f"look at a line, and mend {settings}, map: request=/pointer\n"
    )


def test_what_is_left_out_of_an_archive_is_told(tmp_path: Path) -> None:
    """An archive without a request to a model gives nothing to judge."""
    path = tmp_path / "page.har"
    entry = {"request": {"method": "GET", "url": "https://example.com/"}, "response": {}}
    path.write_text(json.dumps({"log": {"entries": [entry] * 3}}))
    run = lint(path, "--format", "har")
    assert run.code == 2
    assert f"from {path}: 3 requests that ask no model; " in run.err


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ('provider = "antropic"', "unknown provider 'antropic' from {file}, provider; did you"),
        ('format = "hra"', "unknown format 'hra' from {file}, format; did you mean 'har'?"),
        ("map = {requst = '/a'}", "unknown field 'requst' from {file}, map; did you"),
        ("map = {request = 'a'}", "the pointer 'a' for request from {file}, map does not begin"),
        ("map = {time = '/a'}", "{file}, map says neither request, response nor usage"),
        ("[rules.anthropic]\nminimun = 3", "unknown key 'minimun' from {file}, rule 1"),
        ('prices.openai.x = "free"', "{file}, price, openai, x is the text 'free'; give a table"),
        ("[prices.antropic.x]\ninput = 1", "unknown provider 'antropic' from {file}; did you"),
    ],
)
@pytest.mark.parametrize("command", ["lint", "explain"])
def test_errors_of_a_settings_file_name_the_file(
    tmp_path: Path, settings: str, error: str, command: str
) -> None:
    """And no flag that nobody gave."""
    path = log(tmp_path / "calls.jsonl", [body(n) for n in range(2)])
    file = tmp_path / "stemcache.toml"
    file.write_text(settings)
    arguments = [str(path)] if command == "lint" else [f"{path}:1", f"{path}:2"]
    result = CliRunner().invoke(stemcache, [command, *arguments])
    assert error.format(file=file) in str(result.exception)


def test_an_alias_of_a_model_that_nothing_knows_is_told(tmp_path: Path) -> None:
    """With the nearest name; it would give neither rule nor price in silence."""
    path = log(tmp_path / "calls.jsonl", [{**body(n), "model": "mine"} for n in range(2)])
    (tmp_path / "stemcache.toml").write_text('aliases = {mine = "claud-opus-5"}')
    told = json.loads(lint(path, "--output-format", "json").out)["remarks"]
    assert (
        "the alias mine stands for claud-opus-5, a model that no price is known for; did you mean "
        "claude-opus-5?"
    ) in told
    run = CliRunner().invoke(stemcache, ["explain", f"{path}:1", f"{path}:2"])
    assert "the alias mine stands for claud-opus-5" in " ".join(run.stdout.split())


def test_objects_laid_out_over_lines_are_read(tmp_path: Path) -> None:
    """As `jq .` writes them; findings are those of the same log as JSONL."""
    bodies = [body(n) for n in range(4)]
    path = tmp_path / "calls.json"
    path.write_text("\n".join(json.dumps(each, indent=2) for each in bodies))
    told = json.loads(lint(path, "--output-format", "json").out)
    lines = json.loads(lint(log(tmp_path / "calls.jsonl", bodies), "--output-format", "json").out)
    assert told["total"]["calls"] == 4
    assert [each["code"] for each in told["findings"]] == ["STM101"]
    assert told["total"]["lost_tokens"] == lines["total"]["lost_tokens"]
    assert told["findings"][0]["location"]["line"] == 2


def test_a_directory_without_a_log_is_refused(tmp_path: Path) -> None:
    """What is in it is counted."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("a.json", "b.json"):
        (folder / name).write_text('{"a": 1}\n')
    run = lint(folder)
    assert run.code == 2
    assert f"from {folder}: 2 files of no known format; name the format with --format" in run.err
