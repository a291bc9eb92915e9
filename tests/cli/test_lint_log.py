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


def test_ids_that_are_none_are_told(tmp_path: Path) -> None:
    """A server that gives one id to all responses loses no call, and the reader learns of it."""
    path = tmp_path / "calls.jsonl"
    records = [
        {"request": {**BODY, "n": n}, "response": {"id": "chatcmpl-0", "choices": []}}
        for n in range(36)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with open_calls([str(path)]) as calls:
        log = LintLog(calls)
        assert len(list(log)) == 36
        assert log.repeated == 0
        (remark,) = log.remarks()
    assert remark == (
        "35 records repeat the response id chatcmpl-0 with another body: they are taken as "
        "calls of their own"
    )


def test_ids_that_are_none_are_told_up_to_three(tmp_path: Path) -> None:
    """The rest are counted; an id is shown on one line whatever it holds."""
    path = tmp_path / "calls.jsonl"
    records = [
        {"request": {**BODY, "n": n}, "response": {"id": f"id\n{n % 5}", "choices": []}}
        for n in range(10)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with open_calls([str(path)]) as calls:
        log = LintLog(calls)
        assert len(list(log)) == 10
        remarks = log.remarks()
    assert len(remarks) == 4
    assert remarks[0] == (
        "1 record repeats the response id id\\n0 with another body: it is taken as a call of its "
        "own"
    )
    assert remarks[3] == "and so do records of 2 other ids"
