import json
from dataclasses import replace
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.lint.baseline import baseline_text, fingerprint_of, read_baseline, without
from stemcache.lint.finding import Location
from tests.lint.reports import AWKWARD, CLOCK, SECRET, SIMPLE, finding


def write(path: Path, text: str) -> Path:
    """A file of that text."""
    path.write_text(text)
    return path


def test_what_was_written_is_left_out(tmp_path: Path) -> None:
    """And counted, while what is new stays."""
    path = write(tmp_path / "lint.json", baseline_text(AWKWARD.findings[:2]))
    left = without(AWKWARD, read_baseline(path))
    assert [each.code for each in left.findings] == ["STM405"]
    assert left.baselined == AWKWARD.baselined + 2
    assert without(SIMPLE, read_baseline(path)) == SIMPLE
    assert left.total == AWKWARD.total


def test_a_baseline_is_a_line_a_finding_in_order() -> None:
    """With no path and no text of the log; the same finding once."""
    text = baseline_text([CLOCK, finding(fingerprint="0a"), CLOCK])
    assert text == (
        '{\n  "version": 1,\n  "findings": [\n'
        '    {"fingerprint": "' + "f" * 32 + '", "code": "STM101", "name": "clock-in-prefix"},\n'
        '    {"fingerprint": "0a", "code": "STM405", "name": "ttl-order"}\n'
        "  ]\n}\n"
    )
    assert SECRET not in text
    assert json.loads(baseline_text([])) == {"version": 1, "findings": []}


def test_a_finding_without_a_fingerprint_has_one_of_its_place() -> None:
    """Numbers of messages, files and lines do not count; the kind and the route do."""
    one = finding(location=Location("a.jsonl", 3, "/messages/7/content"))
    other = finding(location=Location("b.jsonl", 9, "/messages/12/content"), lost_tokens=5)
    assert fingerprint_of(one) == fingerprint_of(other)
    assert fingerprint_of(replace(one, kind="clock")) != fingerprint_of(one)
    assert fingerprint_of(replace(one, route="support-bot")) != fingerprint_of(one)
    assert fingerprint_of(replace(one, location=Location("a", 1, "/\ud800"))) != fingerprint_of(one)
    assert fingerprint_of(CLOCK) == "f" * 32


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 1}',
        '{"version": 1, "findings": {}}',
        '{"version": 1, "findings": [1]}',
        '{"version": 1, "findings": [{"code": "STM101"}]}',
        '{"version": 1, "findings": [{"fingerprint": 7}]}',
        '{"version": 1, "findings": [{"fingerprint": ""}]}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_what_is_no_baseline_is_refused(text: str, tmp_path: Path) -> None:
    """In a sentence that says how to make one."""
    path = tmp_path / "lint.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError) as error:
        read_baseline(path)
    assert str(error.value) == (
        f"{path} from --baseline is no baseline; make one with --write-baseline {path}"
    )


def test_a_baseline_of_another_version_is_refused(tmp_path: Path) -> None:
    """It may mean something else by a fingerprint."""
    path = write(tmp_path / "lint.json", '{"version": 2, "findings": []}')
    with pytest.raises(UsageError) as error:
        read_baseline(path)
    assert "is of version 2, which is not 1; make it anew" in str(error.value)


def test_a_baseline_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A missing one with the flag that makes it."""
    path = tmp_path / "none.json"
    with pytest.raises(UsageError) as error:
        read_baseline(path, source="stemcache.toml, baseline")
    assert str(error.value) == (
        f"no file {path} from stemcache.toml, baseline; make it with --write-baseline {path}"
    )
    with pytest.raises(UsageError) as error:
        read_baseline(tmp_path)
    assert "Is a directory; check the path" in str(error.value)
    with pytest.raises(UsageError, match="cannot read"):
        read_baseline(Path("a\0b"))
