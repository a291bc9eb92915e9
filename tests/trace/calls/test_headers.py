from typing import Any

import pytest

from stemcache.trace.calls.headers import (
    kept_headers,
    scope_digest,
    scope_of_headers,
    session_of_headers,
)

SECRET = {
    "Authorization": "Bearer sk-secret",
    "X-Api-Key": "sk-secret",
    "Cookie": "secret",
    "Proxy-Authorization": "secret",
    "X-Custom": "secret",
    "User-Agent": "app/1",
    "X-Session-Id": "s1",
}


@pytest.mark.parametrize(
    "headers",
    [
        SECRET,
        list(map(list, SECRET.items())),
        [{"name": name, "value": value} for name, value in SECRET.items()],
        {name: [value] for name, value in SECRET.items()},
    ],
)
def test_only_listed_headers_pass(headers: Any) -> None:
    """Whatever their form, headers that are not on the list are dropped."""
    assert kept_headers(headers) == {"user-agent": "app/1", "x-session-id": "s1"}


@pytest.mark.parametrize(
    "headers", [None, 5, "a: b", [], [1, [2], {"name": 3}, ["a", 5]], {"a": {}}]
)
def test_what_are_no_headers_are_none(headers: Any) -> None:
    """Other forms have no headers and no scope."""
    assert (kept_headers(headers), scope_of_headers(headers)) == ({}, "")


def test_long_headers_are_cut() -> None:
    """A header takes no more than a bound."""
    assert len(kept_headers({"user-agent": "a" * 5000})["user-agent"]) == 1000


def test_credentials_are_told_apart_by_their_digests() -> None:
    """Two credentials are two scopes; the same credential in two organisations is two as well."""
    one, other = {"authorization": "a"}, {"Authorization": "b"}
    organised = {"authorization": "a", "openai-organization": "acme"}
    scopes = [scope_of_headers(headers) for headers in (one, other, organised)]
    assert len(set(scopes)) == 3
    assert all(len(scope) == 16 for scope in scopes)
    assert scope_of_headers({"AUTHORIZATION": "a"}) == scopes[0]
    assert scope_of_headers({"openai-organization": "acme"}) == scope_digest("acme")
    assert scope_of_headers({"cookie": "a"}) == ""


def test_digests_stay_the_same() -> None:
    """Logs of different days can be compared."""
    assert scope_digest("acme") == "302657b33c4da281"
    assert scope_digest("\ud83d") != scope_digest("")


def test_a_session_is_named_by_the_first_header_that_has_one() -> None:
    """Session headers come before those of affinity."""
    assert session_of_headers({"x-session-affinity": "a", "x-session-id": "s"}) == "s"
    assert session_of_headers({"user-agent": "a"}) is None
