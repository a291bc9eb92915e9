"""TLS on both sides: towards clients with a certificate of our own, towards replicas with trust."""

import ssl
from hashlib import sha256
from pathlib import Path

from stemcache.errors import UsageError
from stemcache.gateway.deployment import Listen

__all__ = ["certificate_digest", "load_certificate", "tls_to_clients", "tls_to_replicas"]


def tls_to_clients(listen: Listen) -> ssl.SSLContext | None:
    """The context of the listening address; None for plain HTTP. Raises UsageError."""
    if listen.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    load_certificate(context, listen)
    return context


def load_certificate(context: ssl.SSLContext, listen: Listen) -> None:
    """Read the files again: new connections get what is there now. Raises UsageError."""
    assert listen.tls_cert is not None, "there is TLS"
    try:
        context.load_cert_chain(listen.tls_cert, listen.tls_key, password=_no_password)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"--tls-cert {listen.tls_cert} or --tls-key {listen.tls_key} cannot be used: {reason}; "
            "give PEM files of a certificate and its key, without a passphrase"
        ) from None


def certificate_digest(listen: Listen) -> bytes | None:
    """Of the files as they are now; None for plain HTTP, or where one cannot be read."""
    if listen.tls_cert is None or listen.tls_key is None:
        return None
    try:
        files = [Path(name).read_bytes() for name in (listen.tls_cert, listen.tls_key)]
    except OSError:
        return None
    return sha256(b"\0".join(files)).digest()


def _no_password() -> str:
    # Without this, OpenSSL would ask the terminal.
    raise UsageError("--tls-key is encrypted; give a key without a passphrase")


def tls_to_replicas(ca_file: str | None) -> ssl.SSLContext:
    """The system's trust store, and certificates of the user's beside it. Raises UsageError."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(
                f"--ca-file {ca_file} cannot be read: {error}; give a file of PEM certificates"
            ) from None
    return context
