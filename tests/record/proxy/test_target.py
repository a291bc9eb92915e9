"""Where requests go."""

import pytest

from stemcache.errors import UsageError
from stemcache.record.proxy.target import Origin, Routes, parse_origin, parse_route


@pytest.mark.parametrize(
    ("url", "origin", "authority", "loopback"),
    [
        ("https://h", Origin(True, "h", 443, ""), "h", False),
        ("http://h:80/", Origin(False, "h", 80, ""), "h", False),
        ("https://h:8443/a/b/", Origin(True, "h", 8443, "/a/b"), "h:8443", False),
        ("http://[::1]:9", Origin(False, "::1", 9, ""), "[::1]:9", True),
        ("http://localhost:443", Origin(False, "localhost", 443, ""), "localhost:443", True),
    ],
)
def test_urls_are_taken_apart(url: str, origin: Origin, authority: str, *, loopback: bool) -> None:
    """Scheme, host, port and what goes before each path."""
    found = parse_origin(url, "--target")
    assert found == origin
    assert found.authority == authority
    assert found.loopback == loopback


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("h", "scheme ''"),
        ("ftp://h", "scheme 'ftp'"),
        ("https://", "host ''"),
        ("https://h:99999", "no URL"),
        ("https://u@h", "user name"),
        ("https://h?k=v", "a query"),
        ("https://h#f", "a query"),
        ("https://h/ü", "characters that no URL has"),
        ("https://h/a b", "characters that no URL has"),
        ("https://h:0", "port 0"),
    ],
)
def test_what_is_no_provider_is_refused(url: str, message: str) -> None:
    """With the flag and what to do."""
    with pytest.raises(UsageError, match=message):
        parse_origin(url, "--target")


A, B, D = (Origin(True, host, 443, path) for host, path in (("a", ""), ("b", "/x"), ("d", "")))


@pytest.mark.parametrize(
    ("target", "origin", "sent"),
    [
        (b"/v1/messages?beta=true", D, b"/v1/messages?beta=true"),
        (b"/a/v1", A, b"/v1"),
        (b"/a", A, b"/"),
        (b"/a?x=1", A, b"/?x=1"),
        (b"/ab/v1", D, b"/ab/v1"),
        (b"/a/b/v1", B, b"/x/v1"),
    ],
)
def test_the_longest_prefix_decides(target: bytes, origin: Origin, sent: bytes) -> None:
    """A prefix ends where a part of the path ends."""
    place = Routes(D, (("/a", A), ("/a/b", B))).place(target)
    assert place is not None
    assert (place.origin, place.target) == (origin, sent)


def test_without_a_target_other_paths_go_nowhere() -> None:
    """Only what has a route does."""
    assert Routes(None, (("/a", A),)).place(b"/b") is None


def test_routes_are_taken_apart() -> None:
    """A slash at the end of the prefix is no matter."""
    assert parse_route("/a/=https://a") == ("/a", A)


@pytest.mark.parametrize(
    "text", ["/a", "a=https://a", "/=https://a", "=https://a", "/a?b=https://a"]
)
def test_what_is_no_route_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(UsageError, match=r"write /anthropic=https://api\.anthropic\.com"):
        parse_route(text)
