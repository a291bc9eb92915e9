from io import BytesIO
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.trace.calls import spool as spool_module
from stemcache.trace.calls.call import Place
from stemcache.trace.calls.open import open_calls
from stemcache.trace.calls.spool import Spool, SpoolFile
from tests.trace.calls.logs import CHAT, MESSAGES, written


def test_any_order_gives_the_same_bodies(tmp_path: Path) -> None:
    """Bodies are found again whatever the order of asking, in several files."""
    one = written(tmp_path, [CHAT, MESSAGES] * 20, "1.jsonl")
    two = written(tmp_path, [{"request": MESSAGES}, CHAT] * 20, "2.jsonl")
    with open_calls([one, two]) as log:
        calls = list(log)
        for call in reversed(calls):
            assert log.reread.body(call.place) == call.body


def test_places_that_are_none_give_nothing(tmp_path: Path) -> None:
    """A file that was not read, a line beyond its end, and another pointer have no body."""
    path = written(tmp_path, [CHAT])
    with open_calls([path]) as log:
        list(log)
        places = [Place("other", 1), Place(path, 0), Place(path, 9), Place(path, 1, "/body")]
        assert [log.reread.body(place) for place in places] == [None] * 4


def test_a_file_that_is_gone_gives_nothing(tmp_path: Path) -> None:
    """What cannot be read any more is none, and no error."""
    path = written(tmp_path, [CHAT])
    with open_calls([path]) as log:
        (call,) = log
        Path(path).write_text("{}\n")
        assert log.reread.body(call.place) is None
        Path(path).unlink()
        assert log.reread.body(call.place) is None


def test_bodies_can_be_read_again_while_reading(tmp_path: Path) -> None:
    """A parent can be looked at before the log has ended."""
    path = written(tmp_path, [CHAT, MESSAGES, CHAT])
    with open_calls([path]) as log:
        calls = iter(log)
        first, second = next(calls), next(calls)
        assert log.reread.body(first.place) == CHAT
        assert log.reread.body(second.place) == MESSAGES
        assert next(calls).body == CHAT


def test_a_spool_keeps_texts_by_number() -> None:
    """Texts come back by their numbers, and numbers that were left out have none."""
    file = SpoolFile()
    spool, other = Spool(file), Spool(file)
    other.add(1, b"other")
    spool.add(1, b"one")
    spool.add(4, b"four" * 1000)
    assert [spool.get(number) for number in (1, 2, 3, 4, 5, 0)] == [
        b"one",
        None,
        None,
        b"four" * 1000,
        None,
        None,
    ]
    assert len(spool) == 4
    assert other.get(1) == b"other"
    file.close()


def test_a_full_disk_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where lines cannot be kept, the error says where they were to go."""

    def full() -> FullFile:
        return FullFile()

    monkeypatch.setattr(spool_module, "TemporaryFile", full)
    with pytest.raises(UsageError) as raised:
        SpoolFile().put(b"text")
    assert str(raised.value) == (
        "cannot keep lines of a log that is read once: No space left on device; set TMPDIR to a "
        "directory with room, or give plain files"
    )


class FullFile(BytesIO):
    def write(self, _: object) -> int:
        raise OSError(28, "No space left on device")
