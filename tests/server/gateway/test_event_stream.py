"""Streams of events on their way through."""

import json
from random import Random

import pytest

from stemcache.gateway.usage import AnswerUsage
from stemcache.server.gateway.event_stream import EventStream


def passed(data: bytes, *, strip: bool, cuts: list[int] | None = None) -> tuple[bytes, EventStream]:
    """What goes through, for data that is cut at these places."""
    stream = EventStream(strip_usage=strip)
    out = b""
    start = 0
    for cut in [*(cuts or []), len(data)]:
        out += stream.feed(data[start:cut])
        start = cut
    return out + stream.finish(), stream


USAGE = (
    b'"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}'
)
DELTA = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
DELTA_NULL = b'data: {"choices":[{"delta":{"content":"a"}}],"usage":null}\n\n'
LAST = b'data: {"choices":[],' + USAGE + b"}\n\n"
DONE = b"data: [DONE]\n\n"
WANTED = AnswerUsage(9, 8, 2)


def test_usage_that_the_gateway_asked_for_is_taken_out() -> None:
    """The chunk with no choices, and fields that say null; all else stays as it was."""
    out, stream = passed(DELTA_NULL + DELTA + LAST + DONE, strip=True)
    assert out == DELTA + DELTA + DONE
    assert stream.usage() == WANTED


@pytest.mark.parametrize(
    "usage", [b"5", b"[1]", b"{}", b'"x"', b"false", b"null", b"NaN", b"{NaN}"]
)
@pytest.mark.parametrize("start", [b'{"choices":[],', b'{"id":"a","choices" : [ ], '])
def test_a_chunk_for_usage_alone_is_taken_out_whatever_it_says(usage: bytes, start: bytes) -> None:
    """Who did not ask for usage does not expect one without choices."""
    odd = b"data: " + start + b'"usage":' + usage + b"}\n\n"
    assert passed(DELTA + odd + DONE, strip=True)[0] == DELTA + DONE
    assert passed(DELTA + odd + DONE, strip=False)[0] == DELTA + odd + DONE
    stream = EventStream(strip_usage=True)
    assert stream.feed(DELTA) == DELTA
    chunk = b"%x\r\n%b\r\n" % (len(odd), odd)
    out = stream.chunk(chunk, len(b"%x" % len(odd)))
    assert (odd if out is None else out) in (odd, b"")
    assert stream.feed(odd) == b""


def test_a_chunk_without_choices_that_says_more_stays() -> None:
    """As what Azure says of the prompt; its usage goes."""
    more = b'data: {"choices":[],"prompt_filter_results":[1],"usage":null}\n\n'
    wanted = b'data: {"choices":[],"prompt_filter_results":[1]}\n\n'
    assert passed(more + DELTA + DONE, strip=True)[0] == wanted + DELTA + DONE
    error = b'data: {"choices":[],"error":{"message":"x"}}\n\n'
    assert passed(error + DONE, strip=True)[0] == error + DONE


def test_usage_that_the_client_asked_for_stays() -> None:
    """Byte for byte, and is read all the same."""
    data = DELTA_NULL + DELTA + LAST + DONE
    out, stream = passed(data, strip=False)
    assert out == data
    assert stream.usage() == WANTED


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("strip", [False, True])
def test_nothing_depends_on_how_reads_are_cut(end: bytes, *, strip: bool) -> None:
    """At every place, and in one byte at a time."""
    data = (DELTA_NULL + b": ping\n\n" + LAST + DONE).replace(b"\n", end)
    whole, _ = passed(data, strip=strip)
    assert (LAST[:20] in whole) is not strip
    for cut in range(len(data)):
        out, stream = passed(data, strip=strip, cuts=[cut])
        assert out == whole
        assert stream.usage() == WANTED
    out, stream = passed(data, strip=strip, cuts=list(range(1, len(data))))
    assert (out, stream.usage()) == (whole, WANTED)


def test_many_ways_to_cut_a_long_stream() -> None:
    """By chance, with the same result."""
    rng = Random(7)
    data = b"".join(rng.choice([DELTA, DELTA_NULL, b": x\n\n"]) for _ in range(50)) + LAST + DONE
    whole, _ = passed(data, strip=True)
    for _ in range(200):
        cuts = sorted(rng.randrange(len(data)) for _ in range(rng.randrange(30)))
        assert passed(data, strip=True, cuts=cuts)[0] == whole


