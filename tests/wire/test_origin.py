"""Addresses of servers."""

import pytest

from stemcache.errors import UsageError
from stemcache.wire.origin import Origin, is_host, parse_origin


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
        (
            "https://${HOST}",
            r"host '\$\{host\}', which no server has; write its name or its address",
        ),
        ("https://a,b", "host 'a,b', which no server has"),
        ("https://h%20x", "host 'h%20x', which no server has"),
    ],
)
def test_what_is_no_provider_is_refused(url: str, message: str) -> None:
    """With the flag and what to do."""
    with pytest.raises(UsageError, match=message):
        parse_origin(url, "--target")


@pytest.mark.parametrize(
    "host", ["h", "a.b-c", "my_service", "H", "10.0.0.1", "::1", "fe80::1%eth0", "fe80::1%a b"]
)
def test_names_and_addresses_are_hosts(host: str) -> None:
    """Underscores are in names that Docker Compose gives."""
    assert is_host(host)


@pytest.mark.parametrize(
    "host", ["", "${H}", "a b", "*", "h\u00f6", "a/b", "10.0.0.1%eth0", "::1::"]
)
def test_what_is_neither_is_none(host: str) -> None:
    """A variable that nobody has filled in, for one."""
    assert not is_host(host)
