"""Where requests go."""

import pytest

from stemcache.errors import UsageError
from stemcache.record.proxy.target import Routes, parse_route
from stemcache.wire.origin import Origin

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
