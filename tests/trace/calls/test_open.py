import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard

from stemcache.errors import UsageError
from stemcache.trace.calls.open import open_calls
from tests.trace.calls.logs import ANSWERED, CHAT, MESSAGES, read, read_records, written

RECORDS = [{"request": CHAT, "n": number} for number in range(3)]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()


def test_a_log_says_what_it_read(tmp_path: Path) -> None:
    """Format, lines and bytes are told, and progress from the first to the last byte."""
    path = written(tmp_path, RECORDS)
    told: list[tuple[int, int | None]] = []
    log = open_calls([path], on_progress=lambda done, total: told.append((done, total)))
    assert (log.format, log.lines, log.bytes_read, log.bytes_total) == ("", 0, 0, len(LINES))
    assert len(list(log)) == 3
    assert (log.format, log.lines, log.bytes_read) == ("bodies", 3, len(LINES))
    assert told[-1] == (len(LINES), len(LINES))
    assert told == sorted(told)


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_compressed_logs(tmp_path: Path, kind: str) -> None:
    """A compressed log reads like a plain one, and its bodies can be read again."""
    path = tmp_path / "log"
    pack = gzip.compress if kind == "gzip" else zstandard.ZstdCompressor().compress
    path.write_bytes(pack(LINES))
    with open_calls([str(path)]) as log:
        calls = list(log)
        assert [call.place.line for call in calls] == [1, 2, 3]
        assert log.bytes_read == log.bytes_total == path.stat().st_size
        assert [log.reread.body(call.place) for call in calls] == [CHAT] * 3


def test_a_log_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    """Of a broken stream the whole lines are read, and what is missing is a problem."""
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(LINES)[:-8])
    calls, log = read(str(path))
    assert (len(calls), log.problems.total) == (3, 1)
    assert next(iter(log.problems.counts)).startswith("the gzip stream is cut off at byte ")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash is standard input, whose bodies can be read again too."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    with open_calls(["-"]) as log:
        calls = list(log)
        assert [str(call.place) for call in calls] == ["-:1", "-:2", "-:3"]
        assert log.bytes_total is None
        assert [log.reread.body(call.place) for call in calls] == [CHAT] * 3


def test_a_named_pipe(tmp_path: Path) -> None:
    """A pipe is read once, and its bodies are kept aside."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(LINES,))
    writer.start()
    with open_calls([str(path)]) as log:
        calls = list(log)
        assert [log.reread.body(call.place) for call in calls] == [CHAT] * 3
    writer.join()


def test_arrays_and_documents(tmp_path: Path) -> None:
    """An array of records, in one line or many, reads like lines; so does one record laid out."""
    for indent in (None, 2):
        path = tmp_path / "log.json"
        path.write_text(json.dumps(RECORDS, indent=indent))
        with open_calls([str(path)]) as log:
            calls = list(log)
            assert [call.place.line for call in calls] == [1, 2, 3]
            assert [log.reread.body(call.place) for call in calls] == [CHAT] * 3
    path.write_text(json.dumps(CHAT, indent=2))
    with open_calls([str(path)]) as log:
        (call,) = log
        assert (call.body, log.reread.body(call.place)) == (CHAT, CHAT)


def test_a_piped_document_can_be_read_again(tmp_path: Path) -> None:
    """Also a compressed document is kept for later."""
    path = tmp_path / "log.json.gz"
    for document in (RECORDS, {"data": RECORDS}):
        path.write_bytes(gzip.compress(json.dumps(document, indent=2).encode()))
        with open_calls([str(path)]) as log:
            calls = list(log)
            assert [log.reread.body(call.place) for call in calls] == [CHAT] * 3


def test_blank_lines_and_marks(tmp_path: Path) -> None:
    """Byte order marks, blank lines and Windows' ends of lines do not matter."""
    path = tmp_path / "log.jsonl"
    text = b"\xef\xbb\xbf" + LINES.replace(b"\n", b"\r\n\r\n") + b"\n \n"
    path.write_bytes(text)
    with open_calls([str(path)]) as log:
        calls = list(log)
        assert [call.place.line for call in calls] == [1, 3, 5]
        assert [log.reread.body(call.place) for call in calls] == [CHAT] * 3


def test_directories_are_searched(tmp_path: Path) -> None:
    """Logs at any depth are read in the order of their names; what is no log is counted."""
    written(tmp_path, [CHAT], "b/two.jsonl")
    written(tmp_path, [MESSAGES], "a/one.json")
    written(tmp_path, [{"name": "package"}], "a/package.json")
    (tmp_path / "a" / "notes.txt").write_text("no log")
    calls, log = read(str(tmp_path))
    assert [Path(call.place.file).name for call in calls] == ["one.json", "two.jsonl"]
    assert log.left_out == {"files of no known format": 1}


