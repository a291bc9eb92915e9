from typing import Any

import pytest

from stemcache.trace.calls.fields import (
    decoded,
    first,
    json_of,
    known_time_s,
    name_of,
    nested,
    number_of,
    split_url,
    status_of,
)
from stemcache.trace.problem import BadLineError


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a": ', "the line: the JSON ends early"),
        (b"\xff", "the line: not JSON: invalid character (byte 0)"),
        (b"[" * 10_000, "the line: the JSON nests too deep"),
        ('"\ud83d"', "the line: a text holds half of a surrogate pair, which is no character"),
        (b'"\\ud83d"', "the line: a text holds half of a surrogate pair, which is no character"),
    ],
)
def test_what_cannot_be_decoded_says_why(text: bytes | str, reason: str) -> None:
    """The reason has a place and no content."""
    with pytest.raises(BadLineError) as raised:
        decoded(text, "the line")
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1772352000, 1772352000.0),
        (1772352000.25, 1772352000.25),
        (1772352000250, 1772352000.25),
        ("1772352000250000000", 1772352000.25),
        ("2026-03-01T08:00:00.250Z", 1772352000.25),
        ("2026-03-01 08:00:00.250", 1772352000.25),
        ("2026-03-01 08:00:00 UTC", 1772352000.0),
        ("2026-03-01T09:00:00+01:00", 1772352000.0),
        ("yesterday", None),
        ("", None),
        (True, None),
        ([], None),
        (10**400, None),
        ("9" * 400, None),
        (1e300, None),
    ],
)
def test_times(value: Any, seconds: float | None) -> None:
    """Numbers of any unit and ISO 8601 are times; what is none is unknown, and no error."""
    assert known_time_s(value) == seconds


@pytest.mark.parametrize(
    ("value", "name"),
    [("a", "a"), (7, "7"), ({"id": "a"}, "a"), ("", None), (True, None), (1.5, None), ([], None)],
)
def test_names(value: Any, name: str | None) -> None:
    """Texts, whole numbers and objects with an id are names."""
    assert name_of(value) == name


@pytest.mark.parametrize(
    ("value", "status"),
    [(200, 200), ("404", 404), (99, None), (1000, None), ("ok", None), (True, None), ("٤٠٤", None)],
)
def test_statuses(value: Any, status: int | None) -> None:
    """Only what can be a status of HTTP is one."""
    assert status_of(value) == status


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1.0), (0.5, 0.5), (True, None), ("1", None), (10**400, None), (float("nan"), None)],
)
def test_numbers(value: Any, number: float | None) -> None:
    """Truth values and what is not finite are no numbers."""
    assert number_of(value) == number


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://u:p@Host.example:8443/v1/messages?key=s#f", ("host.example", "/v1/messages")),
        ("http://host", ("host", None)),
        ("/v1/messages?key=s", (None, "/v1/messages")),
        ("host", (None, None)),
        ("http://[::1", (None, None)),
        (5, (None, None)),
    ],
)
def test_urls(url: Any, parts: tuple[str | None, str | None]) -> None:
    """Host and path are kept; user, password, port and query are not."""
    assert split_url(url) == parts


def test_what_is_missing_is_none() -> None:
    """Fields that are null, absent or inside of no object are none; zero and false are there."""
    assert first({"a": None, "b": 0, "c": 1}, ("x", "a", "b", "c")) == 0
    assert nested({"a": {"b": [1]}}, "a", "b") == [1]
    assert nested({"a": [1]}, "a", "b") is None
    assert (json_of("{"), json_of("[1]"), json_of([2]), json_of("\ud83d")) == (None, [1], [2], None)
