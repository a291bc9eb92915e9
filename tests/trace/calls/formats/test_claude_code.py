from pathlib import Path
from typing import Any

import pytest

from stemcache.trace.calls.call import Fidelity
from stemcache.trace.calls.formats import claude_code
from stemcache.trace.calls.open import open_calls
from stemcache.wire.api import Api
from tests.trace.calls.logs import read, read_records, written

USAGE = {"input_tokens": 3, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50}


def _user(uuid: str, parent: str | None, content: Any, second: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s1",
        "timestamp": f"2026-03-01T08:00:{second:02}.000Z",
        "message": {"role": "user", "content": content},
        **more,
    }


def _said(
    uuid: str, parent: str, id_: str, block: dict[str, Any], second: int, **more: Any
) -> dict[str, Any]:
    return {
        "type": "assistant",
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s1",
        "requestId": f"req_{id_}",
        "timestamp": f"2026-03-01T08:00:{second:02}.000Z",
        "message": {
            "id": id_,
            "model": "claude-opus-5",
            "role": "assistant",
            "content": [block],
            "usage": {**USAGE, "output_tokens": second},
        },
        **more,
    }


def _use(id_: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Read", "input": {"path": id_}}


def _result(id_: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": f"text of {id_}"}


TALK = [
    {"type": "summary", "summary": "Old talk", "leafUuid": "zz"},
    _user("u1", None, "Read two files.", 0),
    _said("a1", "u1", "m1", _use("t1"), 4),
    _user("u2", "a1", [_result("t1")], 5),
    _said("a2", "a1", "m1", _use("t2"), 6),
    _user("u3", "a2", [_result("t2")], 7),
    {"type": "system", "subtype": "note", "uuid": "x1", "parentUuid": "u3", "sessionId": "s1"},
    _said("a3", "x1", "m2", {"type": "text", "text": "Read."}, 9),
]


def test_lines_of_one_response_are_one_call(tmp_path: Path) -> None:
    """An answer that was written block by block is one call, with the usage of its last line."""
    calls, log = read_records(tmp_path, TALK)
    assert log.format == "claude-code"
    assert [call.id for call in calls] == ["m1", "m2"]
    first, second = calls
    assert first.usage == {**USAGE, "output_tokens": 6}
    assert first.answer == [_use("t1"), _use("t2")]
    assert (first.fidelity, first.api, first.model) == (
        Fidelity.RECONSTRUCTED,
        Api.MESSAGES,
        "claude-opus-5",
    )
    assert first.session == second.session == "s1"
    assert (first.time_s, first.ended_s) == (1772352000.0, 1772352006.0)
    assert second.time_s == 1772352007.0


def test_results_beside_the_chain_are_put_back(tmp_path: Path) -> None:
    """A request has every result of tools that ran side by side, in one message."""
    calls, _ = read_records(tmp_path, TALK)
    assert calls[0].body == {
        "model": "claude-opus-5",
        "messages": [{"role": "user", "content": "Read two files."}],
    }
    assert calls[1].body is not None
    assert calls[1].body["messages"] == [
        {"role": "user", "content": "Read two files."},
        {"role": "assistant", "content": [_use("t1"), _use("t2")]},
        {"role": "user", "content": [_result("t1"), _result("t2")]},
    ]


def test_a_fork_has_only_its_own_past(tmp_path: Path) -> None:
    """What was said on a branch that was given up is in no request of the other branch."""
    text = {"type": "text", "text": "One."}
    talk = [
        _user("u1", None, "Count.", 0),
        _said("a1", "u1", "m1", text, 1),
        _user("u2", "a1", "More.", 2),
        _said("a2", "u2", "m2", text, 3),
        _user("u3", "a1", "Stop.", 4),
        _said("a3", "u3", "m3", text, 5),
        _user("u4", "a2", "Again.", 6),
        _said("a4", "u4", "m4", text, 7),
    ]
    calls, _ = read_records(tmp_path, talk)
    said = [[m["content"] for m in (call.body or {})["messages"]] for call in calls]
    assert said == [
        ["Count."],
        ["Count.", [text], "More."],
        ["Count.", [text], "Stop."],
        ["Count.", [text], "More.", [text], "Again."],
    ]


def test_a_compaction_begins_anew(tmp_path: Path) -> None:
    """Behind a compaction the summary is the first message, and the old talk is gone."""
    talk = [
        *TALK,
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "c1",
            "parentUuid": None,
            "logicalParentUuid": "a3",
            "sessionId": "s1",
        },
        _user("u5", "c1", "Summary.", 20, isCompactSummary=True, isVisibleInTranscriptOnly=True),
        _user("u6", "u5", "Shown to the user only.", 21, isVisibleInTranscriptOnly=True),
        _user("u7", "u6", "Go on.", 22),
        _said("a5", "u7", "m5", {"type": "text", "text": "Yes."}, 23),
    ]
    calls, _ = read_records(tmp_path, talk)
    assert calls[-1].body is not None
    assert calls[-1].body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Summary."},
                {"type": "text", "text": "Go on."},
            ],
        }
    ]


