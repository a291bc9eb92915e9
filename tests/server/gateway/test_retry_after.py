"""What a replica says of how long it is to be left alone."""

import pytest

from stemcache.server.gateway.retry_after import busy_s


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("value", "seconds"),
    [(b"7", 7.0), (b" 12 ", 12.0), (b"0", 0.0), (b"999999999", 999_999_999.0)],
)
def test_seconds_are_read(status: int, value: bytes, seconds: float) -> None:
    """In any spelling of the header's name."""
    assert busy_s(status, [(b"Server", b"x"), (b"RETRY-After", value)]) == seconds


@pytest.mark.parametrize(
    "value",
    [b"", b"-1", b"1.5", b"soon", b"1e9", b"9" * 400, b"\xb2", b"Wed, 21 Oct 2026 07:28:00 GMT"],
)
def test_what_is_no_number_of_seconds_is_none(value: bytes) -> None:
    """A date would need clocks that agree; the rest is a mistake of somebody's."""
    assert busy_s(503, [(b"retry-after", value)]) is None


@pytest.mark.parametrize("status", [200, 400, 500, 502, 504])
def test_other_answers_do_not_say_that_a_replica_is_busy(status: int) -> None:
    """Whatever their headers."""
    assert busy_s(status, [(b"retry-after", b"7")]) is None


def test_without_the_header_nothing_is_said() -> None:
    """The status alone does not tell busy from broken."""
    assert busy_s(503, [(b"x-retry-after", b"7")]) is None
    assert busy_s(429, []) is None
