"""What becomes of a request that was read whole."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from stemcache.gateway.settings import ApiKey, GatewaySettings
from stemcache.gateway.tenants import Admission, Tenants
from tests.server.gateway.fakes import chat
from tests.server.gateway.near import near_gateway

CHAT = "/v1/chat/completions"
ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
KEYED = GatewaySettings(
    policy="round-robin",
    api_keys=(
        ApiKey(key="key-a", tenant="a"),
        ApiKey(key="key-b", tenant="b", may_salt=True),
    ),
    salt_secret="secret",
)

SHARING = replace(KEYED, shared_paths=("/v1/files", "/v1/generate", "/v1/batches"))


def salt_of(key: str, own: str | None = None) -> str | None:
    """What a tenant's requests are salted with."""
    admission = Tenants(KEYED).admit([(b"authorization", b"Bearer " + key.encode())])
    assert isinstance(admission, Admission)
    return admission.effective_salt(own)


@pytest.mark.parametrize(
    "header", ["Authorization: Bearer key-a", "x-api-key: key-a", "api-key: key-a"]
)
def test_a_tenant_s_salt_takes_the_place_of_the_client_s(header: str) -> None:
    """And its key goes no further."""
    with near_gateway(chat, settings=KEYED) as near, near.connect() as client:
        client.post(CHAT, {"cache_salt": "mine", **ASK}, header + "\r\n")
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        call = near.fakes[0].calls[0]
    assert call.json == {**ASK, "cache_salt": salt_of("key-a")}
    assert "key-a" not in "\n".join(call.lines)


def test_a_tenant_that_may_salt_divides_its_own_part() -> None:
    """What the replica sees is neither the tenant's nor the client's word."""
    with near_gateway(chat, settings=KEYED) as near, near.connect() as client:
        for own in ("mine", r"mine", "other"):
            client.post(CHAT, {**ASK, "cache_salt": own}, "x-api-key: key-b\r\n")
            client.answer()
        escaped = json.dumps({**ASK, "cache_salt": "mine"}).replace("cache_s", "cache\\u005fs")
        client.post(CHAT, escaped.encode(), "x-api-key: key-b\r\n")
        client.answer()
        salts = [call.json["cache_salt"] for call in near.fakes[0].calls]
    mine, other = salt_of("key-b", "mine"), salt_of("key-b", "other")
    assert salts == [mine, mine, other, mine]
    assert len({mine, other, salt_of("key-b"), salt_of("key-a", "mine")}) == 4


@pytest.mark.parametrize("header", ["", "Authorization: Bearer nobody\r\n", "x-api-key: key\r\n"])
def test_who_has_no_key_is_refused(header: str) -> None:
    """In the API's shape; the connection goes on, for the next request may have one."""
    with near_gateway(chat, settings=KEYED) as near, near.connect() as client:
        client.post(CHAT, ASK, header)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
        assert json.loads(body)["error"]["type"] == "authentication_error"
        client.post("/v1/messages", ASK, header)
        assert json.loads(client.answer()[1])["error"]["type"] == "authentication_error"
        client.send(f"GET /v1/responses/a HTTP/1.1\r\nhost: x\r\n{header}\r\n".encode())
        assert client.answer()[0].startswith(b"HTTP/1.1 401 ")
        client.post(CHAT, ASK, "x-api-key: key-a\r\n")
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert len(near.fakes[0].calls) == 1


def test_a_tenant_s_body_must_be_readable() -> None:
    """In a coding no salt could be set, and the tenant would meet others in the cache."""
    body = gzip.compress(json.dumps(ASK).encode())
    headers = "Content-Encoding: gzip\r\nx-api-key: key-a\r\n"
    with near_gateway(chat, settings=KEYED) as near, near.connect() as client:
        client.post(CHAT, body, headers)
        head, got = client.answer()
        assert head.startswith(b"HTTP/1.1 415 ")
        assert json.loads(got)["error"]["code"] == "unsupported_content_encoding"
        assert near.fakes[0].calls == []