def test_made_up_answers_are_no_calls(tmp_path: Path) -> None:
    """Lines that the client wrote itself, such as errors, are neither calls nor history."""
    made_up = _said("a2", "u1", "x", {"type": "text", "text": "API Error"}, 3)
    made_up["message"]["model"] = "<synthetic>"
    talk = [
        _user("u1", None, "Hello.", 0),
        made_up,
        _user("u2", "a2", "Again.", 4),
        _said("a3", "u2", "m1", {"type": "text", "text": "Hi."}, 5),
    ]
    calls, log = read_records(tmp_path, talk)
    assert [call.id for call in calls] == ["m1"]
    assert log.left_out == {"lines that Claude Code made up itself": 1}
    assert (calls[0].body or {})["messages"] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hello."}, {"type": "text", "text": "Again."}],
        }
    ]


def test_a_resumed_session_counts_once(tmp_path: Path) -> None:
    """A session that was copied into another file does not count its calls again."""
    later = [*TALK, _user("u9", "a3", "More.", 30), _said("a9", "u9", "m9", _use("t9"), 31)]
    written(tmp_path, TALK, "project/one.jsonl")
    written(tmp_path, later, "project/two.jsonl")
    calls, log = read(str(tmp_path))
    assert [call.id for call in calls] == ["m1", "m2", "m9"]
    assert log.repeated == 2


def test_sub_agents_are_sessions_of_their_own(tmp_path: Path) -> None:
    """Talk of a sub-agent has its own root and its own session."""
    agent = [
        _user("b1", None, "Search.", 1, isSidechain=True, agentId="ag"),
        _said("b2", "b1", "m7", _use("t7"), 2, isSidechain=True, agentId="ag"),
    ]
    calls, _ = read_records(tmp_path, [*TALK, *agent])
    assert calls[-1].session == "s1/ag"
    assert (calls[-1].body or {})["messages"] == [{"role": "user", "content": "Search."}]


def test_platform_is_told_by_the_id(tmp_path: Path) -> None:
    """Ids of Bedrock and Vertex say so; others say nothing of who answered."""
    block = {"type": "text", "text": "Hi."}
    talk = [
        _user("u1", None, "Hello.", 0),
        _said("a1", "u1", "msg_bdrk_01", block, 1),
        _said("a2", "u1", "msg_vrtx_01", block, 2),
        _said("a3", "u1", "msg_01", block, 3),
    ]
    calls, _ = read_records(tmp_path, talk)
    assert [call.host for call in calls] == ["bedrock", "vertex", None]


def test_loops_end(tmp_path: Path) -> None:
    """Lines that name each other as parents are read, and end."""
    talk = [
        _user("u1", "a1", "Hello.", 0),
        _said("a1", "u1", "m1", _use("t1"), 1),
        _said("a2", "a2", "m2", _use("t2"), 2),
    ]
    calls, _ = read_records(tmp_path, talk)
    assert [call.id for call in calls] == ["m1", "m2"]


def test_bodies_can_be_read_again(tmp_path: Path) -> None:
    """A body that was let go is rebuilt as it was, from the file."""
    with open_calls([written(tmp_path, TALK)]) as log:
        for call in list(log):
            assert log.reread.body(call.place) == call.body


def test_long_talks_leave_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound of lines a request is not put together, and its usage stays."""
    monkeypatch.setattr(claude_code, "MAX_LINES", 3)
    calls, _ = read_records(tmp_path, TALK)
    assert [call.fidelity for call in calls] == [Fidelity.RECONSTRUCTED, Fidelity.USAGE_ONLY]
    assert [call.model for call in calls] == ["claude-opus-5"] * 2
    assert calls[1].usage == {**USAGE, "output_tokens": 9}


def test_forks_without_end_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transcript that forks at every line is read in time to speak of, forks or not."""
    monkeypatch.setattr(claude_code, "_FREE_LINES", 1000)
    block = {"type": "text", "text": "x"}
    talk = [_user(f"u{n}", f"u{n - 1}" if n else None, "x", 0) for n in range(300)]
    forks = [_said(f"a{n}", f"u{n * 7919 % 300}", f"m{n}", block, 1) for n in range(300)]
    calls, _ = read_records(tmp_path, [*talk, *forks])
    assert len(calls) == 300
    kinds = {call.fidelity for call in calls}
    assert kinds == {Fidelity.RECONSTRUCTED, Fidelity.USAGE_ONLY}
