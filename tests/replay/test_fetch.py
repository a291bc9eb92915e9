import asyncio

import pytest

from stemcache.replay.credentials import Credentials
from stemcache.replay.fetch import Fetcher, FetchError, Reply
from stemcache.replay.target import parse_target
from tests.replay.scripted import Answer, Scripted, scripted, whole
from tests.replay.test_connection import pool_at

KEYS = Credentials((("x-key", "k"),), ("k",))


def fetched(
    answer: Answer, *, timeout_s: float = 20.0, close_after: bool = False
) -> tuple[Reply, Scripted]:
    """Two fetches, of which the second is returned."""

    async def main() -> tuple[Reply, Scripted]:
        async with scripted(answer, close_after=close_after) as server:
            target = parse_target(server.url, None)
            fetcher = Fetcher(pool_at(server.port), target, KEYS, timeout_s)
            await fetcher.fetch("GET", "/a")
            return await fetcher.fetch("POST", "/b", b"body"), server

    return asyncio.run(main())


def test_a_fetch_has_a_connection_of_its_own() -> None:
    """So that none of the load's is touched."""
    reply, server = fetched(whole("200 OK", b"yes", "content-type: text/x"))
    assert reply == Reply(200, b"text/x", b"yes")
    assert [asked.connection for asked in server.asked] == [1, 2]
    assert [asked.method for asked in server.asked] == ["GET", "POST"]
    assert [asked.path for asked in server.asked] == ["/a", "/b"]
    assert [asked.body for asked in server.asked] == [b"", b"body"]
    assert all(asked.headers["x-key"] == "k" for asked in server.asked)


def test_any_status_is_an_answer() -> None:
    """What it means is for who asked."""
    assert fetched(whole("503 Service Unavailable", b""))[0].status == 503


@pytest.mark.parametrize(
    ("answer", "kind", "others"),
    [
        (b"", "timeout", {"timeout_s": 0.05}),
        (b"", "no_answer", {"close_after": True}),
        (b"nonsense\r\n", "not_http", {}),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", "dropped", {"close_after": True}),
    ],
)
def test_no_answer_is_an_error_with_a_kind(
    answer: bytes, kind: str, others: dict[str, float]
) -> None:
    """As for the load."""
    with pytest.raises(FetchError) as caught:
        fetched(answer, **others)  # type: ignore[arg-type]  # of two kinds
    assert caught.value.kind == kind
