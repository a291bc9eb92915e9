"""An encrypted provider, with a certificate made for the test by openssl."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from stemcache.errors import UsageError
from stemcache.record.proxy.run import tls_context
from tests.record.live_proxy import near_proxy


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


class Handler(BaseHTTPRequestHandler):
    """Says hello."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")


@contextmanager
def encrypted(certificate: tuple[Path, Path]) -> Iterator[int]:
    """The port of a running server."""
    server = HTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # failed handshakes
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_certificate_that_is_trusted_is(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    """`--ca-file` adds to the system's trust store."""
    context = tls_context(str(certificate[0]))
    with (
        encrypted(certificate) as port,
        near_proxy(f"https://127.0.0.1:{port}", tmp_path / "c.jsonl", tls=context) as live,
    ):
        assert httpx.get(f"{live.url}/").content == b"hello"


def test_a_certificate_that_is_not_trusted_is_a_502(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """No request is sent to a stranger."""
    with (
        encrypted(certificate) as port,
        near_proxy(f"https://127.0.0.1:{port}", tmp_path / "c.jsonl") as live,
    ):
        answer = httpx.get(f"{live.url}/")
    assert answer.status_code == 502
    assert answer.json()["error"]["message"].endswith(
        "cannot be reached: TLS failed (self-signed certificate)"
    )


def test_a_provider_that_speaks_no_tls_is_a_502(tmp_path: Path) -> None:
    """With a reason."""
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        url = f"https://127.0.0.1:{server.server_port}"
        with near_proxy(url, tmp_path / "c.jsonl") as live:
            answer = httpx.get(f"{live.url}/")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert answer.status_code == 502
    assert "cannot be reached: TLS failed (" in answer.json()["error"]["message"]


def test_a_file_that_holds_no_certificates_is_told(tmp_path: Path) -> None:
    """The message names it."""
    path = tmp_path / "ca.pem"
    path.write_text("nothing")
    with pytest.raises(UsageError, match=r"--ca-file .*ca\.pem cannot be read"):
        tls_context(str(path))
