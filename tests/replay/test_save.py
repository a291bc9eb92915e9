import json
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.replay.save import check_apart, check_writable, write_bytes, write_records
from tests.replay.made import outcome


def test_records_are_a_line_each_in_the_order_of_numbers(tmp_path: Path) -> None:
    """With every moment and every gap."""
    path = tmp_path / "r.jsonl"
    write_records(path, [outcome(1, error="dropped", detail="d"), outcome(0, gaps_s=(0.1, 0.2))])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["number"] for row in rows] == [0, 1]
    assert rows[0]["gaps_s"] == [0.1, 0.2]
    assert rows[0]["usage"]["prompt_tokens"] == 10
    assert (rows[1]["error"], rows[1]["detail"]) == ("dropped", "d")
    assert set(rows[0]) >= {"due_s", "sent_s", "first_byte_s", "first_token_s", "end_s", "status"}


def test_a_file_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    """A run may take an hour."""
    path = tmp_path / "no" / "r.json"
    said = f"--json {path} cannot be written: No such file or directory; choose another file"
    with pytest.raises(UsageError) as before:
        check_writable(path, "--json")
    with pytest.raises(UsageError) as after:
        write_bytes(path, b"", "--json")
    assert str(before.value) == str(after.value) == said


def test_looking_whether_a_file_can_be_written_leaves_it_alone(tmp_path: Path) -> None:
    """The run may fail, and the last report is still there."""
    path = tmp_path / "r.json"
    path.write_bytes(b"old")
    check_writable(path, "--json")
    assert path.read_bytes() == b"old"


def test_looking_whether_a_file_can_be_made_leaves_none(tmp_path: Path) -> None:
    """The run may fail, and an empty report is none; a link to nothing stays one."""
    check_writable(tmp_path / "r.json", "--json")
    assert not list(tmp_path.iterdir())
    (tmp_path / "link").symlink_to(tmp_path / "r.json")
    check_writable(tmp_path / "link", "--json")
    assert (tmp_path / "link").is_symlink()


def test_files_are_not_written_over_the_trace_nor_over_each_other(tmp_path: Path) -> None:
    """By whatever name, also where they are not there yet."""
    trace = tmp_path / "t.jsonl"
    trace.write_text("kept")
    (tmp_path / "soft").symlink_to(trace)
    (tmp_path / "hard").hardlink_to(trace)
    for name in ("t.jsonl", "soft", "hard"):
        with pytest.raises(UsageError) as caught:
            check_apart([("--json", tmp_path / name)], trace=str(trace))
        assert str(caught.value) == (
            f"--json {tmp_path / name} is the trace that is read; choose another file"
        )
    new = tmp_path / "new"
    for trace_name in (str(trace), "-"):
        with pytest.raises(UsageError) as caught:
            check_apart([("--json", new), ("--html", tmp_path / "." / "new")], trace=trace_name)
        assert str(caught.value) == f"--html {new} is the file of --json; choose another file"
    check_apart([("--json", new), ("--html", tmp_path / "other")], trace=str(trace))
    null = Path("/dev/null")
    check_apart([("--json", null), ("--html", null)], trace=str(trace))


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second ^C while it is written leaves what was there, and nothing beside it."""
    path = tmp_path / "r.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_bytes(path, b"new", "--json")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)

    def interrupted(self: Path, _: bytes) -> int:
        self.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    for target in (path, tmp_path / "other.json"):
        with pytest.raises(KeyboardInterrupt):
            write_bytes(target, b"newer", "--json")
    assert [each.name for each in tmp_path.iterdir()] == ["r.json"]
    assert path.read_bytes() == b"new"


def test_what_is_no_plain_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    """A device stays one, and a link goes on pointing to its file."""
    write_bytes(Path("/dev/null"), b"x", "--json")
    assert Path("/dev/null").is_char_device()
    (tmp_path / "link").symlink_to(tmp_path / "r.json")
    write_bytes(tmp_path / "link", b"x", "--json")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "r.json").read_bytes() == b"x"
