import json
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.replay import report as report_module
from stemcache.replay.report import read_report, report_json, without_columns
from tests.replay.made import outcome
from tests.replay.test_compare import report


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every field, columns and unknown values included."""
    made = report([outcome(0, tenant="t"), outcome(1, error="http_500", detail="d", cached=None)])
    path = tmp_path / "r.json"
    path.write_bytes(report_json(made))
    assert read_report(path) == made


def test_a_report_names_its_kind_and_leaves_the_unknown_null() -> None:
    """So that a reader need not guess, and a missing figure is not zero."""
    values = json.loads(report_json(report([outcome(0, prompt=None, cached=None, output=None)])))
    assert (values["kind"], values["version"]) == ("stemcache replay", 1)
    assert values["hit_rates"][0]["hit_rate"] is None
    assert values["measured_prompt_tokens"] is None
    assert values["output_tokens"] is None
    assert values["throughput"]["prompt_tokens_per_s"] is None
    assert values["columns"]["cached_tokens"] == [None]


def test_columns_can_be_left_out() -> None:
    """They are most of it."""
    made = report([outcome(n) for n in range(100)])
    assert len(report_json(without_columns(made))) < len(report_json(made)) / 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "is no report of a replay (Input data was truncated)"),
        (b"[]", "is no report of a replay"),
        (b"\xff", "is no report of a replay"),
        (b'{"kind": "other"}', "give what --json FILE wrote"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    """Naming it."""
    path = tmp_path / "r.json"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_report(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    """Its figures may mean something else."""
    values = json.loads(report_json(report([outcome()])))
    path = tmp_path / "r.json"
    path.write_text(json.dumps(values | {"version": 2}))
    with pytest.raises(UsageError) as caught:
        read_report(path)
    assert str(caught.value) == (
        f"{path} is 'stemcache replay', version 2; give a report of 'stemcache replay', version 1"
    )


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With what the system says."""
    with pytest.raises(UsageError, match="cannot be read: No such file or directory; check its"):
        read_report(tmp_path / "none.json")


def test_a_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it fills the memory."""
    monkeypatch.setattr(report_module, "_LARGEST_BYTES", 2**22)
    with pytest.raises(UsageError) as caught:
        read_report(Path("/dev/zero"))
    assert str(caught.value) == ("/dev/zero is larger than 4 MiB; give what --json FILE wrote")