@pytest.mark.parametrize(
    ("event", "left"),
    [
        ({"usage": None, "choices": [1]}, {"choices": [1]}),
        ({"choices": [1], "usage": None, "id": "x"}, {"choices": [1], "id": "x"}),
        ({"choices": [1], "usage": None}, {"choices": [1]}),
        ({"usage": None}, {"usage": None}),
        ({"choices": [{"usage": None}]}, {"choices": [{"usage": None}]}),
        (
            {"usage": None, "choices": [{"usage": None}]},
            {"usage": None, "choices": [{"usage": None}]},
        ),
        (
            {"choices": [{"delta": {"content": ',"usage":null}'}}]},
            {"choices": [{"delta": {"content": ',"usage":null}'}}]},
        ),
    ],
)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_only_the_event_s_own_null_is_taken_out(
    event: object, left: object, separators: tuple[str, str]
) -> None:
    """Where another object or a text has one too, nothing is touched."""
    data = b"data: " + json.dumps(event, separators=separators).encode() + b"\n\n"
    wanted = b"data: " + json.dumps(left, separators=separators).encode() + b"\n\n"
    out, _ = passed(data, strip=True)
    assert json.loads(out[6:]) == left
    assert out == wanted


def test_usage_beside_a_choice_stays() -> None:
    """The event is the client's, and the gateway's question did not cause it."""
    data = b'data: {"choices":[{"finish_reason":"stop"}],' + USAGE + b"}\n\n"
    out, stream = passed(data, strip=True)
    assert out == data
    assert stream.usage() == WANTED


def test_an_event_without_choices_or_usage_stays() -> None:
    """Azure begins with one."""
    data = b'data: {"choices":[],"prompt_filter_results":[1]}\n\n'
    assert passed(data, strip=True)[0] == data


def test_figures_of_messages_are_put_together() -> None:
    """From its beginning and its end."""
    data = (
        b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":2,'
        b'"cache_read_input_tokens":7,"cache_creation_input_tokens":1,"output_tokens":1}}}\n\n'
        b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":30}}\n\n'
    )
    out, stream = passed(data, strip=False)
    assert out == data
    assert stream.usage() == AnswerUsage(10, 7, 30)


def test_figures_of_responses_are_read_from_its_last_event() -> None:
    """Which holds the whole answer; the first says null."""
    data = (
        b'data: {"type":"response.created","response":{"usage":null}}\n\n'
        b'data: {"type":"response.completed","response":{"usage":{"input_tokens":9,'
        b'"input_tokens_details":{"cached_tokens":8},"output_tokens":2}}}\n\n'
    )
    assert passed(data, strip=False)[1].usage() == WANTED


def test_figures_in_every_event_are_not_added_up() -> None:
    """They grow; the last are the answer's."""
    data = b"".join(
        b'data: {"choices":[1],"usage":{"prompt_tokens":9,"completion_tokens":%d}}\n\n' % n
        for n in (1, 2, 3)
    )
    assert passed(data, strip=False)[1].usage() == AnswerUsage(9, None, 3)


def test_timings_of_a_stream_are_read() -> None:
    """llama.cpp's, in the last event."""
    data = b'data: {"choices":[1],"timings":{"cache_n":8,"prompt_n":1,"predicted_n":2}}\n\n'
    assert passed(data, strip=False)[1].usage() == WANTED


@pytest.mark.parametrize(
    "data",
    [
        b'data: {"usage":{\n\n',
        b'data: {"usage":{"prompt_tokens":"9"}}\n\n',
        b'data: [{"usage":{"prompt_tokens":9}}]\n\n',
        b'data: {"usage":{"a":' + b"[" * 50_000 + b"\n\n",
        b'data: {"usage":{"a":"\xff"}}\n\n',
        b'"usage":{\n\n',
        b'data: {"usage":null\n\n',
        b"\n\n\n\n\n",
        b"data",
        b'data: {"choices":[{"text":"\xf0"}],"usage":null}\n\n',
    ],
)
def test_what_is_no_event_goes_through(data: bytes) -> None:
    """Untouched, but for a field that can be seen to be its last."""
    out, stream = passed(data, strip=True)
    assert out in {data, data.replace(b',"usage":null', b"")}
    assert stream.usage() is None


def test_an_event_is_held_until_it_is_whole() -> None:
    """A client could do nothing with its beginning."""
    stream = EventStream(strip_usage=False)
    assert stream.feed(DELTA[:10]) == b""
    assert stream.feed(DELTA[10:] + DELTA[:5]) == DELTA
    assert stream.between_events
    assert stream.finish() == DELTA[:5]


def test_a_comment_is_not_held() -> None:
    """It is there to keep the connection alive, also without an empty line behind it."""
    stream = EventStream(strip_usage=False)
    assert stream.feed(b": ping\n") == b": ping\n"
    assert stream.feed(DELTA) == DELTA


def test_a_huge_event_goes_through_as_it_comes() -> None:
    """No more than the bound is held; what follows it is whole again."""
    stream = EventStream(strip_usage=True)
    between = []
    for part in (b"data: " + b"x" * 2**20, b"more", b"end\n\n"):
        assert stream.feed(part) == part
        between.append(stream.between_events)
    assert between == [False, False, True]
    assert stream.feed(DELTA[:10]) == b""


