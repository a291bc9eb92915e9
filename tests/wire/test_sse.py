from random import Random

import pytest

from stemcache.wire.sse import SseError, SseEvent, SseParser, sse_data


def parsed(*parts: bytes, finish: bool = True) -> list[tuple[bytes, bytes]]:
    """Type and data of each event."""
    parser = SseParser()
    events = [event for part in parts for event in parser.feed(part)]
    if finish:
        events += parser.finish()
    return [(event.type, event.data) for event in events]


def test_an_event_is_its_data_up_to_an_empty_line() -> None:
    """With its type, if it has one."""
    assert parsed(b"data: a\n\ndata:b\nevent: x\n\n") == [(b"", b"a"), (b"x", b"b")]


def test_lines_of_data_are_joined() -> None:
    """By a line feed; an empty one is a line too."""
    assert parsed(b"data: a\ndata:\ndata:  b\n\n") == [(b"", b"a\n\n b")]


def test_comments_other_fields_and_empty_events_say_nothing() -> None:
    """Servers send comments to keep connections alive."""
    stream = b": ping\n\nid: 3\nretry: 10\nnonsense\n\nevent: alone\n\ndata: x\n: in between\n\n"
    assert parsed(stream) == [(b"", b"x")]


def test_a_byte_order_mark_at_the_beginning_is_skipped() -> None:
    """And only there."""
    assert parsed(b"\xef\xbb", b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n") == [(b"", b"a")]
    assert parsed(b"\xef\xbb\xbfdata: a") == [(b"", b"a")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_any_way_and_may_be_cut_anywhere(end: bytes) -> None:
    """One byte at a time gives the same events as the whole stream at once."""
    stream = end.join([b"event: t", b"data: a", b"data: b", b"", b"data: c", b"", b""])
    expected = [(b"t", b"a\nb"), (b"", b"c")]
    assert parsed(stream) == expected
    assert parsed(*(stream[at : at + 1] for at in range(len(stream)))) == expected


def test_random_streams_in_random_parts_are_read_alike() -> None:
    """2,000 of them, with all three line ends mixed."""
    random = Random(7)
    for _ in range(2000):
        lines = random.choices(
            [b"data: x", b"data: yy", b"event: e", b": c", b"", b"junk", b"data"], k=12
        )
        stream = b"".join(line + random.choice([b"\n", b"\r\n", b"\r"]) for line in lines)
        cuts = sorted(random.choices(range(len(stream) + 1), k=5))
        parts = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert parsed(*parts) == parsed(stream)


def test_a_stream_that_ends_without_an_empty_line_still_gives_its_last_event() -> None:
    """Some servers leave it out after [DONE]."""
    assert parsed(b"data: a\n\ndata: [DO", b"NE]") == [(b"", b"a"), (b"", b"[DONE]")]
    assert parsed(b"data: a\n", finish=False) == []


@pytest.mark.parametrize("piece", [b"x" * 100, b"data: " + b"x" * 90 + b"\n", b"data:\n" * 20])
def test_an_event_is_bounded(piece: bytes) -> None:
    """One endless line, endless lines, or endless empty ones."""
    parser = SseParser(max_event_bytes=1000)

    def feed_for_ever() -> None:
        while True:
            parser.feed(piece)

    with pytest.raises(SseError, match="larger than 1000 bytes"):
        feed_for_ever()


def test_the_bound_is_for_one_event_not_for_the_stream() -> None:
    """A stream may go on for ever."""
    parser = SseParser(max_event_bytes=100)
    for _ in range(1000):
        assert parser.feed(b"data: hello\n\n") == [SseEvent(b"", b"hello")]


def test_a_whole_body_gives_the_data_of_its_events() -> None:
    """However long an event is, whatever ends its lines, and of none there is nothing."""
    long = b"x" * 700_000
    assert list(sse_data(b"data: " + long + b"\n\ndata: b" + long + b"\n\n")) == [long, b"b" + long]
    assert list(sse_data(b"\xef\xbb\xbfdata: a\r\ndata: b\r\rdata:c")) == [b"a\nb", b"c"]
    assert list(sse_data(b"")) == []


@pytest.mark.parametrize(
    "body", [b"data", b"data: " + b"x" * 99, b"data\n" * 3, b"data:\n" * 200_000, b"x" * 300_000]
)
def test_a_whole_body_is_never_too_large(body: bytes) -> None:
    """Its bound is its own length, which what is kept of it cannot pass."""
    assert len(list(sse_data(body))) <= 1
