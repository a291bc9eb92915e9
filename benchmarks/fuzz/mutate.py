"""Logs made wrong in every way that comes to mind, from a seed."""

import json
import random
from collections.abc import Callable
from typing import Any

__all__ = ["mutated"]

_JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, 2**63, -(2**80), 0.1, "", " ", "\x00", "\ud800", "é" * 50,
    "a" * 5_000, [], {}, [[]], [None], {"": {}}, {"type": "text"}, {"role": 7}, "[" * 200, "{",
    "2026-11-30T09:00:00Z", "1e999", {"cache_control": {"type": "ephemeral", "ttl": "99y"}},
    {"type": "tool_use", "input": []}, {"type": "tool_result", "content": [[[]]]},
)  # fmt: skip
_TOKENS = (
    b"null", b"true", b"NaN", b"-Infinity", b"1e400", b"\\ud800", b"\\u0000", b"\xff", b"\xc3(",
    b"\x00", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\n", b"\r\n", b"\xef\xbb\xbf",
    b"[" * 3_000, b'{"a":' * 3_000, b"9" * 400, b"data: ", b"\x1f\x8b\x08", b"(\xb5/\xfd",
)  # fmt: skip


def mutated(seed: bytes, chance: random.Random) -> bytes:
    """The same log with one to a few things wrong. Mostly still a log; at most 256 KiB."""
    data = seed[: 2**18]
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        data = chance.choice(_WAYS)(data, chance)[: 2**18]
    return data


def _flip(data: bytes, chance: random.Random) -> bytes:
    if not data:
        return b"\x00"
    at = chance.randrange(len(data))
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(_TOKENS) + data[at:]


def _cut(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
    return data[:start] + data[end:]


def _end(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _repeat(data: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(data))
    piece = data[start : start + chance.choice((1, 10, 100, 1_000))]
    return data[:start] + piece * chance.choice((2, 3, 50)) + data[start:]


def _lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines[: chance.randint(1, len(lines))])


def _doubled(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(line for line in lines for _ in range(chance.choice((0, 1, 1, 2))))


def _value(data: bytes, chance: random.Random) -> bytes:
    """One value somewhere in a line of JSON becomes another of any type."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    try:
        record = json.loads(lines[at])
    except (ValueError, RecursionError):
        return _flip(data, chance)
    lines[at] = json.dumps(_changed(record, chance)).encode()
    return b"\n".join(lines)


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice([*value])
        if chance.random() < 0.15:
            return {other: each for other, each in value.items() if other != key}
        if chance.random() < 0.1:
            return dict(reversed(value.items()))
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        if chance.random() < 0.15:
            return [*value[:at], *value[at + 1 :]]
        if chance.random() < 0.1:
            return value * chance.choice((2, 40))
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    if isinstance(value, str) and chance.random() < 0.5:
        return value[: chance.randint(0, len(value))] + chance.choice(
            ("", "x", "\n", "\ud800", "é")
        )
    return chance.choice(_JUNK)


_WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _insert, _cut, _end, _repeat, _lines, _doubled, _value, _value, _value, _value,
)  # fmt: skip