@pytest.mark.parametrize(
    "last",
    [
        DONE,
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
        b'event: message_stop\r\ndata: {"type": "message_stop"}\r\n\r\n',
    ],
)
def test_the_last_event_of_a_stream_is_known(last: bytes) -> None:
    """So that a connection that is lost behind it is no error."""
    stream = EventStream(strip_usage=False)
    stream.feed(DELTA)
    assert not stream.finished
    stream.feed(last)
    assert stream.finished


def framed(events: bytes) -> bytes:
    """As a chunk."""
    return b"%x\r\n%b\r\n" % (len(events), events)


@pytest.mark.parametrize("strip", [False, True])
@pytest.mark.parametrize("events", [DELTA, DELTA_NULL, DELTA * 3, b": ping\n\n" + DELTA, DONE])
def test_a_chunk_goes_through_as_its_events_do(events: bytes, *, strip: bool) -> None:
    """Or is left to be looked into."""
    fed, chunked = EventStream(strip_usage=strip), EventStream(strip_usage=strip)
    chunk = framed(events)
    out = chunked.chunk(chunk, chunk.index(b"\r\n"))
    assert out == framed(fed.feed(events))
    assert chunked.finished == fed.finished


@pytest.mark.parametrize(
    "events",
    [
        LAST,
        DELTA_NULL + DELTA_NULL,
        DELTA_NULL.replace(b"null", b" null"),
        b"event: x\n" + DELTA_NULL,
        b'data: {"timings":{}}\n\n',
        b'data: {"usage":{},"x":{"a":1,"usage":null}\n\n',
    ],
)
def test_a_chunk_that_speaks_of_usage_is_looked_into(events: bytes) -> None:
    """Unless it is the one form of saying nothing that is known."""
    chunk = framed(events)
    assert EventStream(strip_usage=True).chunk(chunk, chunk.index(b"\r\n")) is None


def test_a_chunk_behind_half_an_event_is_no_whole_event() -> None:
    """It is put together with what is held."""
    stream = EventStream(strip_usage=False)
    assert stream.feed(DELTA + DELTA[:9]) == DELTA
    assert stream.chunk(framed(DELTA[9:]), 2) is None


@pytest.mark.parametrize("gap", [b"\n\n", b"\r\n\r\n", b"\n\r\n", b"\r\r"])
@pytest.mark.parametrize("strip", [False, True])
def test_a_burst_goes_through_as_its_events_do(gap: bytes, *, strip: bool) -> None:
    """Whatever stands between them, and wherever usage is."""
    rng = Random(5)
    for _ in range(60):
        kinds = (DELTA, DELTA_NULL, LAST, b": ping\n\n", b'data: {"timings":{"cache_n":1}}\n\n')
        events = [rng.choice(kinds).replace(b"\n\n", gap) for _ in range(rng.randrange(1, 9))]
        whole = EventStream(strip_usage=strip)
        single = EventStream(strip_usage=strip)
        out = whole.feed(b"".join(events)) + whole.finish()
        assert out == b"".join([single.feed(event) for event in events]) + single.finish()
        assert whole.usage() == single.usage()


@pytest.mark.parametrize("behind", [b"", DELTA])
def test_a_long_event_in_very_many_reads_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch, behind: bytes
) -> None:
    """A megabyte in reads of 50 bytes: each is looked at once, as it comes."""
    looked_at = 0
    goes_on, hold = EventStream._goes_on, EventStream._hold

    def count_new(stream: EventStream, data: bytes) -> bool:
        nonlocal looked_at
        looked_at += len(data) + 2
        return goes_on(stream, data)

    def count_all(stream: EventStream, data: bytes) -> bytes:
        nonlocal looked_at
        looked_at += len(data)
        return hold(stream, data)

    monkeypatch.setattr(EventStream, "_goes_on", count_new)
    monkeypatch.setattr(EventStream, "_hold", count_all)
    text = b"x" * (2**20 - 500)
    event = b'data: {"choices":[{"delta":{"content":"' + text + b'"}}],' + USAGE + b"}\n\n"
    data = event + behind
    out, stream = passed(data, strip=False, cuts=list(range(50, len(data), 50)))
    assert out == data
    assert stream.usage() == WANTED
    assert looked_at < 2.2 * len(data)


def test_an_event_that_grows_too_long_passes_as_it_comes() -> None:
    """From the read on with which it is too long; nothing is lost, nor kept."""
    stream = EventStream(strip_usage=True)
    reads = [b"data: " + b"x" * 2**19, b"y" * 2**19, b"z", b"\n\n"]
    out = [stream.feed(read) for read in reads]
    assert out == [b"", reads[0] + reads[1], b"z", b"\n\n"]
    assert stream.between_events
    assert stream.finish() == b""


def test_an_end_that_is_cut_between_reads_ends_its_event() -> None:
    """At once, not with the next one."""
    stream = EventStream(strip_usage=False)
    assert stream.feed(b"data: 1\r\n") == b""
    assert stream.feed(b"\r") == b""
    assert stream.feed(b"\nd") == b"data: 1\r\n\r\n"
    assert stream.finish() == b"d"
