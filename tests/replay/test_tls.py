"""An encrypted target, with a certificate made for the test by openssl."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from stemcache.clock import MonotonicClock
from stemcache.replay.pool import ConnectError, Pool, resolve
from stemcache.replay.target import parse_target
from tests.replay.test_connection import Heard, ask


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Certificate and key of 127.0.0.1, signed by itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *(
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=test",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
            ),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    return cert, key


def asked(certificate: tuple[Path, Path], host: str) -> Heard:
    """What is heard of an encrypted server that answers in two parts."""

    async def main() -> Heard:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc")
            await writer.drain()
            writer.write(b"def")
            await writer.drain()
            writer.close()

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        address = await resolve(parse_target(f"https://{host}:{port}", None))
        pool = Pool(address, MonotonicClock(), timeout_s=10)
        try:
            return await ask(await pool.connect())
        finally:
            pool.close()
            server.close()
            await asyncio.sleep(0.05)

    return asyncio.run(main())


def test_an_encrypted_target_is_read_like_any_other(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If its certificate is trusted; SSL_CERT_FILE names further ones, as for other programs."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    heard = asked(certificate, "127.0.0.1")
    assert (heard.how, heard.status, heard.body_) == ("done", 200, b"abcdef")


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # asyncio's own, of a failed handshake
def test_a_certificate_that_is_not_trusted_is_told(certificate: tuple[Path, Path]) -> None:
    """There is no flag to go on all the same."""
    with pytest.raises(ConnectError) as caught:
        asked(certificate, "127.0.0.1")
    assert caught.value.kind == "tls"
    assert "TLS failed: self-signed certificate" in str(caught.value)
