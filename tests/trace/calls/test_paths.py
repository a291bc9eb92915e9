import gzip
import json
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.trace.calls.paths import LogFile, answers_first, found_files

CAME = json.dumps({"custom_id": "a", "response": {"body": {}}}) + "\n"
ASKED = json.dumps({"custom_id": "a", "body": {"messages": []}}) + "\n"


def test_files_come_once_and_in_order(tmp_path: Path) -> None:
    """A file that is named and in a directory too is one file; directories are sorted."""
    for name in ("b/2.jsonl", "b/10.har", "a/x.log.gz", "a/skip.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    named = str(tmp_path / "b/2.jsonl")
    assert found_files([named, str(tmp_path), "-"]) == [
        LogFile(named, named=True),
        LogFile(str(tmp_path / "a/x.log.gz"), named=False),
        LogFile(str(tmp_path / "b/10.har"), named=False),
        LogFile("-", named=True),
    ]


def test_loops_of_links_end(tmp_path: Path) -> None:
    """A link to a directory above is not followed."""
    (tmp_path / "log.jsonl").write_text("{}")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert len(found_files([str(tmp_path)])) == 1


def test_answers_to_a_batch_come_first(tmp_path: Path) -> None:
    """Plain or compressed, files of answers are read before the others, which keep their order."""
    asked, came, packed = (str(tmp_path / name) for name in ("1", "2", "3"))
    Path(asked).write_text(ASKED)
    Path(came).write_text(CAME)
    Path(packed).write_bytes(gzip.compress(CAME.encode()))
    files = [LogFile(path, named=True) for path in ("-", asked, came, "missing", packed)]
    assert [file.path for file in answers_first(files)] == [came, packed, "-", asked, "missing"]


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of endless logs is refused."""
    monkeypatch.setattr("stemcache.trace.calls.paths._MAX_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_text("{}")
    with pytest.raises(UsageError, match="holds more than 2 logs; give some of them"):
        found_files([str(tmp_path)])
