"""Heads as they leave the gateway."""

import pytest

from stemcache.server.gateway.heads import answer_head, page_bytes, request_head, request_id


def sent(*headers: tuple[bytes, bytes], **given: object) -> bytes:
    """The head of a POST."""
    values: dict[str, object] = {
        "authority": b"replica:1",
        "body_bytes": 2,
        "request_id": b"id",
        "credential": None,
        "drop_credentials": False,
        "rank": None,
        "is_prompt": True,
        "hops": b"g",
        **given,
    }
    return request_head(b"POST", b"/v1/x", headers, **values)  # type: ignore[arg-type]


def test_a_request_gets_the_gateway_s_framing() -> None:
    """Whatever it came in."""
    assert sent((b"Host", b"a"), (b"Transfer-Encoding", b"chunked"), (b"A", b"b")) == (
        b"POST /v1/x HTTP/1.1\r\nHost: replica:1\r\nA: b\r\nContent-Length: 2\r\n"
        b"X-Stemcache-Hops: g\r\nX-Request-Id: id\r\n\r\n"
    )


def test_a_request_without_a_body_has_no_length() -> None:
    """Zero is one."""
    assert b"Content-Length" not in sent(body_bytes=None)
    assert b"Content-Length: 0\r\n" in sent(body_bytes=0)


@pytest.mark.parametrize("name", [b"Authorization", b"X-API-Key", b"api-key"])
def test_credentials_end_where_they_must(name: bytes) -> None:
    """At a gateway that has keys, or before a replica that has one."""
    assert b"secret" in sent((name, b"secret"))
    assert b"secret" not in sent((name, b"secret"), drop_credentials=True)
    head = sent((name, b"secret"), credential=b"theirs")
    assert b"secret" not in head
    assert b"\r\nAuthorization: Bearer theirs\r\n" in head


def test_what_connection_names_ends_here() -> None:
    """Also where it names what would be passed."""
    head = sent((b"Connection", b"x-a, Close"), (b"X-A", b"1"), (b"X-B", b"2"))
    assert b"X-A" not in head
    assert b"\r\nX-B: 2\r\n" in head


@pytest.mark.parametrize("value", [b"keep-alive", b"Keep-Alive", b"close", b"keep-alive, x-a"])
def test_what_connection_says_of_itself_ends_here(value: bytes) -> None:
    """Wherever it stands; most clients say so with each request."""
    head = sent((b"A", b"1"), (b"Connection", value), (b"Keep-Alive", b"timeout=5"), (b"B", b"2"))
    assert head == (
        b"POST /v1/x HTTP/1.1\r\nHost: replica:1\r\nA: 1\r\nB: 2\r\nContent-Length: 2\r\n"
        b"X-Stemcache-Hops: g\r\nX-Request-Id: id\r\n\r\n"
    )


def test_codings_of_answers_are_left_to_who_asks_for_no_prompt() -> None:
    """As usage could not be read in one."""
    assert b"gzip" not in sent((b"Accept-Encoding", b"gzip"))
    assert b"gzip" in sent((b"Accept-Encoding", b"gzip"), is_prompt=False)


@pytest.mark.parametrize(
    "name",
    [
        *(b"X-Forwarded-For", b"x-forwarded-prefix", b"X-FORWARDED-USER", b"X_Forwarded_For"),
        *(b"x-forwarded_for", b"Forwarded", b"X-Real-IP", b"X_Real_IP", b"True-Client-IP"),
        *(b"CF-Connecting-IP", b"X-Client-IP", b"X_Request_Id", b"Transfer_Encoding"),
        *(b"x_data_parallel_rank", b"X-Stemcache-Hops", b"Content_Length", b"x_stemcache_hops"),
    ],
)
@pytest.mark.parametrize("connection", [b"keep-alive", b"x-other"])
def test_whom_a_client_claims_to_ask_for_ends_here(name: bytes, connection: bytes) -> None:
    """However it is spelled: some servers read `_` as `-`."""
    head = sent((b"X-Kept", b"1"), (name, b"claimed"), (b"Connection", connection))
    assert b"claimed" not in head
    assert b"\r\nX-Kept: 1\r\n" in head


