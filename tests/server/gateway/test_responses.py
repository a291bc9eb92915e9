"""Responses that a replica keeps: who is sent where, and who may."""

import json
from dataclasses import replace
from typing import Any

import pytest

from stemcache.gateway.settings import ApiKey, GatewaySettings
from tests.server.gateway.fakes import Call, event, json_answer, stream_head
from tests.server.gateway.near import Client, Near, near_gateway

RESPONSES = "/v1/responses"
TURN = GatewaySettings(policy="round-robin")
KEYED = replace(
    TURN,
    api_keys=(ApiKey(key="key-a", tenant="a"), ApiKey(key="key-b", tenant="b")),
    salt_secret="secret",
)


def keeps(call: Call) -> None:
    """Answer with a response named after the replica and its count of calls."""
    name = f"resp_{call.replica.name}_{len(call.replica.calls)}"
    asked = json.loads(call.body) if call.body else {}
    if asked.get("stream"):
        made = {"type": "response.created", "response": {"id": name, "usage": None}}
        done = {"type": "response.completed", "response": {"id": name, "usage": {}}}
        out = [b"event: x\ndata: " + json.dumps(one).encode() + b"\n\n" for one in (made, done)]
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in out)
        call.transport.write(stream_head() + chunks + event(b""))
        return
    call.transport.write(
        json_answer({"object": "response", "metadata": {"id": "resp_other"}, "id": name})
    )


def asked(client: Client, method: str, path: str, key: str = "key-a") -> bytes:
    """The head of an answer to a request without a body."""
    client.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\nx-api-key: {key}\r\n\r\n".encode())
    head, _ = client.answer()
    return head


def created(client: Client, key: str = "key-a", **fields: Any) -> tuple[bytes, bytes]:
    """The answer to a request that makes a response."""
    client.post(RESPONSES, {"model": "m", "input": "hi", **fields}, f"x-api-key: {key}\r\n")
    return client.answer()


def counts(near: Near) -> list[int]:
    """Of calls, by replica."""
    return [len(fake.calls) for fake in near.fakes]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("settings", [TURN, KEYED], ids=["open", "tenants"])
def test_what_names_a_response_goes_where_it_was_made(
    settings: GatewaySettings, *, stream: bool
) -> None:
    """Whatever the policy would say: the others do not know it."""
    with near_gateway(keeps, keeps, keeps, settings=settings) as near, near.connect() as client:
        created(client, stream=stream)
        assert counts(near) == [1, 0, 0]
        for method, path in (("GET", ""), ("POST", "/cancel"), ("DELETE", ""), ("GET", "?a=b")):
            name, _, query = path.partition("?")
            where = f"{RESPONSES}/resp_r0_1{name}" + (f"?{query}" if query else "")
            assert asked(client, method, where).startswith(b"HTTP/1.1 200 ")
        for _ in range(3):
            created(client, previous_response_id="resp_r0_1", stream=stream)
        assert counts(near) == [8, 0, 0]


def test_of_an_unknown_response_any_replica_may_say_so() -> None:
    """Where there are no tenants: it may have been made before this gateway began."""
    with near_gateway(keeps, keeps, settings=TURN) as near, near.connect() as client:
        for _ in range(2):
            assert asked(client, "GET", f"{RESPONSES}/resp_x").startswith(b"HTTP/1.1 200 ")
            created(client, previous_response_id="resp_x")
        assert sum(counts(near)) == 4
        assert min(counts(near)) > 0


