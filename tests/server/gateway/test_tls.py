"""Encryption on both sides, with a certificate made for the test by openssl."""

import json
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from stemcache.gateway.settings import GatewaySettings
from tests.server.gateway.fakes import Call, FakeReplica, chat, event, stream_head
from tests.server.gateway.near import Client, Near, ends, near_gateway, spec_of

CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
TURN = GatewaySettings(policy="round-robin")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Certificate and key of 127.0.0.1, signed by itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    directory = tmp_path_factory.mktemp("tls")
    cert, key = directory / "cert.pem", directory / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


def serving(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """For who listens."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def trusting(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """For who connects."""
    return ssl.create_default_context(cafile=str(certificate[0]))


def secret_spec(fake: FakeReplica) -> object:
    """The replica, over https."""
    plain = spec_of(fake)
    return type(plain)(name=plain.name, url=plain.url.replace("http:", "https:"))


def test_clients_may_come_over_tls(certificate: tuple[Path, Path]) -> None:
    """Plain answers and streams, on one connection."""
    with (
        near_gateway(chat, tls=serving(certificate)) as near,
        httpx.Client(verify=trusting(certificate)) as client,
    ):
        url = f"https://127.0.0.1:{near.port}{CHAT}"
        for _ in range(2):
            assert client.post(url, json=ASK).json()["choices"]
            got = client.post(url, json={**ASK, "stream": True})
            assert got.text.endswith("data: [DONE]\n\n")
        assert near.gateway.counters.connections == 1


def test_a_client_that_leaves_over_tls_is_noticed(certificate: tuple[Path, Path]) -> None:
    """Its replica stops at once."""
    with near_gateway(lambda _call: None, tls=serving(certificate)) as near:
        told = ends(near)
        raw = socket.create_connection(("127.0.0.1", near.port), timeout=10)
        with trusting(certificate).wrap_socket(raw, server_hostname="127.0.0.1") as sock:
            body = json.dumps(ASK).encode()
            sock.sendall(
                b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b"
                % (CHAT.encode(), len(body), body)
            )
            call = near.fakes[0].wait_calls(1)[0]
        assert call.left.wait(10)
        near.until(lambda: bool(told))
        assert told == [("client-left", False)]


def test_what_is_no_handshake_ends(certificate: tuple[Path, Path]) -> None:
    """Plain HTTP to the encrypted port: the connection is closed, the others go on."""
    with near_gateway(chat, tls=serving(certificate)) as near:
        with Client(near.port) as client:
            client.post(CHAT, ASK)
            assert b"HTTP/1.1 200" not in client.rest()
        with httpx.Client(verify=trusting(certificate)) as good:
            assert good.post(f"https://127.0.0.1:{near.port}{CHAT}", json=ASK).status_code == 200


def encrypted(near: Near, certificate: tuple[Path, Path], script: object) -> FakeReplica:
    """One more replica in the gateway's loop, over TLS."""
    fake = FakeReplica(script, "tls")  # type: ignore[arg-type]
    near.wait_for(fake.start(serving(certificate)))
    near.fakes.append(fake)
    return fake


def route_to(near: Near, fake: FakeReplica) -> None:
    """Nowhere else."""
    spec = secret_spec(fake)
    router = near.gateway.router
    near.do(lambda: router.configure(router.settings, [spec]))  # type: ignore[list-item]


def test_replicas_may_be_reached_over_tls(certificate: tuple[Path, Path]) -> None:
    """Their certificate is checked against what is trusted; connections are used again."""
    with near_gateway(chat, upstream_tls=trusting(certificate)) as near, near.connect() as client:
        fake = encrypted(near, certificate, chat)
        route_to(near, fake)
        for _ in range(3):
            client.post(CHAT, {**ASK, "stream": True})
            assert client.answer()[1].endswith(b"data: [DONE]\n\n")
        assert fake.connections == 1
        assert near.fakes[0].calls == []


def test_a_replica_that_is_not_trusted_gets_nothing(certificate: tuple[Path, Path]) -> None:
    """Not even a head."""
    with near_gateway(chat) as near, near.connect() as client:
        fake = encrypted(near, certificate, chat)
        route_to(near, fake)
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 502 ")
        assert fake.calls == []
        assert "TLS failed" in near.log.lines[0]["detail"]


def test_a_stream_over_tls_that_breaks_off_ends_in_an_error(certificate: tuple[Path, Path]) -> None:
    """As one without."""

    def dying(call: Call) -> None:
        call.transport.write(stream_head() + event({"choices": [1]}))
        call.transport.close()

    with near_gateway(chat, upstream_tls=trusting(certificate)) as near, near.connect() as client:
        route_to(near, encrypted(near, certificate, dying))
        client.post(CHAT, {**ASK, "stream": True})
        assert b"replica_lost" in client.answer()[1]
