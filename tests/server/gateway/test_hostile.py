"""What strangers may send: each has its answer, and no replica sees any of it."""

import json
from random import Random

import pytest

from tests.server.gateway.fakes import Call, json_answer
from tests.server.gateway.near import near_gateway


def echo(call: Call) -> None:
    """Answer at once."""
    call.transport.write(json_answer(call.body))


POST = b"POST /v1/completions HTTP/1.1\r\nhost: x\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n"

SMUGGLED = {
    "no HTTP": b"nonsense\r\n\r\n",
    "TLS to a plain port": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2 with prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/2.0 in a line": b"GET /v1/models HTTP/2.0\r\nhost: x\r\n\r\n",
    "HTTP/0.9": b"GET /v1/models\r\n\r\n",
    "HTTP/9.9": b"GET /v1/models HTTP/9.9\r\nhost: x\r\n\r\n",
    "a method in small letters": b"get /v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
    "a method of one's own": b"SMUGGLE /v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
    "a proxy's target": b"GET http://other/v1/models HTTP/1.1\r\nhost: other\r\n\r\n",
    "CONNECT": b"CONNECT other:443 HTTP/1.1\r\nhost: other:443\r\n\r\n",
    "OPTIONS *": b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
    "no host": b"GET /v1/models HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /v1/models HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n",
    "the same host twice": b"GET /v1/models HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n",
    "a NUL in the target": b"GET /v1/\x00 HTTP/1.1\r\nhost: x\r\n\r\n",
    "a byte beyond ASCII in the target": b"GET /v1/\xff HTTP/1.1\r\nhost: x\r\n\r\n",
    "a space in the target": b"GET /v1/a b HTTP/1.1\r\nhost: x\r\n\r\n",
    "a NUL in a value": b"GET /v1/a HTTP/1.1\r\nhost: x\r\na: b\x00c\r\n\r\n",
    "a bare CR in a value": b"GET /v1/a HTTP/1.1\r\nhost: x\r\na: b\rc\r\n\r\n",
    "a bare LF behind a value": b"GET /v1/a HTTP/1.1\r\nhost: x\na: b\r\n\r\n",
    "bare LFs all over": b"GET /v1/a HTTP/1.1\nhost: x\n\n",
    "a folded header": b"GET /v1/a HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n",
    "a header that begins with a space": b"GET /v1/a HTTP/1.1\r\n host: x\r\n\r\n",
    "a space before the colon": CHUNKED.replace(b"encoding:", b"encoding :") + b"\r\n0\r\n\r\n",
    "a header without a colon": b"GET /v1/a HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n",
    "a header without a name": b"GET /v1/a HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n",
    "a name beyond ASCII": b"GET /v1/a HTTP/1.1\r\nhost: x\r\nx\x80: y\r\n\r\n",
    "length, then chunks": POST
    + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks, then length": CHUNKED + b"content-length: 3\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"content-length: 3\r\ncontent-length: 4\r\n\r\nabc",
    "one length twice": POST + b"content-length: 3\r\ncontent-length: 3\r\n\r\nabc",
    "a list of lengths": POST + b"content-length: 3, 3\r\n\r\nabc",
    "a length with a sign": POST + b"content-length: +3\r\n\r\nabc",
    "a negative length": POST + b"content-length: -1\r\n\r\n",
    "a length in hexadecimal": POST + b"content-length: 0x3\r\n\r\nabc",
    "an empty length": POST + b"content-length:\r\n\r\nabc",
    "a length beyond 64 bits": POST + b"content-length: 99999999999999999999999\r\n\r\nabc",
    "chunked not at the end": POST + b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "another coding before": POST + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": CHUNKED + b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "a coding like chunked": POST + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a coding in quotes": POST + b'transfer-encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "a coding behind a tab": POST + b"transfer-encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "identity with a length": POST + b"transfer-encoding: identity\r\ncontent-length: 3\r\n\r\nabc",
    "chunks in HTTP/1.0": CHUNKED.replace(b"/1.1", b"/1.0") + b"\r\n0\r\n\r\n",
    "a chunk size that is none": CHUNKED + b"\r\nzz\r\n",
    "a chunk size with a prefix": CHUNKED + b"\r\n0x3\r\nabc\r\n0\r\n\r\n",
    "a negative chunk size": CHUNKED + b"\r\n-3\r\nabc\r\n0\r\n\r\n",
    "a chunk size beyond 64 bits": CHUNKED + b"\r\nfffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "a chunk size with a space": CHUNKED + b"\r\n3 \r\nabc\r\n0\r\n\r\n",
    "a bare LF behind a chunk size": CHUNKED + b"\r\n3\nabc\r\n0\r\n\r\n",
    "a bare LF in a chunk extension": CHUNKED + b"\r\n3;a=b\nc\r\nabc\r\n0\r\n\r\n",
    "a chunk longer than it says": CHUNKED + b"\r\n3\r\nabcd\r\n0\r\n\r\n",
    "a length in the trailers": CHUNKED + b"\r\n1\r\na\r\n0\r\ncontent-length: 4\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", SMUGGLED.values(), ids=SMUGGLED)
