from pathlib import Path
from typing import Any

import pytest

from stemcache.trace.calls.call import Fidelity
from stemcache.trace.calls.formats import codex
from stemcache.trace.calls.open import open_calls
from stemcache.wire.api import Api
from tests.trace.calls.logs import read_records, written


def _line(kind: str, payload: dict[str, Any], second: int) -> dict[str, Any]:
    return {"timestamp": f"2026-03-01T08:00:{second:02}.000Z", "type": kind, "payload": payload}


def _said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def _count(second: int, total: int, **last: int) -> dict[str, Any]:
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": last or None}
    return _line("event_msg", {"type": "token_count", "info": info}, second)


CALLED = {"type": "function_call", "name": "exec", "arguments": "{}", "call_id": "c1"}
CAME = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
TALK = [
    _line("session_meta", {"id": "s1", "base_instructions": {"text": "Be brief."}}, 0),
    _line("turn_context", {"model": "gpt-6.1-sol", "effort": "high"}, 0),
    _line("response_item", _said("user", "List files."), 1),
    _line("event_msg", {"type": "user_message", "message": "List files."}, 1),
    _line("response_item", {"type": "reasoning", "summary": []}, 3),
    _line("response_item", CALLED, 4),
    _count(4, 100, input_tokens=100, cached_input_tokens=64, output_tokens=5),
    _line("response_item", CAME, 6),
    _count(6, 100, input_tokens=100, cached_input_tokens=64, output_tokens=5),
    _line("response_item", _said("assistant", "Two files."), 8),
    _count(8, 250, input_tokens=150, cached_input_tokens=96, output_tokens=7),
]


def test_each_count_is_a_call(tmp_path: Path) -> None:
    """Counts that add up are calls; repetitions of one are not."""
    calls, log = read_records(tmp_path, TALK)
    assert log.format == "codex"
    assert [call.place.line for call in calls] == [7, 11]
    assert calls[0].usage == {
        "input_tokens": 100,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 64},
    }
    assert (calls[0].fidelity, calls[0].api, calls[0].session) == (
        Fidelity.RECONSTRUCTED,
        Api.RESPONSES,
        "s1",
    )
    assert (calls[0].time_s, calls[0].ended_s) == (1772352001.0, 1772352004.0)
    assert calls[1].time_s == 1772352006.0


def test_input_is_what_was_there_before(tmp_path: Path) -> None:
    """A call asks with all that was said, and its answer is what the model made of it."""
    calls, _ = read_records(tmp_path, TALK)
    head = {
        "model": "gpt-6.1-sol",
        "instructions": "Be brief.",
        "reasoning": {"effort": "high"},
    }
    reasoning = {"type": "reasoning", "summary": []}
    assert calls[0].body == {**head, "input": [_said("user", "List files.")]}
    assert calls[0].answer == [reasoning, CALLED]
    assert calls[1].body == {
        **head,
        "input": [_said("user", "List files."), reasoning, CALLED, CAME],
    }
    assert calls[1].answer == [_said("assistant", "Two files.")]


def test_totals_alone_are_subtracted(tmp_path: Path) -> None:
    """Where only totals are told, a call has what was added to them."""
    talk = [*TALK[:3], _count(4, 100), _line("response_item", _said("user", "More."), 5)]
    calls, _ = read_records(tmp_path, [*talk, _count(8, 250)])
    assert [call.usage for call in calls] == [{"input_tokens": 100}, {"input_tokens": 150}]


def test_a_compaction_replaces_the_history(tmp_path: Path) -> None:
    """Behind a compaction calls ask with what replaced the talk."""
    summary = _said("user", "Summary.")
    given = _line("compacted", {"message": "", "replacement_history": [summary]}, 10)
    older = _line("compacted", {"message": "Summary."}, 10)
    more = [
        _line("response_item", _said("user", "Go on."), 11),
        _line("response_item", _said("assistant", "Yes."), 12),
        _count(13, 300, input_tokens=50),
    ]
    for compacted in (given, older):
        calls, _ = read_records(tmp_path, [*TALK, compacted, *more])
        assert (calls[2].body or {})["input"] == [summary, _said("user", "Go on.")]


def test_bodies_can_be_read_again(tmp_path: Path) -> None:
    """A body that was let go is rebuilt as it was, from the file."""
    with open_calls([written(tmp_path, TALK)]) as log:
        for call in list(log):
            assert log.reread.body(call.place) == call.body


def test_long_talks_leave_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound of items a request is not put together, and its usage stays."""
    monkeypatch.setattr(codex, "MAX_ITEMS", 3)
    calls, _ = read_records(tmp_path, TALK)
    assert [call.fidelity for call in calls] == [Fidelity.RECONSTRUCTED, Fidelity.USAGE_ONLY]
    assert [call.model for call in calls] == ["gpt-6.1-sol"] * 2
    assert (calls[1].usage or {})["input_tokens"] == 150
