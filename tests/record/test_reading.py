"""What is recorded can be read: the way from a client's call to the linter's `Call`."""

import httpx

from stemcache.trace.calls.call import Fidelity
from stemcache.trace.calls.open import open_calls
from stemcache.wire.api import Api
from tests.record.fake_provider import MESSAGES_USAGE, FakeProvider
from tests.record.live_proxy import NearProxy
from tests.record.made import BODY


def test_recorded_calls_are_read_as_they_were_sent(live: NearProxy, fake: FakeProvider) -> None:
    """Bytes, times, usage, scope and host of each; a call that got no answer has failed."""
    headers = {"x-api-key": "k", "x-session-id": "s-1"}
    httpx.post(f"{live.url}/v1/messages", content=BODY, headers=headers)
    httpx.post(f"{live.url}/v1/messages", json={"model": "closed", "messages": []})
    live.stop()

    with open_calls([str(live.output)]) as log:
        answered, failed = list(log)
        assert len(log.problems) == 0
    assert answered.raw == BODY == fake.received[0].body
    assert answered.fidelity is Fidelity.WIRE
    assert (answered.api, answered.model, answered.status) == (Api.MESSAGES, "m", 200)
    assert answered.usage == MESSAGES_USAGE
    assert (answered.id, answered.session, answered.failed) == ("msg_1", "s-1", False)
    assert answered.diagnostics == {"cache_miss_reason": {"type": "tools_changed"}}
    assert answered.host == "127.0.0.1"
    assert answered.path == "/v1/messages"
    assert len(answered.scope) == 16
    assert answered.time_s is not None
    assert answered.answered_s is not None
    assert answered.ended_s is not None
    assert answered.time_s <= answered.answered_s <= answered.ended_s
    assert failed.failed
