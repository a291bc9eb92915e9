import json
from pathlib import Path
from typing import Any

from stemcache.trace.calls.call import Fidelity
from stemcache.wire.api import Api
from tests.trace.calls.logs import ANSWERED, CHAT, MESSAGES, one, read, read_records, written

ASKED = [
    {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": CHAT}
    for name in ("a", "b", "c")
]


def _came(name: str, status: int, body: Any) -> dict[str, Any]:
    response = {"status_code": status, "request_id": f"r{name}", "body": body}
    return {"id": f"batch_{name}", "custom_id": name, "response": response, "error": None}


CAME = [
    _came("b", 200, {"id": "chatcmpl-b", "choices": [], "usage": {"prompt_tokens": 20}}),
    _came("a", 200, {"id": "chatcmpl-a", "choices": [], "usage": {"prompt_tokens": 10}}),
    _came("c", 400, {"error": {"message": "no"}}),
    {**_came("z", 200, {}), "response": None, "error": {"code": "batch_expired"}},
]


def test_requests_alone_are_calls(tmp_path: Path) -> None:
    """A file of requests is read without its answers."""
    call = one(tmp_path, ASKED[0])
    assert (call.body, call.fidelity, call.api) == (CHAT, Fidelity.RESERIALISED, Api.CHAT)
    assert (call.path, call.tier, call.usage) == ("/v1/chat/completions", "batch", None)
    assert call.place.inner == "/body"


def test_answers_are_joined_whatever_the_order(tmp_path: Path) -> None:
    """Usage comes from the file of answers, also where that is named last."""
    asked, came = written(tmp_path, ASKED, "asked.jsonl"), written(tmp_path, CAME, "came.jsonl")
    for paths in ((asked, came), (came, asked), (str(tmp_path),)):
        calls, log = read(*paths)
        assert log.format == "batch"
        assert [call.id for call in calls] == ["chatcmpl-a", "chatcmpl-b", None, None]
        assert calls[0].usage == {"prompt_tokens": 10}
        assert [call.failed for call in calls] == [False, False, True, True]
        assert [call.fidelity for call in calls][2:] == [
            Fidelity.RESERIALISED,
            Fidelity.USAGE_ONLY,
        ]


def test_answers_alone_have_usage(tmp_path: Path) -> None:
    """Without requests there are calls with usage and without bodies."""
    calls, _ = read_records(tmp_path, CAME[:2])
    assert [(call.id, call.body, call.usage) for call in calls] == [
        ("chatcmpl-b", None, {"prompt_tokens": 20}),
        ("chatcmpl-a", None, {"prompt_tokens": 10}),
    ]


def test_a_message_batch_is_read(tmp_path: Path) -> None:
    """Anthropic's requests stand in params, and its answers in result."""
    asked = {"custom_id": "a", "params": MESSAGES}
    came = {"custom_id": "a", "result": {"type": "succeeded", "message": ANSWERED}}
    gone = {"custom_id": "b", "result": {"type": "expired"}}
    paths = written(tmp_path, [asked], "asked.jsonl"), written(tmp_path, [came, gone], "came.jsonl")
    calls, _ = read(*paths)
    assert [(call.id, call.api, call.failed) for call in calls] == [
        ("msg_01", Api.MESSAGES, False),
        (None, Api.MESSAGES, True),
    ]
    assert calls[0].usage == ANSWERED["usage"]
    assert (calls[0].answer, calls[0].tier, calls[0].region) == (None, "batch", "us")


def test_an_id_that_two_batches_use_is_joined_in_order(tmp_path: Path) -> None:
    """The first request with an id gets the first answer to it."""
    other = _came("a", 200, {"id": "second", "choices": [], "usage": {"prompt_tokens": 99}})
    written(tmp_path, [CAME[1]], "1_came.jsonl")
    written(tmp_path, [other], "2_came.jsonl")
    written(tmp_path, [ASKED[0], ASKED[0]], "3_asked.jsonl")
    calls, _ = read(str(tmp_path))
    assert [call.id for call in calls] == ["chatcmpl-a", "second"]


def test_a_request_without_a_body_is_a_problem(tmp_path: Path) -> None:
    """A request that asks for something else, such as an embedding, is counted."""
    calls, log = read_records(tmp_path, [ASKED[0], {"custom_id": "x", "body": {"file": 1}}])
    assert (len(calls), dict(log.problems.counts)) == (1, {"no request body at /body": 1})


def test_a_body_may_be_a_text(tmp_path: Path) -> None:
    """A body that was spelt as a text is decoded."""
    assert one(tmp_path, {**ASKED[0], "body": json.dumps(CHAT)}).body == CHAT


def test_very_many_answers_to_one_id_are_joined_in_their_order(tmp_path: Path) -> None:
    """Each request takes the next one, in constant time, and what is left over is a call."""
    came = [_came("a", 200, {"id": f"r{n}", "usage": {"prompt_tokens": n}}) for n in range(20_001)]
    asked = [ASKED[0]] * 20_000
    paths = written(tmp_path, came, "came.jsonl"), written(tmp_path, asked, "asked.jsonl")
    calls, log = read(*paths)
    assert [call.id for call in calls] == [f"r{n}" for n in range(20_001)]
    assert [call.fidelity for call in calls[-2:]] == [Fidelity.RESERIALISED, Fidelity.USAGE_ONLY]
    assert log.problems.total == 0
