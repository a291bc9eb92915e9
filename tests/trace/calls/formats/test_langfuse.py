import json
from pathlib import Path
from typing import Any

from stemcache.trace.calls.call import Fidelity
from stemcache.wire.api import Api
from tests.trace.calls.logs import CHAT, one, read, read_records

SEEN: dict[str, Any] = {
    "id": "obs-1",
    "traceId": "trace-1",
    "projectId": "project-1",
    "type": "GENERATION",
    "name": "answer",
    "startTime": "2026-03-01T08:00:00.000Z",
    "completionStartTime": "2026-03-01T08:00:00.500Z",
    "endTime": "2026-03-01T08:00:02.000Z",
    "model": "gpt-5.5",
    "modelParameters": {"temperature": 0},
    "input": CHAT["messages"],
    "output": {"role": "assistant", "content": "At six."},
    "usageDetails": {"input": 10, "output": 4, "total": 2014, "input_cached_tokens": 2000},
    "costDetails": {"total": 0.01},
    "level": "DEFAULT",
}


def test_a_generation_is_put_together(tmp_path: Path) -> None:
    """Model, parameters and messages make a body; usage, cost, times and name are read."""
    call = one(tmp_path, SEEN)
    assert call.body == {"model": "gpt-5.5", "temperature": 0, "messages": CHAT["messages"]}
    assert (call.fidelity, call.api, call.id) == (Fidelity.RECONSTRUCTED, Api.CHAT, "obs-1")
    assert (call.session, call.route, call.billed_usd) == ("trace-1", "answer", 0.01)
    assert (call.time_s, call.answered_s, call.ended_s) == (
        1772352000.0,
        1772352000.5,
        1772352002.0,
    )


def test_usage_keeps_its_names(tmp_path: Path) -> None:
    """Counts are given as Langfuse has them, of older exports from where those had them."""
    assert one(tmp_path, SEEN).usage == SEEN["usageDetails"]
    older = {**SEEN, "usageDetails": {}, "usage": {"input": 10, "output": 4, "unit": "TOKENS"}}
    assert one(tmp_path, older).usage == {"input": 10, "output": 4}
    assert one(tmp_path, {**SEEN, "usageDetails": None}).usage is None


def test_inputs_of_other_shapes_are_read(tmp_path: Path) -> None:
    """A whole request, a text of JSON, one message and a plain text are inputs too."""
    tools = [{"type": "function", "function": {"name": "find"}}]
    whole = {"messages": CHAT["messages"], "tools": tools}
    expected = {"model": "gpt-5.5", "temperature": 0, **whole}
    assert one(tmp_path, {**SEEN, "input": whole}).body == expected
    assert one(tmp_path, {**SEEN, "input": json.dumps(whole)}).body == expected
    message = CHAT["messages"][1]
    assert (one(tmp_path, {**SEEN, "input": message}).body or {})["messages"] == [message]
    assert (one(tmp_path, {**SEEN, "input": "Once upon"}).body or {})["prompt"] == "Once upon"


def test_exports_with_underscores_are_read(tmp_path: Path) -> None:
    """Files that Langfuse exports name their fields with underscores."""
    call = one(
        tmp_path,
        {
            "id": "obs-2",
            "trace_id": "trace-2",
            "session_id": "session-2",
            "type": "GENERATION",
            "start_time": "2026-03-01 08:00:00.000",
            "provided_model_name": "gpt-5.5",
            "model_parameters": '{"top_p": 1}',
            "input": json.dumps(CHAT["messages"]),
            "usage_details": {"input": 10},
        },
    )
    assert (call.session, call.time_s, call.model) == ("session-2", 1772352000.0, "gpt-5.5")
    assert call.body == {"model": "gpt-5.5", "top_p": 1, "messages": CHAT["messages"]}


def test_lists_and_traces_are_opened(tmp_path: Path) -> None:
    """An answer of the API, an array and a trace give the observations inside."""
    span = {**SEEN, "id": "obs-0", "type": "SPAN"}
    for number, document in enumerate(
        (
            {"data": [span, SEEN], "meta": {}},
            [span, SEEN],
            {"id": "t", "observations": [span, SEEN]},
        )
    ):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(document, indent=2))
        (call,), log = read(str(path))
        assert (log.format, call.id) == ("langfuse", "obs-1")
        assert log.left_out == {"observations that are no generations": 1}
        assert log.reread.body(call.place) == call.body


def test_errors_failed(tmp_path: Path) -> None:
    """A generation that ended in an error, without an output, is a failed call."""
    calls, _ = read_records(tmp_path, [{**SEEN, "level": "ERROR", "output": None}])
    assert calls[0].failed
