"""The recorder beside the calls: it never waits, never raises, and counts what it loses."""

import errno
import json
import os
import threading
from pathlib import Path

import httpx
import pytest

from stemcache.errors import UsageError
from stemcache.record import record as record_module
from stemcache.record import recorder as recorder_module
from stemcache.record.capture import Budget, Capture
from stemcache.record.record import Line
from stemcache.record.recorder import Recorder
from tests.record.fake_provider import FakeProvider
from tests.record.live_proxy import near_proxy, read_records
from tests.record.made import BODY, exchange


class Told:
    """What a recorder says, and when it has."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.said = threading.Event()

    def __call__(self, message: str) -> None:
        """Hear."""
        self.lines.append(message)
        self.said.set()


def test_what_is_submitted_is_written(tmp_path: Path) -> None:
    """In order, a line each, counted with its tokens."""
    told = Told()
    recorder = Recorder(tmp_path / "calls.jsonl", tell=told)
    for number in range(100):
        recorder.submit(exchange(b'{"messages": [%d]}' % number))
    tally = recorder.close()

    records = read_records(tmp_path / "calls.jsonl")
    assert [r["request"] for r in records] == [f'{{"messages": [{n}]}}' for n in range(100)]
    assert (tally.recorded, tally.lost, tally.with_usage) == (100, 0, 100)
    assert (tally.prompt_tokens, tally.cached_tokens) == (400, 300)
    assert tally.recorded_bytes == (tmp_path / "calls.jsonl").stat().st_size
    assert told.lines == []


def test_a_full_disk_fails_no_call_and_is_told_once(fake: FakeProvider) -> None:
    """Through the proxy: every answer comes, one line is said at the first and one at the tenth."""
    with near_proxy(fake.url, Path("/dev/full")) as live:
        with httpx.Client() as client:
            for _ in range(12):
                assert client.post(f"{live.url}/v1/messages", content=BODY).status_code == 200
        live.stop()
    why = "the file cannot be written: No space left on device; calls go on"
    assert live.recorder.tally.lost == 12
    assert sorted(live.talk) == [
        f"1 call was not recorded so far: {why}",
        f"10 calls were not recorded so far: {why}",
    ]


def test_a_disk_that_has_room_again_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a full disk cut off is not in the file; what comes later is."""
    real = os.write
    calls = []

    def write(descriptor: int, data: memoryview) -> int:
        calls.append(len(data))
        if len(calls) in {3, 4}:
            if len(calls) == 4:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, data[:50])
        return real(descriptor, data)

    recorder = Recorder(tmp_path / "calls.jsonl", tell=Told())
    monkeypatch.setattr("stemcache.record.output.os.write", write)
    for number in range(4):
        recorder.submit(exchange(b'{"messages": [%d]}' % number))
    tally = recorder.close()

    records = read_records(tmp_path / "calls.jsonl")
    requests = [json.loads(r["request"])["messages"] for r in records]
    assert requests == [[0], [1], [3]]
    assert (tally.recorded, tally.lost) == (3, 1)


def test_a_mistake_of_ours_loses_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer goes on with the next."""
    real = record_module.line_of

    def broken(call: object, *arguments: object) -> object:
        if len(done) == 1:
            done.append(None)
            raise RuntimeError("prompt text")
        done.append(None)
        return real(call, *arguments)  # type: ignore[arg-type]  # passed on as they came

    done: list[None] = []
    monkeypatch.setattr(recorder_module, "line_of", broken)
    told = Told()
    recorder = Recorder(tmp_path / "calls.jsonl", tell=told)
    for _ in range(3):
        recorder.submit(exchange())
    tally = recorder.close()

    assert told.said.wait(10)
    assert (tally.recorded, tally.lost) == (2, 1)
    assert told.lines == [
        "1 call was not recorded so far: a mistake of stemcache's, RuntimeError; calls go on"
    ]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_writer_that_dies_fails_no_call(
    fake: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the proxy: calls go on and are counted as lost."""

    def deadly(*_: object) -> object:
        raise SystemExit

    monkeypatch.setattr(recorder_module, "line_of", deadly)
    with near_proxy(fake.url, tmp_path / "calls.jsonl") as live:
        with httpx.Client() as client:
            for _ in range(3):
                assert client.post(f"{live.url}/v1/messages", content=BODY).status_code == 200
                live.recorder._writer().join(10)
        live.stop()
    assert live.recorder.tally.recorded == 0
    assert live.recorder.tally.lost == 3


