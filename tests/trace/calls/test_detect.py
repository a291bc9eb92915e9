import json
from pathlib import Path

import pytest

from stemcache.trace.calls.detect import CALL_FORMATS
from tests.trace.calls.logs import read
from tests.trace.calls.samples import LOGS, RECORDS


def test_each_format_has_a_sample() -> None:
    """The table below is about all formats."""
    assert set(LOGS) == set(CALL_FORMATS)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_formats_are_told_by_content(tmp_path: Path, name: str) -> None:
    """Each log is known for what it is, under a name that says nothing."""
    path = tmp_path / "log"
    path.write_bytes(LOGS[name])
    calls, log = read(str(path))
    assert log.format == name
    assert calls
    assert log.problems.total == 0


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_each_record_tells_the_same(tmp_path: Path, name: str) -> None:
    """A log may begin with any of its records."""
    for record in RECORDS[name]:
        path = tmp_path / "log"
        path.write_text(json.dumps(record) + "\n")
        assert read(str(path))[1].format in {name, ""}


@pytest.mark.parametrize("name", sorted(LOGS))
def test_calls_keep_to_the_promise_of_their_format(tmp_path: Path, name: str) -> None:
    """No call is nearer to the wire than its format says."""
    path = tmp_path / "log"
    path.write_bytes(LOGS[name])
    order = list(type(CALL_FORMATS[name].fidelity))
    best = order.index(CALL_FORMATS[name].fidelity)
    assert all(order.index(call.fidelity) >= best for call in read(str(path))[0])


@pytest.mark.parametrize("name", sorted(LOGS))
def test_bodies_read_again_are_equal(tmp_path: Path, name: str) -> None:
    """Every body of every format can be had once more."""
    path = tmp_path / "log"
    path.write_bytes(LOGS[name])
    calls, log = read(str(path))
    assert [log.reread.body(call.place) for call in calls] == [call.body for call in calls]
