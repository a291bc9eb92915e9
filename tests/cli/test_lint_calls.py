"""A line for every call."""

import json
from pathlib import Path

from click.testing import CliRunner

from stemcache.cli.main import stemcache
from tests.lint.logs import chat


def test_every_call_has_a_line_that_adds_up(tmp_path: Path) -> None:
    """Predicted less reported is what the labels of a call come to; no text is in the file."""
    log, rows = tmp_path / "log.jsonl", tmp_path / "rows.jsonl"
    records = []
    for turns in (1, 2, 3):
        usage = {"prompt_tokens": 6_000, "prompt_tokens_details": {"cached_tokens": 0}}
        records.append({"request": chat(turns), "response": {"id": f"r{turns}", "usage": usage}})
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    asked = ["lint", str(log), "--isolated", "--calls", str(rows), "--output-format", "json"]
    run = CliRunner().invoke(stemcache, asked)
    told = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [(each["line"], each["id"]) for each in told] == [(1, "r1"), (2, "r2"), (3, "r3")]
    for each in told:
        gap = each["predicted_tokens"] - each["reported_tokens"]
        assert sum(each["remainder"].values()) == max(0, gap)
    assert told[1]["lost"] == [{"kind": "unexplained", "tokens": told[1]["predicted_tokens"]}]
    assert told[1]["parent"] == f"{log}:1"
    assert "support assistant" not in rows.read_text()
    report = json.loads(run.stdout)
    found = report["reconciliation"]
    assert found["predicted_tokens"] == sum(each["predicted_tokens"] for each in told)


def test_no_log_is_written_over(tmp_path: Path) -> None:
    """The file for calls must be another than the log."""
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(chat(1)))
    run = CliRunner().invoke(stemcache, ["lint", str(log), "--calls", str(log)])
    assert "is a log that is read" in str(run.exception)
    assert json.loads(log.read_text()) == chat(1)