STRANGER = json.dumps({**ASK, "cache_salt": "another tenant's"})


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\xef\xbb\xbf" + STRANGER.encode(), "it begins with a byte order mark"),
        (STRANGER.encode("utf-16"), "it is in UTF-16 or UTF-32"),
        (STRANGER.encode("utf-32"), "it is in UTF-16 or UTF-32"),
        (STRANGER.replace('"m"', "NaN").encode(), "it has NaN or Infinity at byte 10, "),
        (STRANGER.replace('"m"', "-Infinity").encode(), "it has NaN or Infinity at byte 11, "),
        (STRANGER[:-1].encode() + b',"x":' + b"[" * 2000 + b"]" * 2000 + b"}", "it nests too "),
        (b"[" + STRANGER.encode() + b"]", "it is JSON, but no object"),
        (STRANGER.encode()[:-1], "it ends before the object does"),
    ],
    ids=["mark", "utf-16", "utf-32", "nan", "infinity", "deep", "list", "cut"],
)
@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("path", [CHAT, "/v1/embeddings", "/tokenize", "/v1/files"])
def test_a_body_that_only_a_replica_could_read_is_refused_to_tenants(
    body: bytes, why: str, content_type: str, path: str
) -> None:
    """Python's reader takes more than JSON; the salt in it would be the client's.

    Whatever the content type says it is: nobody need go by that.
    """
    headers = f"Content-Type: {content_type}\r\nx-api-key: key-a\r\n"
    with near_gateway(chat, settings=SHARING) as near, near.connect() as client:
        client.post(path, body, headers)
        head, got = client.answer()
        assert head.startswith(b"HTTP/1.1 400 ")
        error = json.loads(got)["error"]
        assert error["code"] == "unreadable_body"
        assert error["message"].startswith(f"the body is no JSON object: {why}")
        assert near.fakes[0].calls == []


@pytest.mark.parametrize("settings", [KEYED, None], ids=["tenants", "open"])
def test_half_a_pair_of_surrogates_is_relayed(settings: GatewaySettings | None) -> None:
    """As JavaScript writes a character cut in two: byte for byte, beside what is set."""
    body = json.dumps({**ASK, "stream": True})[:-1] + r', "user": "cut \ud83d"}'
    with near_gateway(chat, settings=settings) as near, near.connect() as client:
        client.post(CHAT, body.encode(), "x-api-key: key-a\r\n")
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        sent = near.fakes[0].calls[0]
    assert sent.body.startswith(body[:-1].encode())
    assert sent.json["user"] == "cut \ud83d"
    assert sent.json["stream_options"] == {"include_usage": True}
    assert sent.json.get("cache_salt") == (None if settings is None else salt_of("key-a"))


@pytest.mark.parametrize(
    ("path", "salted"),
    [
        ("/v1/chat/completions/batch", True),
        ("/v1/embeddings", True),
        ("/v1/score", True),
        ("/rerank", True),
        ("/v1/tokenize", False),
        ("/v1/chat/completions/render", False),
        ("/v1/messages/count_tokens", False),
        ("/v1/batches", True),
    ],
)
@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data; boundary=x"])
def test_a_tenant_s_salt_is_set_wherever_something_is_computed(
    path: str, content_type: str, *, salted: bool
) -> None:
    """The client's own goes from all; where a body comes back, ours is not shown either."""
    headers = f"Content-Type: {content_type}\r\nx-api-key: key-a\r\n"
    with near_gateway(chat, settings=SHARING) as near, near.connect() as client:
        client.post(path, {**ASK, "cache_salt": "mine"}, headers)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        got = near.fakes[0].calls[0].json
    assert got == ({**ASK, "cache_salt": salt_of("key-a")} if salted else ASK)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "HEAD"])
