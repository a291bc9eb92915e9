import json
from pathlib import Path
from typing import Any

import pytest

from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.open import CallLog
from stemcache.wire.api import Api
from tests.trace.calls.logs import CHAT, read

RECEIVE = (
    "[2026-03-01 08:00:00 TP0] Receive: obj=GenerateReqInput(rid='r1', text='It\\'s, out={1}', "
    "input_ids=None, sampling_params={'temperature': 0}, stream=False)\n"
)
INFO = (
    "{'text': 'six', 'meta_info': {'id': 'r1', 'prompt_tokens': 20, 'completion_tokens': 4, "
    "'cached_tokens': 16, 'e2e_latency': 1.5, 'finish_reason': {'type': 'stop'}}}"
)
FINISH = (
    RECEIVE.strip().replace("Receive", "Finish").replace("00 TP0", "02 TP0") + f", out={INFO}\n"
)
ASKED = f"[2026-03-01 08:00:00] Receive OpenAI: obj={dict(CHAT)!r}\n"


def _read(directory: Path, text: str) -> tuple[list[Call], CallLog]:
    path = directory / "sglang.log"
    path.write_text(text)
    return read(str(path))


def test_a_finished_request_is_one_call(tmp_path: Path) -> None:
    """Receive and Finish are one call, with the usage and the time of its start."""
    (call,), log = _read(tmp_path, "[2026-03-01 07:00:00] starting\n" + RECEIVE + FINISH)
    assert log.format == "sglang"
    assert call.body == {"prompt": "It's, out={1}"}
    assert call.usage == {
        "prompt_tokens": 20,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 16},
    }
    assert (call.id, call.time_s, call.ended_s) == ("r1", 1772352000.5, 1772352002.0)
    assert (call.fidelity, call.api) == (Fidelity.RECONSTRUCTED, Api.COMPLETIONS)
    assert log.reread.body(call.place) == call.body


def test_requests_that_never_finished_are_given_last(tmp_path: Path) -> None:
    """A request without an end is a call without usage."""
    other = RECEIVE.replace("r1", "r0")
    calls, _ = _read(tmp_path, other + RECEIVE + FINISH)
    assert [(call.id, call.usage is None) for call in calls] == [("r1", False), ("r0", True)]


def test_a_request_is_not_counted_twice(tmp_path: Path) -> None:
    """The request before it was rendered is left out where finished ones follow, else read."""
    calls, log = _read(tmp_path, ASKED + RECEIVE + FINISH)
    assert [call.id for call in calls] == ["r1"]
    assert log.left_out == {"requests said twice, before and after they are rendered": 1}
    (call,), log = _read(tmp_path, ASKED)
    assert (call.body, call.fidelity) == (CHAT, Fidelity.RESERIALISED)
    assert log.reread.body(call.place) == CHAT


def test_a_request_that_is_received_again_takes_the_place_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits is counted as what is held, so that no call is given up before it is finished."""
    monkeypatch.setattr("stemcache.trace.calls.formats.sglang._WAITING_BYTES", 2 * len(RECEIVE))
    other = RECEIVE.replace("r1", "r0")
    calls, _ = _read(tmp_path, other + RECEIVE * 5 + FINISH)
    assert [(call.id, call.usage is None) for call in calls] == [("r1", False), ("r0", True)]


def test_cut_texts_say_so(tmp_path: Path) -> None:
    """Level 2 cuts long texts in the middle; what is left is no whole prompt."""
    cut = FINISH.replace("'It\\'s, out={1}'", "'It\\'s' ... 'the end'")
    (call,), _ = _read(tmp_path, cut)
    assert (call.body, call.fidelity) == ({"prompt": "It's...the end"}, Fidelity.TRUNCATED)


def _event(event: str, **more: Any) -> str:
    record = {"timestamp": "2026-03-01T08:00:02", "event": f"request.{event}", **more}
    return json.dumps(record) + "\n"


def test_json_lines_are_read_alike(tmp_path: Path) -> None:
    """The JSON form has the same events."""
    obj = {"text": "When?", "input_ids": None}
    out = {"meta_info": {"prompt_tokens": 20, "e2e_latency": 1.5}}
    text = _event("received", rid="r1", obj=obj) + _event("finished", rid="r1", obj=obj, out=out)
    (call,), log = _read(tmp_path, text)
    assert (log.format, call.id, call.body) == ("sglang", "r1", {"prompt": "When?"})
    assert (call.time_s, call.usage) == (1772352000.5, {"prompt_tokens": 20})
    long = "a" * 1024 + "..." + "b" * 1024
    text = _event("finished", rid="r1", obj={"text": long}, out=out)
    (call,), _ = _read(tmp_path, text)
    assert call.fidelity is Fidelity.TRUNCATED


def test_levels_without_texts_have_usage(tmp_path: Path) -> None:
    """Levels 0 and 1 log no prompts: such a call has usage alone."""
    line = f"[2026-03-01 08:00:02] Finish: obj=GenerateReqInput(rid='r1'), out={INFO}\n"
    (call,), _ = _read(tmp_path, line)
    assert (call.body, call.fidelity) == (None, Fidelity.USAGE_ONLY)


def test_aborted_requests_failed(tmp_path: Path) -> None:
    """A request that was aborted is a failed call."""
    (call,), _ = _read(tmp_path, FINISH.replace("'stop'", "'abort'"))
    assert call.failed
