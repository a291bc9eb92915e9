"""What becomes of a request that was read whole."""

import gzip
import json
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


def salt_of(key: str, own: str | None = None) -> str | None:
    """What a tenant's requests are salted with."""
    admission = Tenants(KEYED).admit([(b"authorization", b"Bearer " + key.encode())])
    assert isinstance(admission, Admission)
    return admission.effective_salt(own)


@pytest.mark.parametrize("header", ["Authorization: Bearer key-a", "x-api-key: key-a"])
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
        client.send(f"GET /v1/files HTTP/1.1\r\nhost: x\r\n{header}\r\n".encode())
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
    "body",
    [
        b"\xef\xbb\xbf" + STRANGER.encode(),
        STRANGER.encode("utf-16"),
        STRANGER.encode("utf-32"),
        STRANGER.replace('"m"', "NaN").encode(),
        STRANGER.replace('"m"', "-Infinity").encode(),
        STRANGER.replace('"model"', '"\\ud800"').encode(),
        STRANGER[:-1].encode() + b',"x":' + b"[" * 2000 + b"]" * 2000 + b"}",
        b"[" + STRANGER.encode() + b"]",
        STRANGER.encode()[:-1],
    ],
    ids=["mark", "utf-16", "utf-32", "nan", "infinity", "surrogate", "deep", "list", "cut"],
)
@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data; boundary=x"])
def test_a_body_that_only_a_replica_could_read_is_refused_to_tenants(
    body: bytes, content_type: str
) -> None:
    """Python's reader takes more than JSON; the salt in it would be the client's."""
    headers = f"Content-Type: {content_type}\r\nx-api-key: key-a\r\n"
    with near_gateway(chat, settings=KEYED) as near, near.connect() as client:
        client.post(CHAT, body, headers)
        head, got = client.answer()
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(got)["error"]["code"] == "unreadable_body"
        assert near.fakes[0].calls == []


def test_a_tenant_s_file_is_no_prompt() -> None:
    """It goes through as it is."""
    headers = "Content-Type: multipart/form-data; boundary=x\r\nx-api-key: key-a\r\n"
    empty = b"HTTP/1.1 200 X\r\ncontent-length: 0\r\n\r\n"
    with (
        near_gateway(lambda call: call.transport.write(empty), settings=KEYED) as near,
        near.connect() as client,
    ):
        client.post("/v1/files", b"--x\r\n\r\nhello\r\n--x--", headers)
        client.answer()
        assert near.fakes[0].calls[0].body == b"--x\r\n\r\nhello\r\n--x--"


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