def test_a_tenant_gets_at_none_but_its_own() -> None:
    """By its path or by a body, the answer is the same as for one that never was."""
    with near_gateway(keeps, keeps, settings=KEYED) as near, near.connect() as client:
        created(client, "key-a")
        answers = []
        for name in ("resp_r0_1", "resp_never"):
            client.send(
                f"GET {RESPONSES}/{name} HTTP/1.1\r\nHost: x\r\nx-api-key: key-b\r\n\r\n".encode()
            )
            answers.append(client.answer())
            answers.append(created(client, "key-b", previous_response_id=name))
        for method, path in (("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
            head = asked(client, method, f"{RESPONSES}/resp_r0_1{path}", "key-b")
            assert head.startswith(b"HTTP/1.1 404 ")
        assert counts(near) == [1, 0]
        assert {head.split(b"\r\n")[0] for head, _ in answers} == {b"HTTP/1.1 404 Not Found"}
        assert len({body for _, body in answers}) == 1
        error = json.loads(answers[0][1])["error"]
        assert error["code"] == "response_not_found"
        assert error["message"] == (
            "no response of this key's is known here by this id: another key's, made before the "
            "gateway started or by another gateway, or too long ago; send the whole conversation "
            "instead"
        )
        assert asked(client, "GET", f"{RESPONSES}/resp_r0_1").startswith(b"HTTP/1.1 200 ")


def test_the_name_of_the_field_may_be_spelled_with_escapes() -> None:
    """Replicas read it so."""
    body = json.dumps({"model": "m", "input": "hi", "previous_response_id": "resp_r0_1"})
    body = body.replace("previous_", "previous\\u005f")
    with near_gateway(keeps, settings=KEYED) as near, near.connect() as client:
        created(client, "key-a")
        client.post(RESPONSES, body.encode(), "x-api-key: key-b\r\n")
        assert client.answer()[0].startswith(b"HTTP/1.1 404 ")
        assert counts(near) == [1]


def test_a_response_cannot_be_taken_by_making_it_again() -> None:
    """Where clients choose ids, as vLLM lets them."""

    def answers(call: Call) -> None:
        call.transport.write(json_answer({"id": "resp_same"}))

    with near_gateway(answers, settings=KEYED) as near, near.connect() as client:
        created(client, "key-a")
        created(client, "key-b")
        assert asked(client, "GET", f"{RESPONSES}/resp_same", "key-b").startswith(b"HTTP/1.1 404 ")
        assert asked(client, "GET", f"{RESPONSES}/resp_same", "key-a").startswith(b"HTTP/1.1 200 ")


def test_tenants_that_share_responses_may_name_any() -> None:
    """By a setting."""
    settings = replace(KEYED, shared_paths=("/v1/responses",))
    with near_gateway(keeps, settings=settings) as near, near.connect() as client:
        created(client, "key-a")
        head = asked(client, "GET", f"{RESPONSES}/resp_r0_1", "key-b")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert created(client, "key-b", previous_response_id="resp_r0_1")[0].startswith(
            b"HTTP/1.1 200 "
        )
        assert counts(near) == [3]


def test_where_its_replica_cannot_be_asked_nobody_else_is() -> None:
    """It would say that there is no such response; the client is to try again."""
    with near_gateway(keeps, keeps, settings=TURN) as near, near.connect() as client:
        created(client)
        near.do(lambda: near.gateway.router.drain("r0", on=True))
        client.send(f"GET {RESPONSES}/resp_r0_1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 1\r\n" in head
        error = json.loads(body)["error"]
        assert error["code"] == "replica_away"
        assert error["message"] == (
            "the replica that made this response cannot be asked now; try again later"
        )
        near.do(lambda: near.gateway.router.drain("r0", on=False))
        near.fakes[0].script = lambda call: call.transport.close()
        client.send(f"GET {RESPONSES}/resp_r0_1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert client.answer()[0].startswith(b"HTTP/1.1 502 ")
        assert counts(near)[1] == 0


def test_a_replica_that_is_gone_for_good_has_no_responses() -> None:
    """Then another may say so."""
    with near_gateway(keeps, keeps, settings=TURN) as near, near.connect() as client:
        created(client)
        left = near.gateway.settings.replicas[1:]
        near.do(lambda: near.gateway.router.configure(near.gateway.settings, left))
        client.send(f"GET {RESPONSES}/resp_r0_1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert counts(near) == [1, 1]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"id": 5}', b'{"id": null}', b"not JSON", b'{"a": {"id": "resp_1"}}'],
)
def test_an_answer_that_names_no_response_is_only_passed_on(body: bytes) -> None:
    """Whatever it is."""

    def answers(call: Call) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        call.transport.write(head % len(body) + body)

    with near_gateway(answers, settings=TURN) as near, near.connect() as client:
        assert created(client)[1] == body
        assert len(near.gateway.responses) == 0


@pytest.mark.parametrize("first", ['{"response": 5}', "[DONE]", '{"response": {"id": []}}'])
def test_a_stream_that_begins_otherwise_is_only_passed_on(first: str) -> None:
    """Later events are not looked at."""

    def answers(call: Call) -> None:
        later = {"response": {"id": "resp_1"}}
        call.transport.write(stream_head() + event(first) + event(later) + event(b""))

    with near_gateway(answers, settings=TURN) as near, near.connect() as client:
        assert created(client, stream=True)[1].startswith(b"data: " + first.encode())
        assert len(near.gateway.responses) == 0


def test_a_comment_before_the_first_event_is_no_event() -> None:
    """Servers send one to keep a connection open."""

    def answers(call: Call) -> None:
        made = event({"type": "response.created", "response": {"id": "resp_1"}})
        call.transport.write(stream_head() + b"8\r\n: ping\n\n\r\n")
        call.transport.write(made + event(b""))

    with near_gateway(answers, settings=TURN) as near, near.connect() as client:
        created(client, stream=True)
        assert list(near.gateway.responses) == ["resp_1"]