@pytest.mark.parametrize("settings", [KEYED, None], ids=["tenants", "open"])
def test_a_prompt_is_posted_or_refused(method: str, settings: GatewaySettings | None) -> None:
    """No other method carries a salt past us."""
    with near_gateway(chat, settings=settings) as near, near.connect() as client:
        client.send(_request(method, CHAT, STRANGER.encode()))
        head = client.until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 405 Method Not Allowed\r\n")
        assert b"\r\nallow: POST\r\n" in head
        assert near.fakes[0].calls == []


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "GET"])
@pytest.mark.parametrize("tenants", [True, False])
def test_a_salt_goes_from_bodies_of_any_method(method: str, *, tenants: bool) -> None:
    """Where they are relayed at all."""
    with near_gateway(chat, settings=SHARING if tenants else None) as near:
        with near.connect() as client:
            client.send(_request(method, "/v1/files", STRANGER.encode()))
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        call = near.fakes[0].calls[0]
    assert (call.method, call.json.get("cache_salt")) == (
        method,
        salt_of("key-a") if tenants else None,
    )


def test_options_are_relayed_without_the_client_s_salt() -> None:
    """They ask what may be asked, and make no tokens."""
    with near_gateway(chat, settings=KEYED) as near, near.connect() as client:
        client.send(_request("OPTIONS", CHAT, STRANGER.encode()))
        client.answer()
        assert near.fakes[0].calls[0].json == ASK


@pytest.mark.parametrize("path", ["/v1/files", "/v1/generate", "/v1/batches/a"])
def test_what_keeps_nobody_apart_is_not_for_tenants(path: str) -> None:
    """Unless it is shared; then a file goes through as it is."""
    headers = "Content-Type: multipart/form-data; boundary=x\r\nx-api-key: key-a\r\n"
    body = b'--x\r\n\r\n{"cache_salt": "in a file"}\r\n--x--'
    with near_gateway(chat, settings=KEYED) as near, near.connect() as client:
        client.post(path, body, headers)
        head, got = client.answer()
        assert head.startswith(b"HTTP/1.1 404 ")
        assert json.loads(got)["error"]["code"] == "path_not_relayed"
        assert near.fakes[0].calls == []
    empty = b"HTTP/1.1 200 X\r\ncontent-length: 0\r\n\r\n"
    with (
        near_gateway(lambda call: call.transport.write(empty), settings=SHARING) as near,
        near.connect() as client,
    ):
        client.post(path, body, headers)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert near.fakes[0].calls[0].body == body


def _request(method: str, path: str, body: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nx-api-key: key-a\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_where_there_are_no_tenants_a_coded_body_goes_through() -> None:
    """It is the replica's to read or refuse."""
    body = gzip.compress(json.dumps(ASK).encode())
    with near_gateway(lambda call: call.transport.write(b"HTTP/1.1 200 X\r\n\r\n")) as near:
        near.fakes[0].script = lambda call: call.transport.write(
            b"HTTP/1.1 200 X\r\ncontent-length: 0\r\n\r\n"
        )
        with near.connect() as client:
            client.post(CHAT, body, "Content-Encoding: gzip\r\n")
            client.answer()
            call = near.fakes[0].calls[0]
            assert (call.body, call.headers["content-encoding"]) == (body, "gzip")


@pytest.mark.parametrize(("trusted", "kept"), [(False, None), (True, "mine")])
def test_without_tenants_a_salt_is_passed_on_only_where_it_is_trusted(
    kept: str | None, *, trusted: bool
) -> None:
    """By a setting."""
    settings = GatewaySettings(policy="round-robin", trust_client_salt=trusted)
    with near_gateway(chat, settings=settings) as near, near.connect() as client:
        client.post(CHAT, {**ASK, "cache_salt": "mine"})
        client.answer()
        assert near.fakes[0].calls[0].json.get("cache_salt") == kept


def test_other_keys_hold_from_the_next_request_on() -> None:
    """Also on connections that are open."""
    with near_gateway(chat) as near, near.connect() as client:
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        replicas = near.gateway.settings.replicas
        near.do(lambda: near.gateway.configure(_with(KEYED, replicas)))
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 401 ")


def _with(settings: GatewaySettings, replicas: Any) -> GatewaySettings:
    return GatewaySettings(replicas=replicas, api_keys=settings.api_keys)