def test_a_full_queue_loses_calls_and_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the writer is stuck, as many calls wait as may; the others are counted as lost."""
    stuck, go = threading.Event(), threading.Event()
    real = record_module.line_of

    def slow(*arguments: object) -> object:
        stuck.set()
        go.wait(10)
        return real(*arguments)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(recorder_module, "line_of", slow)
    monkeypatch.setattr(recorder_module, "MOST_QUEUED", 2)
    recorder = Recorder(tmp_path / "calls.jsonl", tell=Told())
    recorder.submit(exchange())
    assert stuck.wait(10)
    for _ in range(5):
        recorder.submit(exchange())
    assert recorder.tally.lost == 3
    go.set()
    assert recorder.close().recorded == 3


def test_memory_that_is_used_up_loses_calls(tmp_path: Path) -> None:
    """A body that found no room is not recorded half."""
    recorder = Recorder(tmp_path / "calls.jsonl", memory_bytes=1000, tell=Told())
    large = recorder.capture()
    large.add(b"x" * 900)
    call = exchange(request=recorder.capture())
    call.request.add(BODY * 2)
    recorder.submit(call)
    assert recorder.tally.lost == 1

    large.release()
    call = exchange(request=recorder.capture())
    call.request.add(BODY)
    recorder.submit(call)
    assert recorder.close().recorded == 1


def test_a_listener_that_fails_or_waits_holds_nothing_up() -> None:
    """Standard error may be a full pipe, or closed."""
    go = threading.Event()

    def tell(message: str) -> None:
        go.wait(10)
        raise OSError(message)

    recorder = Recorder("/dev/full", tell=tell)
    for _ in range(3):
        recorder.submit(exchange())
    assert recorder.close().lost == 3
    go.set()


def test_a_closed_recorder_takes_no_more(tmp_path: Path) -> None:
    """And may be closed again."""
    recorder = Recorder(tmp_path / "calls.jsonl", tell=Told())
    recorder.close()
    recorder.submit(exchange())
    assert recorder.close().lost == 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # from Python 3.12 on
def test_a_forked_process_records_too(tmp_path: Path) -> None:
    """A fork has no threads: it starts its own writer, into the same file."""
    recorder = Recorder(tmp_path / "calls.jsonl", tell=Told())
    recorder.submit(exchange())
    child = os.fork()
    if child == 0:
        recorder.submit(exchange())
        recorder.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    recorder.close()

    assert len(read_records(tmp_path / "calls.jsonl")) == 2


def test_several_recorders_share_a_file(tmp_path: Path) -> None:
    """Their lines do not mix, and their scopes are equal."""
    recorders = [Recorder(tmp_path / "calls.jsonl", tell=Told()) for _ in range(4)]
    for _ in range(50):
        for recorder in recorders:
            recorder.submit(exchange(b'{"messages": ["%b"]}' % (b"x" * 5000)))
    for recorder in recorders:
        recorder.close()

    records = read_records(tmp_path / "calls.jsonl")
    assert len(records) == 200
    assert len({r["scope"] for r in records}) == 1


def test_a_file_stops_at_the_size_that_is_allowed(tmp_path: Path) -> None:
    """Later calls are lost, and it says why."""
    told = Told()
    recorder = Recorder(tmp_path / "calls.jsonl", most_bytes=2000, tell=told)
    for _ in range(10):
        recorder.submit(exchange())
    tally = recorder.close()

    assert told.said.wait(10)
    assert (tmp_path / "calls.jsonl").stat().st_size <= 2000
    assert tally.recorded >= 1
    assert tally.recorded + tally.lost == 10
    assert "the file has reached the size that --max-bytes allows" in told.lines[0]


def test_a_line_that_was_cut_off_is_ended(tmp_path: Path) -> None:
    """What a killed process left does not take the next line with it."""
    output = tmp_path / "calls.jsonl"
    output.write_bytes(b'{"stemcache": 1, "ti')
    recorder = Recorder(output, tell=Told())
    recorder.submit(exchange())
    recorder.close()

    first, second = output.read_bytes().splitlines()
    assert first == b'{"stemcache": 1, "ti'
    assert json.loads(second)["stemcache"] == 1


def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    """And that is said."""
    output = tmp_path / "calls.jsonl"
    output.touch(mode=0o644)
    told = Told()
    Recorder(output, tell=told).close()

    assert told.said.wait(10)
    assert output.stat().st_mode & 0o777 == 0o600
    assert told.lines == [
        f"{output} could be read by others; it is for its owner alone now (mode 600)"
    ]


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Before anything else."""
    with pytest.raises(UsageError) as told:
        Recorder(tmp_path / "no" / "calls.jsonl", tell=Told())
    assert str(told.value) == (
        f"cannot record into {tmp_path}/no/calls.jsonl: No such file or directory; "
        "name a file in a directory that exists and can be written to"
    )


