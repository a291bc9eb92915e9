"""A copy of a body without its content encoding, never larger than a bound.

The body on the wire stays as it was; what cannot be decoded here is recorded without usage. br is
decoded where the program has the package brotli.
"""

import importlib
import io
import zlib
from typing import Any

import zstandard

__all__ = ["decoded"]

_WINDOW_BYTES = 2**27
_PART_BYTES = 2**20


def decoded(body: bytes, encoding: str, *, most_bytes: int) -> bytes | None:
    """The plain bytes; None where the encoding is unknown, broken, or what comes out too large."""
    for name in reversed([each.strip().lower() for each in encoding.split(",")]):
        plain = _decoded(body, name, most_bytes)
        if plain is None:
            return None
        body = plain
    return body


def _decoded(body: bytes, name: str, most_bytes: int) -> bytes | None:
    try:
        match name:
            case "" | "identity":
                return body
            case "gzip" | "x-gzip":
                return _inflated(body, 16 + zlib.MAX_WBITS, most_bytes)
            case "deflate":
                return _inflated(body, zlib.MAX_WBITS, most_bytes)
            case "zstd":
                maker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
                with maker.stream_reader(io.BytesIO(body), read_across_frames=True) as reader:
                    plain = reader.read(most_bytes + 1)
                return plain if len(plain) <= most_bytes else None
            case "br":
                return _unbrotlied(body, most_bytes)
            case _:
                return None
    except (zlib.error, zstandard.ZstdError):
        return None


def _inflated(body: bytes, window_bits: int, most_bytes: int) -> bytes | None:
    parts: list[bytes] = []
    left = most_bytes
    while body:
        # A stream cut off half-way, as of a client that left, is worth what came.
        inflater = zlib.decompressobj(window_bits)
        parts.append(inflater.decompress(body, left + 1))
        left -= len(parts[-1])
        if left < 0:
            return None
        body = inflater.unused_data
    return b"".join(parts)


def _unbrotlied(body: bytes, most_bytes: int) -> bytes | None:
    try:
        brotli: Any = importlib.import_module("brotli")
    except ImportError:
        return None
    parts: list[bytes] = []
    left = most_bytes
    try:
        decompressor = brotli.Decompressor()
        part = decompressor.process(body, output_buffer_limit=_PART_BYTES)
        while part and left >= 0:
            parts.append(part)
            left -= len(part)
            part = decompressor.process(b"", output_buffer_limit=_PART_BYTES)
    except (brotli.error, TypeError):
        return None  # broken, or a version that knows no limit
    return b"".join(parts) if left >= 0 else None