def test_logs_of_several_formats(tmp_path: Path) -> None:
    """Each file is told by itself."""
    batch = {"custom_id": "a", "url": "/v1/chat/completions", "body": CHAT}
    paths = written(tmp_path, [CHAT], "1.jsonl"), written(tmp_path, [batch], "2.jsonl")
    _, log = read(*paths)
    assert log.format == "bodies, batch"


def test_repeated_responses_count_once(tmp_path: Path) -> None:
    """A record whose response was seen is counted and no call; those without an id all count."""
    seen = {"request": MESSAGES, "response": ANSWERED}
    other = {"request": MESSAGES, "response": {**ANSWERED, "id": "msg_02"}}
    calls, log = read_records(tmp_path, [seen, other, seen, {"request": CHAT}, {"request": CHAT}])
    assert [call.id for call in calls] == ["msg_01", "msg_02", None, None]
    assert log.repeated == 1


def test_a_format_may_be_forced(tmp_path: Path) -> None:
    """A format that is named is used, whatever the records look like."""
    path = written(tmp_path, [{"custom_id": "a", "body": CHAT}])
    assert read(path)[1].format == "batch"
    (call,), log = read(path, format="bodies")
    assert (log.format, call.place.inner) == ("bodies", "/body")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"format": "claude"},
            (
                "unknown format 'claude' from --format; did you mean 'claude-code'? (batch, "
                "bedrock, bodies, claude-code, codex, har, langfuse, litellm, otel, sglang, "
                "stemcache, vllm)"
            ),
        ),
        (
            {"mapping": {"reqest": "/a"}},
            (
                "unknown field 'reqest' from --map; did you mean 'request'? (answered, cost, "
                "ended, headers, host, id, model, request, response, route, scope, session, "
                "status, tier, time, usage)"
            ),
        ),
        (
            {"mapping": {"time": "/a"}},
            (
                "--map says neither request, response nor usage, without which a record is no "
                "call; add request=/POINTER"
            ),
        ),
        (
            {"mapping": {"request": "a"}},
            (
                "the pointer 'a' for request from --map does not begin with a slash; write it like "
                "/payload/body, or leave it empty for the whole line"
            ),
        ),
        (
            {"mapping": {"request": "/a"}, "format": "bodies"},
            "--format and --map exclude each other; leave --format out",
        ),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    """A wrong format or mapping says what there is, before anything is read."""
    with pytest.raises(UsageError) as raised:
        open_calls(["log.jsonl"], **options)
    assert str(raised.value) == message


def test_wrong_paths(tmp_path: Path) -> None:
    """No paths, no file, and a directory without logs are errors that say what to give."""
    with pytest.raises(UsageError, match="no log was given; give a file, a directory, or -"):
        open_calls([])
    with pytest.raises(UsageError, match=r"it has no file that ends in \.jsonl, \.json"):
        open_calls([str(tmp_path)])
    with pytest.raises(UsageError, match=r"no file .*missing; give the path"):
        list(open_calls([str(tmp_path / "missing")]))


def test_unknown_logs_say_what_is_known(tmp_path: Path) -> None:
    """A file of no known format is an error that names the formats and the way to force one."""
    path = written(tmp_path, [{"a": 1}] * 3)
    with pytest.raises(UsageError) as raised:
        read(path)
    assert str(raised.value) == (
        f"{path} is no log of requests of a known format; say which with --format (stemcache, "
        "claude-code, codex, batch, bedrock, har, litellm, langfuse, otel, bodies, sglang, vllm), "
        "or where the body stands with --map request=/payload/body"
    )
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b" \n\n")
    with pytest.raises(UsageError, match=r"empty\.jsonl is empty; give a log of requests"):
        read(str(empty))


def test_bad_lines_are_counted_by_reason(tmp_path: Path) -> None:
    """Lines that are no JSON are left out, with how many there were and where the first stood."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        LINES + b'{"a": \n' + b"\xff\n" + b"[" * 100_000 + b"\n" + b'{"a": 1\n' + LINES
    )
    calls, log = read(str(path))
    assert len(calls) == 6
    assert log.problems.total == 4
    assert log.problems.counts["the JSON ends early"] == 2
    assert [problem.line for problem in log.problems] == [4, 5, 6, 7]


def test_a_log_is_read_once(tmp_path: Path) -> None:
    """Iterating twice is a mistake of the caller's."""
    log = open_calls([written(tmp_path, RECORDS)])
    list(log)
    with pytest.raises(AssertionError, match="a log is read once"):
        list(log)


def test_only_what_is_read_is_held(tmp_path: Path) -> None:
    """Calls come as they are read: the first does not wait for the last."""
    log = open_calls([written(tmp_path, RECORDS * 2000)])
    first = next(iter(log))
    assert first.place.line == 1
    assert log.lines == 1
    log.close()