def test_a_capture_keeps_the_beginning_and_the_end() -> None:
    """Of what is larger than its limit; memory is bounded and given back."""
    budget = Budget(10 * 2**20)
    capture = Capture(100, budget)
    for _ in range(64):
        capture.add(b"x" * 2**18)
    capture.add(b"end")

    assert capture.head == b"x" * 100
    assert capture.tail.endswith(b"xend")
    assert capture.truncated
    assert capture.size_bytes == 64 * 2**18 + 3
    assert len(capture.tail) <= 2**21
    capture.release()
    assert budget.take(10 * 2**20)


def test_many_threads_submit_to_one_writer(tmp_path: Path) -> None:
    """The first calls too, when the writer has not begun yet."""
    recorder = Recorder(tmp_path / "calls.jsonl", tell=Told())
    gate = threading.Barrier(8)

    def submit() -> None:
        gate.wait()
        for _ in range(25):
            recorder.submit(exchange())

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.close().recorded == 200
    assert len(read_records(tmp_path / "calls.jsonl")) == 200


def test_without_an_output_lines_are_made_for_who_listens(tmp_path: Path) -> None:
    """Nothing is written, everything is counted, and `each` sees what would have been written."""
    lines: list[Line] = []
    recorder = Recorder(None, tell=Told(), each=lines.append)
    for number in range(20):
        recorder.submit(exchange(b'{"messages": [%d]}' % number))
    tally = recorder.close()

    assert recorder.path is None
    assert (tally.recorded, tally.lost, tally.prompt_tokens) == (20, 0, 80)
    assert [json.loads(line.data)["request"] for line in lines] == [
        f'{{"messages": [{n}]}}' for n in range(20)
    ]
    assert list(tmp_path.iterdir()) == []


def test_who_listens_hears_of_what_cannot_be_written_and_may_fail(tmp_path: Path) -> None:
    """A full disk stops no listener, and a listener that raises stops no record."""
    lines: list[Line] = []

    def each(line: Line) -> None:
        lines.append(line)
        raise ValueError("not my day")

    for output, recorded in (("/dev/full", 0), (tmp_path / "calls.jsonl", 3)):
        recorder = Recorder(output, tell=Told(), each=each)
        for _ in range(3):
            recorder.submit(exchange())
        assert recorder.close().recorded == recorded
    assert len(lines) == 6


def test_settle_waits_for_all_that_was_handed_over() -> None:
    """Whoever asks has seen every call that ended; a listener that hangs is not waited for."""
    lines: list[Line] = []
    hold = threading.Event()

    def each(line: Line) -> None:
        hold.wait(10)
        lines.append(line)

    recorder = Recorder(None, tell=Told(), each=each)
    for _ in range(3):
        recorder.submit(exchange())
    assert not recorder.settle(0.01)
    assert recorder.waiting >= 2
    hold.set()
    assert recorder.settle(10)
    assert (len(lines), recorder.waiting) == (3, 0)
    recorder.close()
    assert recorder.settle(0.0)