def test_what_could_be_read_in_two_ways_is_refused(request_bytes: bytes) -> None:
    """With a 400; the connection is closed, and what follows on it is not read."""
    hidden = b"GET /v1/hidden HTTP/1.1\r\nhost: x\r\n\r\n"
    with near_gateway(echo) as near:
        answer = near.said(request_bytes + hidden)
        start, _, body = answer.partition(b"\r\n\r\n")
        assert start.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"\r\nconnection: close" in start
        error = json.loads(body)["error"]
        assert error["code"] in {"bad_request_syntax", "bad_request_head"}
        assert near.fakes[0].calls == []
        assert near.gateway.counters.refused.total() == 1


HARMLESS = {
    "empty lines before": b"\r\n\r\n" + POST + b"content-length: 2\r\n\r\n{}",
    "spaces behind a length": POST + b"content-length: 2 \r\n\r\n{}",
    "a chunk extension": CHUNKED + b"\r\n2;a=b\r\n{}\r\n0\r\n\r\n",
    "bytes beyond ASCII in a value": POST + b"a: \xff\r\ncontent-length: 2\r\n\r\n{}",
    "two spaces before the target": POST.replace(b"POST ", b"POST  ")
    + b"content-length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("request_bytes", HARMLESS.values(), ids=HARMLESS)
def test_what_can_be_read_in_one_way_only_is_sent_on_cleanly(request_bytes: bytes) -> None:
    """A replica gets it as the gateway has read it, not as it was written."""
    with near_gateway(echo) as near, near.connect() as client:
        client.send(request_bytes)
        assert client.answer()[1] == b"{}"
        call = near.fakes[0].calls[0]
        assert (call.method, call.target) == ("POST", "/v1/completions")
        assert call.headers["content-length"] == "2"
        assert "transfer-encoding" not in call.headers


def test_a_length_on_a_get_is_its_body_s() -> None:
    """It is read as such, and does not begin another request."""
    hidden = b"GET /v1/hidden HTTP/1.1\r\nhost: x\r\n\r\n"
    with near_gateway(echo) as near, near.connect() as client:
        client.send(
            b"GET /v1/files HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b"
            % (len(hidden), hidden)
        )
        assert client.answer()[1] == hidden
        assert [call.target for call in near.fakes[0].calls] == ["/v1/files"]


def test_random_damage_has_an_answer_or_none() -> None:
    """Nothing is raised, nothing is left behind, whatever bytes come."""
    rng = Random(11)
    whole = POST + b'content-length: 20\r\na: b\r\n\r\n{"prompt": "abcdefg"}'
    with near_gateway(echo) as near:
        for _ in range(300):
            data = bytearray(whole * rng.randrange(1, 3))
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(len(data))
                match rng.randrange(3):
                    case 0:
                        data[at] = rng.randrange(256)
                    case 1:
                        del data[at : at + rng.randrange(1, 5)]
                    case _:
                        data[at:at] = bytes(rng.choices(b"\r\n: \x00{}0a", k=3))
            with near.connect() as client:
                client.send(bytes(data))
        near.until(lambda: not near.gateway.open)
        assert near.log.lines == []
        with near.connect() as client:
            client.send(whole.replace(b"20", b"21"))
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
