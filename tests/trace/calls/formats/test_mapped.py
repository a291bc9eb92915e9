import json
from pathlib import Path

from stemcache.trace.calls.call import Fidelity
from stemcache.trace.calls.headers import scope_digest
from tests.trace.calls.logs import ANSWERED, MESSAGES, one, read_records

RECORD = {
    "at": "2026-03-01T08:00:00Z",
    "chat": {"id": 7},
    "owner": {"team/a": "acme"},
    "log": [{"sent": MESSAGES, "got": ANSWERED, "code": 200}],
}
MAPPING = {
    "request": "/log/0/sent",
    "response": "/log/0/got",
    "status": "/log/0/code",
    "time": "/at",
    "session": "/chat/id",
    "scope": "/owner/team~1a",
}


def test_pointers_lead_to_what_a_call_has(tmp_path: Path) -> None:
    """Each field is read where the mapping says."""
    call = one(tmp_path, RECORD, mapping=MAPPING)
    assert (call.body, call.fidelity) == (MESSAGES, Fidelity.RESERIALISED)
    assert (call.place.inner, call.id, call.status) == ("/log/0/sent", "msg_01", 200)
    assert (call.time_s, call.session, call.scope) == (
        1772352000.0,
        "7",
        scope_digest("acme"),
    )


def test_texts_of_json_are_entered(tmp_path: Path) -> None:
    """A pointer leads through a text of JSON, and a body that is one has its bytes."""
    sent = json.dumps(MESSAGES)
    record = {"event": json.dumps({"sent": sent}), "host": "https://api.anthropic.com/v1/messages"}
    call = one(tmp_path, record, mapping={"request": "/event/sent", "host": "/host"})
    assert (call.body, call.raw, call.fidelity) == (MESSAGES, sent.encode(), Fidelity.WIRE)
    assert (call.host, call.path) == ("api.anthropic.com", "/v1/messages")


def test_usage_alone_is_enough(tmp_path: Path) -> None:
    """Without a request a record with usage is a call with usage alone."""
    mapping = {"usage": "/u", "model": "/m", "id": "/i", "cost": "/c"}
    record = {"u": {"input_tokens": 3}, "m": "claude-opus-5", "i": 12, "c": 0.5}
    call = one(tmp_path, record, mapping=mapping)
    assert (call.fidelity, call.usage) == (Fidelity.USAGE_ONLY, {"input_tokens": 3})
    assert (call.model, call.id, call.billed_usd) == ("claude-opus-5", "12", 0.5)


def test_records_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    """A record without a body at the place is a problem that names the place."""
    calls, log = read_records(tmp_path, [RECORD, {}, {"log": [{"sent": 5}]}], mapping=MAPPING)
    assert len(calls) == 1
    assert dict(log.problems.counts) == {
        "nothing at /log/0/sent": 1,
        "no request body at /log/0/sent": 1,
    }
