import json
from pathlib import Path

from stemcache.cli.lint_log import LintLog
from stemcache.trace.calls.open import open_calls

BODY = {"model": "gpt-5.6", "messages": [{"role": "user", "content": "Hi"}]}


def test_a_log_is_read_once_and_its_bodies_again(tmp_path: Path) -> None:
    """With what could not be read, by reason and by place."""
    path = tmp_path / "calls.jsonl"
    broken = ['{"model": '] * 5
    path.write_text("\n".join([json.dumps(BODY), *broken, json.dumps({**BODY, "n": 2})]))
    with open_calls([str(path)]) as calls:
        log = LintLog(calls)
        found = list(log)
        assert [call.place.line for call in found] == [1, 7]
        assert log.again(found[1].place) == {**BODY, "n": 2}
        assert log.repeated == 0
        assert sum(log.skipped.values()) == 5
        (remark,) = log.remarks()
    assert remark.startswith(f"not read: {path}:2: ")
    assert f"; {path}:4: " in remark
    assert remark.endswith("; and 2 more")


def test_records_that_are_no_calls_are_told(tmp_path: Path) -> None:
    """Files of a directory that are of no known format among them."""
    (tmp_path / "calls.jsonl").write_text(json.dumps(BODY) + "\n")
    (tmp_path / "other.json").write_text('{"a": 1}\n')
    with open_calls([str(tmp_path)]) as calls:
        log = LintLog(calls)
        assert len(list(log)) == 1
        assert log.remarks() == ("1 record left out as no call: files of no known format",)
        assert log.skipped == {}
