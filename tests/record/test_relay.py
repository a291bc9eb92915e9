"""What a relay must not change, and must not wait for."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.record.fake_provider import FakeProvider
from tests.record.live_proxy import NearProxy, near_proxy

BODY = b'{"model": "plain", "messages": [], "odd":  "\\u00e4 \xc3\xa4"}'
JSON = {"content-type": "application/json"}


def test_request_bytes_are_those_that_were_sent(live: NearProxy, fake: FakeProvider) -> None:
    """White space, escapes and order of keys stay as they are, on the wire and in the record."""
    httpx.post(f"{live.url}/v1/chat/completions", content=BODY, headers=JSON)

    (record,) = live.records()
    assert fake.received[0].body == BODY
    assert record["request"].encode() == BODY


def test_headers_go_through_but_for_the_connections_own(
    live: NearProxy, fake: FakeProvider
) -> None:
    """Names keep their spelling and order; the host is the provider's."""
    request = (
        b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nhost: me\r\nX-Odd:  a b \r\nx-twice: 1\r\n"
        b"X-TWICE: 2\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\nTE: trailers\r\n"
        b"Content-Length: %d\r\n\r\n" % len(BODY)
    )
    answer = exchange(live, request + BODY)

    assert fake.received[0].head == (
        b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: %b\r\nX-Odd: a b \r\nx-twice: 1\r\n"
        b"X-TWICE: 2\r\nContent-Length: %d" % (fake.url.removeprefix("http://").encode(), len(BODY))
    )
    head, _, body = answer.partition(b"\r\n\r\n")
    assert body == fake.sent[0]
    assert head == (
        b"HTTP/1.1 200 Fine\r\nContent-Type: application/json\r\nX-Request-ID: req-1\r\n"
        b"Content-Length: %d" % len(body)
    )


def exchange(live: NearProxy, request: bytes) -> bytes:
    """Send bytes, and read one answer with a length, or all until the proxy closes."""
    with connect(live) as sock:
        sock.sendall(request)
        return read_answer(sock)


@contextmanager
def connect(live: NearProxy) -> Iterator[socket.socket]:
    """A connection to the proxy."""
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        yield sock


def read_answer(sock: socket.socket) -> bytes:
    """One answer, by its length or its last chunk; what there is where the connection ends."""
    data = b""
    while part := sock.recv(65536):
        data += part
        head, found, body = data.partition(b"\r\n\r\n")
        if not found:
            continue
        lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        length = lines.get(b"content-length")
        if length is not None and len(body) >= int(length):
            break
        if b"chunked" in lines.get(b"transfer-encoding", b"") and body.endswith(b"0\r\n\r\n"):
            break
    return data


def stream_of(url: str, model: str) -> httpx.Request:
    """A streamed chat request."""
    body = {"model": model, "messages": [], "stream": True}
    return httpx.Request("POST", f"{url}/v1/chat/completions", json=body)


def test_each_event_arrives_before_the_next_is_sent(live: NearProxy, fake: FakeProvider) -> None:
    """A stream is not held up: the provider sends an event only once the last one has arrived."""
    with httpx.Client() as client:
        response = client.send(stream_of(live.url, "stepwise"), stream=True)
        parts = response.iter_raw()
        got = []
        for _ in range(4):
            fake.step()
            got.append(next(parts))
        assert list(parts) == []
        response.close()

    assert b"".join(got) == fake.sent[0]
    assert [part.count(b"data: ") for part in got] == [1, 1, 1, 1]


def test_a_client_that_leaves_is_gone_for_the_provider_too(
    live: NearProxy, fake: FakeProvider
) -> None:
    """Before an answer: the connection to the provider is closed at once."""
    with connect(live) as sock:
        body = b'{"model": "hang", "messages": []}'
        sock.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b"
            % (len(body), body)
        )
        assert fake.arrived.wait(10)
    assert fake.left.wait(10)

    (record,) = live.records()
    assert (record["failed"], record["status"], record["answered"]) == ("client_left", None, None)
    assert record["request"].encode() == body


def test_a_client_that_leaves_in_a_stream_is_gone_too(live: NearProxy, fake: FakeProvider) -> None:
    """In the middle of an answer, with what came until then recorded."""
    with httpx.Client() as client:
        response = client.send(stream_of(live.url, "stepwise"), stream=True)
        fake.step()
        next(response.iter_raw())
        response.close()
    assert fake.left.wait(10)

    (record,) = live.records()
    assert (record["failed"], record["status"]) == ("client_left", 200)
    assert record["answered"] is not None
    assert record["response"]["id"] == "chatcmpl-1"


