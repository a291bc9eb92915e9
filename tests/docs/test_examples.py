"""The examples, run as they stand."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def _lint(log: Path) -> Any:
    asked = [sys.executable, "-m", "stemcache", "lint", str(log), "--isolated"]
    done = subprocess.run(
        [*asked, "--output-format", "json"], capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout)


def _made(tmp_path: Path, *flags: str) -> Path:
    log = tmp_path / "calls.jsonl"
    script = str(ROOT / "examples" / "corpus_log.py")
    asked = [sys.executable, script, str(log), "--queries", "60", "--corpus-tokens", "20000"]
    subprocess.run([*asked, *flags], check=True)
    return log


def test_line_in_front_of_a_corpus_is_one_finding(tmp_path: Path) -> None:
    """Place, count, cost and fix of the case that costs most."""
    told = _lint(_made(tmp_path))
    (found,) = told["findings"]
    assert (found["kind"], found["severity"], found["count"]) == ("clock", "warning", 59)
    assert found["location"]["pointer"] == "/messages/1/content"
    assert found["share"] > 0.8
    assert found["cost_usd"] > 4
    assert "Move" in found["help"]


def test_line_behind_the_corpus_is_no_finding(tmp_path: Path) -> None:
    """The fix that the finding names."""
    assert _lint(_made(tmp_path, "--fixed"))["findings"] == []
