"""Decoding the copy of a body, within bounds."""

import gzip
import sys
import zlib

import pytest
import zstandard

from stemcache.record.encoding import decoded

PLAIN = b'{"id": "x"}' * 1000


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", PLAIN),
        ("identity", PLAIN),
        ("gzip", gzip.compress(PLAIN)),
        ("X-GZIP", gzip.compress(PLAIN)),
        ("gzip", gzip.compress(PLAIN[:999]) + gzip.compress(PLAIN[999:])),
        ("deflate", zlib.compress(PLAIN)),
        ("zstd", zstandard.compress(PLAIN)),
        ("zstd", zstandard.compress(PLAIN[:999]) + zstandard.compress(PLAIN[999:])),
        ("gzip, zstd", zstandard.compress(gzip.compress(PLAIN))),
    ],
)
def test_known_encodings_are_undone(encoding: str, body: bytes) -> None:
    """One after the other, the last one first."""
    assert decoded(body, encoding, most_bytes=2**20) == PLAIN


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", PLAIN),
        ("compress", PLAIN),
        ("gzip", PLAIN),
        ("zstd", PLAIN),
        ("deflate", b"\xff" * 99),
        ("gzip", gzip.compress(b"x" * 2**20)),
        ("zstd", zstandard.compress(b"x" * 2**20)),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x" * 2**20))),
    ],
)
def test_what_cannot_be_undone_is_none(encoding: str, body: bytes) -> None:
    """Unknown, broken, or larger than allowed."""
    assert decoded(body, encoding, most_bytes=2**16) is None


def test_a_body_cut_off_is_worth_what_came() -> None:
    """A client may leave in the middle of an answer."""
    assert decoded(gzip.compress(PLAIN)[:-9], "gzip", most_bytes=2**20) == PLAIN
    random = bytes(n * n % 251 for n in range(300_000))
    whole = zstandard.compress(random)
    part = decoded(whole[: len(whole) // 2], "zstd", most_bytes=2**20)
    assert part is None or random.startswith(part)


def test_br_is_decoded_where_its_package_is() -> None:
    """Within the same bounds."""
    brotli = pytest.importorskip("brotli", minversion="1.2")
    assert decoded(brotli.compress(PLAIN), "br", most_bytes=2**20) == PLAIN
    assert decoded(brotli.compress(b"x" * 2**24), "br", most_bytes=2**20) is None
    assert decoded(brotli.compress(b"x" * 2**24), "br", most_bytes=2**24) == b"x" * 2**24
    assert decoded(b"\xff" * 99, "br", most_bytes=2**20) is None


def test_br_is_not_decoded_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything else said of it."""
    monkeypatch.setitem(sys.modules, "brotli", None)
    assert decoded(b"", "br", most_bytes=2**20) is None