def test_other_names_that_look_alike_pass() -> None:
    """As they were written."""
    kept = ((b"X-Forward", b"1"), (b"my_header", b"2"), (b"X-Foo", b"3"), (b"user_agent", b"4"))
    head = sent(*kept)
    assert all(b"\r\n%b: %b\r\n" % header in head for header in kept)
    for name in (b"x_api_key", b"API_KEY"):
        assert b"secret" in sent((name, b"secret"))
        assert b"secret" not in sent((name, b"secret"), drop_credentials=True)


def test_a_rank_is_the_gateway_s_to_say() -> None:
    """The client's is dropped."""
    assert b"ank: 5" not in sent((b"X-Data-Parallel-Rank", b"5"))
    assert b"\r\nX-Data-Parallel-Rank: 0\r\n" in sent((b"x-data-parallel-rank", b"5"), rank=0)


def answered(*headers: tuple[bytes, bytes], **given: object) -> bytes:
    """The head of an answer."""
    values: dict[str, object] = {
        "decision": None,
        "sized": True,
        "chunked": False,
        "close": False,
        **given,
    }
    return answer_head(200, b"OK", headers, **values)  # type: ignore[arg-type]


def test_an_answer_keeps_its_length_or_gets_chunks() -> None:
    """One of the two, or the end of the connection."""
    length = (b"Content-Length", b"5")
    assert answered(length) == b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    assert answered(length, sized=False, chunked=True) == (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    assert answered(length, sized=False, close=True) == (
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    )


def test_only_the_gateway_says_what_it_decided() -> None:
    """A gateway behind it is not heard."""
    head = answered((b"X-Stemcache-Decision", b"theirs"), decision=b"ours")
    assert head == b"HTTP/1.1 200 OK\r\nX-Stemcache-Decision: ours\r\n\r\n"
    assert answered((b"X-Stemcache-Decision", b"theirs")) == b"HTTP/1.1 200 OK\r\n\r\n"


def test_an_answer_without_an_id_gets_the_request_s() -> None:
    """A replica's own stays."""
    head = answered((b"a", b"b"), request_id=b"ours")
    assert head == b"HTTP/1.1 200 OK\r\na: b\r\nX-Request-Id: ours\r\n\r\n"
    head = answered((b"x-request-ID", b"theirs"), request_id=b"ours")
    assert head == b"HTTP/1.1 200 OK\r\nx-request-ID: theirs\r\n\r\n"


def test_headers_that_a_connection_names_end_with_it() -> None:
    """Wherever it stands."""
    head = answered((b"X-Hop", b"1"), (b"Kept", b"2"), (b"Connection", b"close, x-hop"))
    assert head == b"HTTP/1.1 200 OK\r\nKept: 2\r\n\r\n"


@pytest.mark.parametrize("given", [b"a", b"req_1-2.3:4", b"x" * 128])
def test_a_request_s_own_id_is_kept(given: bytes) -> None:
    """Where it can stand in a log."""
    assert request_id(given, 255) == given


@pytest.mark.parametrize("given", [None, b"", b"a b", b"a\tb", b"\xff", b"x" * 129, b"\x7f"])
def test_another_gets_one(given: bytes | None) -> None:
    """Of 128 bits."""
    assert request_id(given, 255) == b"000000000000000000000000000000ff"


def test_a_page_is_a_whole_answer() -> None:
    """Without its body to a HEAD, whose length is said all the same."""
    assert page_bytes(200, "text/plain", b"hi", close=True, bodiless=False) == (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n"
        b"connection: close\r\n\r\nhi"
    )
    assert page_bytes(404, "text/plain", b"hi", close=False, bodiless=True) == (
        b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n"
    )