def test_an_answer_that_breaks_off_breaks_off_for_the_client(live: NearProxy) -> None:
    """The events until then arrive; the end of the stream does not."""
    with httpx.Client() as client:
        response = client.send(stream_of(live.url, "drop"), stream=True)
        parts = response.iter_raw()
        got = [next(parts), next(parts)]
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
            next(parts)

    (record,) = live.records()
    assert b"".join(got).count(b"data: ") == 2
    assert (record["failed"], record["status"]) == ("dropped", 200)


def test_a_provider_that_closes_without_an_answer_is_told(live: NearProxy) -> None:
    """A 502 that says what happened."""
    answer = httpx.post(f"{live.url}/v1/messages", json={"model": "closed", "messages": []})

    (record,) = live.records()
    assert answer.status_code == 502
    assert answer.json()["error"]["message"].endswith("closed the connection before it answered")
    assert (record["failed"], record["status"]) == ("no_answer", None)


def test_a_provider_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    """A 502 in a shape that clients read, with the address and the reason."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with near_proxy(url, tmp_path / "calls.jsonl") as live:
        answer = httpx.post(f"{live.url}/v1/messages", content=BODY)

        (record,) = live.records()
    assert answer.status_code == 502
    assert answer.json()["error"] == {
        "type": "stemcache_record",
        "code": "stemcache_record",
        "message": f"{url}, which stemcache record relays to, cannot be reached: "
        "Connection refused",
    }
    assert (record["failed"], record["request"].encode()) == ("no_connection", BODY)


def test_connections_are_kept(live: NearProxy, fake: FakeProvider) -> None:
    """Many requests of one connection go over one connection."""
    with httpx.Client() as client:
        for _ in range(5):
            assert client.post(f"{live.url}/v1/messages", content=BODY).status_code == 200

    assert fake.connections == 1
    assert len(live.records()) == 5


def test_a_connection_that_the_provider_closes_is_closed_for_the_client(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """Otherwise the client would send its next request to nobody."""
    with near_proxy(fake.url, tmp_path / "calls.jsonl") as live, connect(live) as sock:
        request = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b"
        sock.sendall(request % (len(BODY), BODY))
        assert read_answer(sock).startswith(b"HTTP/1.1 200 ")
        fake.close_all()
        assert sock.recv(1) == b""


def test_chunked_bodies_go_through_chunked(live: NearProxy, fake: FakeProvider) -> None:
    """The bytes are the same, however they were cut."""

    def parts() -> Iterator[bytes]:
        yield BODY[:10]
        yield BODY[10:]

    answer = httpx.post(f"{live.url}/v1/messages", content=parts(), headers=JSON)

    (record,) = live.records()
    assert answer.content == fake.sent[0]
    assert fake.received[0].body == BODY
    assert fake.received[0].headers["transfer-encoding"] == "chunked"
    assert record["request"].encode() == BODY


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_encoded_answers_go_through_encoded(
    live: NearProxy, fake: FakeProvider, encoding: str
) -> None:
    """A copy is decoded for its usage; what the client accepts is what it said."""
    body = {"model": encoding, "messages": []}
    with httpx.stream(
        "POST", f"{live.url}/v1/chat/completions", json=body, headers={"accept-encoding": encoding}
    ) as response:
        raw = b"".join(response.iter_raw())

    (record,) = live.records()
    assert raw == fake.sent[0]
    assert fake.received[0].headers["accept-encoding"] == encoding
    assert record["response"]["usage"]["prompt_tokens"] == 2000


def test_other_methods_go_through_and_are_no_calls(live: NearProxy, fake: FakeProvider) -> None:
    """GET and HEAD are relayed and not recorded."""
    assert httpx.get(f"{live.url}/v1/models").content == fake.sent[0]
    head = httpx.head(f"{live.url}/v1/models")

    assert head.headers["content-length"] == str(len(fake.sent[1]))
    assert live.records() == []


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/embeddings"])
def test_what_asks_for_no_answer_is_no_call(live: NearProxy, path: str) -> None:
    """Counting and embedding leave nothing in a prompt cache."""
    httpx.post(live.url + path, json={"input": "x", "messages": []})

    assert live.records() == []


def test_telemetry_is_no_call(live: NearProxy) -> None:
    """A body without a prompt is relayed and not recorded."""
    httpx.post(f"{live.url}/api/events", json={"events": [{"name": "x"}]})
    httpx.post(f"{live.url}/api/events", json=[1])
    httpx.post(f"{live.url}/api/events", content=b"not json")

    assert live.records() == []


def test_who_expects_a_100_gets_it(live: NearProxy, fake: FakeProvider) -> None:
    """The client sends its body only after it."""
    with connect(live) as sock:
        sock.sendall(
            b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n"
            b"content-length: %d\r\n\r\n" % len(BODY)
        )
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(BODY)
        assert read_answer(sock).startswith(b"HTTP/1.1 200 ")
    assert fake.received[0].body == BODY
    assert "expect" not in fake.received[0].headers


def test_requests_sent_ahead_are_answered_one_at_a_time(
    live: NearProxy, fake: FakeProvider
) -> None:
    """The first is answered and the connection closed, so that the client sends the rest again."""
    request = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b"
    one = request % (len(BODY), BODY)
    with connect(live) as sock:
        sock.sendall(one + one)
        answer = read_answer(sock)
        assert sock.recv(1) == b""
    assert b"Connection: close" in answer
    assert len(fake.received) == 1


@pytest.mark.parametrize("size", [2**20, 100 * 2**20])
def test_large_bodies_go_through(fake: FakeProvider, tmp_path: Path, size: int) -> None:
    """What is larger than the limit is relayed whole, and recorded as truncated."""
    body = b'{"model":"plain","messages":["' + b"x" * size + b'"]}'
    with near_proxy(fake.url, tmp_path / "calls.jsonl", most_body_bytes=2**22) as live:
        httpx.post(f"{live.url}/v1/messages", content=body, timeout=60)

        (record,) = live.records()
    assert fake.received[0].body == body
    assert record["truncated"] == (size > 2**22)
    assert record["request"] == (None if size > 2**22 else body.decode())
    assert record["response"]["usage"]["input_tokens"] == 10


def test_large_answers_go_through(live: NearProxy, fake: FakeProvider) -> None:
    """8 MiB, whole."""
    answer = httpx.post(f"{live.url}/v1/messages", json={"model": "large", "messages": []})

    (record,) = live.records()
    assert answer.content == fake.sent[0]
    assert record["response"]["id"] == "msg_1"


def test_a_hundred_clients_at_once(live: NearProxy, fake: FakeProvider) -> None:
    """Every one gets its own answer, and is recorded."""

    async def main() -> list[int]:
        limits = httpx.Limits(max_connections=100)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            sent = [
                client.post(
                    f"{live.url}/v1/messages", json={"model": "plain", "messages": [n], "n": n}
                )
                for n in range(100)
            ]
            return [answer.status_code for answer in await asyncio.gather(*sent)]

    assert asyncio.run(main()) == [200] * 100
    found = sorted(record["request"] for record in live.records())
    assert found == sorted(received.body.decode() for received in fake.received)
    assert len(set(found)) == 100


def test_routes_choose_the_provider(fake: FakeProvider, tmp_path: Path) -> None:
    """By the first part of the path, which is left out; without a target, others get a 404."""
    output = tmp_path / "calls.jsonl"
    with near_proxy(None, output, routes=(f"/a={fake.url}/base",)) as live:
        assert httpx.post(f"{live.url}/a/v1/messages", content=BODY).status_code == 200
        assert httpx.post(f"{live.url}/ab/v1/messages", content=BODY).status_code == 404

        (record,) = live.records()
    assert fake.received[0].head.startswith(b"POST /base/v1/messages HTTP/1.1")
    assert record["url"] == f"{fake.url}/base/v1/messages"


def test_a_stop_lets_a_stream_finish(live: NearProxy, fake: FakeProvider) -> None:
    """SIGTERM's way: idle connections are closed, the stream goes on to its end."""
    with httpx.Client() as client, connect(live) as idle:
        response = client.send(stream_of(live.url, "stepwise"), stream=True)
        parts = response.iter_raw()
        fake.step()
        first = next(parts)
        live.begin_stop()
        assert idle.recv(1) == b""
        for _ in range(3):
            fake.step()
        rest = b"".join(parts)
        response.close()

    (record,) = live.records()
    assert first + rest == fake.sent[0]
    assert (record["failed"], live.cut) == (None, 0)


def test_a_stop_cuts_off_what_takes_longer_than_its_grace(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """And records what came until then."""
    with near_proxy(fake.url, tmp_path / "calls.jsonl", grace_s=0.05) as live:
        response = httpx.Client().send(stream_of(live.url, "stepwise"), stream=True)
        stopping = threading.Thread(target=live.stop)
        stopping.start()
        with pytest.raises(httpx.HTTPError):
            response.read()
        stopping.join(10)

        (record,) = live.records()
    assert record["failed"] == "shutdown"
    assert live.cut == 1


def test_a_client_that_leaves_while_the_proxy_stops_has_left(
    live: NearProxy, fake: FakeProvider
) -> None:
    """It was not cut off."""
    with httpx.Client() as client, connect(live) as idle:
        response = client.send(stream_of(live.url, "stepwise"), stream=True)
        fake.step()
        next(response.iter_raw())
        live.begin_stop()
        assert idle.recv(1) == b""
        response.close()

    (record,) = live.records()
    assert (record["failed"], live.cut) == ("client_left", 0)
