from pathlib import Path
from typing import Any

import pytest

from stemcache.trace import bailian
from tests.trace.traces import DATA, read, refusal, same, shared_blocks, write_lines


def line(chat: int, parent: int = -1, **fields: Any) -> dict[str, Any]:
    """A record of two blocks."""
    usual = {"timestamp": 1.5, "input_length": 32, "output_length": 3, "hash_ids": [1, 2]}
    return {"chat_id": chat, "parent_chat_id": parent, "type": "text", "turn": 1} | usual | fields


def test_records_become_requests() -> None:
    """Times are seconds, blocks have 16 tokens, a session is named for its first chat."""
    requests = read(DATA / "bailian.jsonl")
    assert [one.arrival_s for one in requests] == [0.0, 0.25, 9.118, 30.5]
    assert [one.prompt_tokens for one in requests] == [40, 33, 64, 16]
    assert [one.output_tokens for one in requests] == [12, 80, 7, 1]
    assert {one.block_tokens for one in requests} == {16}
    assert [one.session for one in requests] == ["0", "1", "0", "0"]
    assert not any(one.session_clock for one in requests)


def test_ids_are_chained() -> None:
    """The first and the third share two blocks; a block behind another prefix is another one."""
    first, second, third, _ = read(DATA / "bailian.jsonl")
    assert shared_blocks(first, third) == 2
    assert shared_blocks(first, second) == 1
    assert second.block_ids[2] != third.block_ids[3]


def test_parents_are_remembered_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then a chat begins a session that is named for its parent."""
    monkeypatch.setattr(bailian, "_REMEMBERED_CHATS", 2)
    lines = [line(1), line(2, 1), line(3), line(4, 3), line(5, 2), line(6, 5)]
    requests = read(write_lines(tmp_path / "t", lines))
    assert [one.session for one in requests] == ["1", "1", "3", "3", "2", "2"]


def test_a_record_of_another_trace_is_told(tmp_path: Path) -> None:
    """In both directions, for the two look alike."""
    other = {"timestamp": 1, "input_length": 32, "hash_ids": [1], "output_length": 1}
    path = write_lines(tmp_path / "t", [line(1), other])
    assert refusal(path) == (
        "t, line 2: it looks like a record of mooncake in a trace of bailian; keep one format a "
        "file, or leave such lines out with --skip-bad-lines"
    )
    path = write_lines(tmp_path / "t", [other, line(1)])
    assert refusal(path) == (
        "t, line 2: it looks like a record of bailian in a trace of mooncake; keep one format a "
        "file, or leave such lines out with --skip-bad-lines"
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"input_length": 64}, "2 block ids for 64 tokens at 16 a block, which takes 4"),
        ({"timestamp": "x"}, "timestamp: expected `float | null`, got `str`"),
        ({"timestamp": -1e13}, "timestamp is too large for a time"),
        (
            {"parent_chat_id": {}},
            "parent_chat_id: expected `int | float | str | null`, got `object`",
        ),
    ],
)
def test_a_field_that_cannot_be_is_told(
    fields: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """By the line and what is wrong."""
    path = write_lines(tmp_path / "t", [line(1), line(2, **fields)])
    assert refusal(path).startswith(f"t, line 2: {reason}; ")


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    """As tables write a column that has gaps, such as that of parents."""
    lines = [line(1), line(2, parent_chat_id=1)]
    floats = [
        one | {name: float(one[name]) for name in one if name.endswith(("_id", "_length"))}
        for one in lines
    ]
    path = write_lines(tmp_path / "t", floats)
    expected = read(write_lines(tmp_path / "u", lines))
    assert all(map(same, read(path), expected))
    assert expected[1].session == "1"
