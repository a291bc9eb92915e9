"""One connection to a replica, without a socket."""

from typing import Any

import pytest

from stemcache.server.gateway.upstream import Upstream

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.acts: list[str] = []
        self.left_bytes = 0

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def writelines(self, parts: tuple[bytes, ...]) -> None:
        self.written += parts

    def is_closing(self) -> bool:
        return "abort" in self.acts

    def get_write_buffer_size(self) -> int:
        return self.left_bytes

    def get_extra_info(self, name: str) -> None:
        del name

    def set_write_buffer_limits(self, high: int) -> None:
        self.limits = high

    def abort(self) -> None:
        self.acts.append("abort")

    def pause_reading(self) -> None:
        self.acts.append("pause")

    def resume_reading(self) -> None:
        self.acts.append("resume")


class Heard:
    """A sink and a keeper that keep what they are told."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.takes_chunks = False

    def chunk(self, data: bytes, size_bytes: int) -> bool:
        if self.takes_chunks:
            self.log.append((data, size_bytes))
        return self.takes_chunks

    def head(
        self, status: int, reason: bytes, headers: list[tuple[bytes, bytes]], *, sized: bool
    ) -> None:
        self.log.append((status, reason, [name for name, _ in headers], sized))

    def received(self, data: bytes, *, complete: bool) -> None:
        self.log.append((data, complete))

    def failed(self, kind: str, detail: str) -> None:
        self.log.append((kind, detail))

    def give(self, upstream: Upstream) -> None:
        del upstream
        self.log.append("given")

    def lost(self, upstream: Upstream) -> None:
        del upstream
        self.log.append("lost")


def made(*, bodiless: bool = False, body: bytes = b"") -> tuple[Upstream, Wire, Heard]:
    """A connection on which a request was sent."""
    heard, wire = Heard(), Wire()
    upstream = Upstream(heard)
    upstream.connection_made(wire)  # type: ignore[arg-type]
    upstream.begin(heard, b"HEAD", body, bodiless=bodiless)
    return upstream, wire, heard


def test_a_whole_answer_is_two_words() -> None:
    """Its head, and its body at once; the connection is given back before that is said."""
    upstream, _, heard = made()
    upstream.data_received(ANSWER)
    assert heard.log == [(200, b"OK", [b"content-length"], True), "given", (b"abc", True)]
    assert upstream.reused


def test_an_answer_in_bytes_is_the_same() -> None:
    """Its body comes as it is read."""
    upstream, _, heard = made()
    for byte in ANSWER:
        upstream.data_received(bytes([byte]))
    assert heard.log == [
        (200, b"OK", [b"content-length"], True),
        (b"a", False),
        (b"b", False),
        "given",
        (b"c", True),
    ]


def test_chunks_of_one_read_are_one_part() -> None:
    """However many there are."""
    upstream, _, heard = made()
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    upstream.data_received(head + b"1\r\na\r\n" * 5)
    upstream.data_received(b"1\r\nb\r\n" * 2 + b"0\r\n\r\n")
    assert heard.log[1:] == [(b"aaaaa", False), "given", (b"bb", True)]


def test_a_small_request_is_one_write() -> None:
    """A large one is not copied."""
    assert made(body=b"x")[1].written == [b"HEADx"]
    large = b"x" * 100_000
    assert made(body=large)[1].written == [b"HEAD", large]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nabc",
        ANSWER + b"HTTP/1.1 200 OK\r\n",
        ANSWER + b"more",
    ],
)
def test_a_connection_that_is_not_clean_is_not_kept(answer: bytes) -> None:
    """Its answer is taken all the same."""
    upstream, wire, heard = made()
    upstream.data_received(answer)
    assert heard.log[1:] == [(b"abc", True)]
    assert wire.acts == ["abort"]


def test_a_connection_on_which_the_request_still_waits_is_not_kept() -> None:
    """The rest of it would come before the next."""
    upstream, wire, heard = made()
    wire.left_bytes = 1
    upstream.data_received(ANSWER)
    assert heard.log[1:] == [(b"abc", True)]
    assert wire.acts == ["abort"]


def test_the_end_of_the_connection_may_be_the_end_of_the_answer() -> None:
    """Where it has no length; also where TLS ends it without a word."""
    for ending in ("eof", "lost"):
        upstream, _, heard = made()
        upstream.data_received(b"HTTP/1.1 200 OK\r\n\r\nabc")
        if ending == "eof":
            upstream.eof_received()
        upstream.connection_lost(None)
        assert heard.log == [(200, b"OK", [], False), (b"abc", False), *heard.log[2:]]
        assert (b"", True) in heard.log


def test_a_reset_is_no_end_of_an_answer() -> None:
    """Even where it has no length."""
    upstream, _, heard = made()
    upstream.data_received(b"HTTP/1.1 200 OK\r\n\r\nabc")
    upstream.connection_lost(ConnectionResetError("reset"))
    assert heard.log[-1] == ("dropped", "closed the connection in the middle of its answer (reset)")


def test_a_head_has_its_answer_s_length_and_no_body() -> None:
    """The connection is closed, as the parser waits for one."""
    upstream, wire, heard = made(bodiless=True)
    upstream.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n")
    assert heard.log == [(200, b"OK", [b"content-length"], True), (b"", True)]
    assert wire.acts == ["abort"]


@pytest.mark.parametrize("status", [b"204", b"304"])
def test_statuses_without_a_body_need_no_length(status: bytes) -> None:
    """The connection is kept."""
    upstream, _, heard = made()
    upstream.data_received(b"HTTP/1.1 %b X\r\n\r\n" % status)
    assert heard.log == [(int(status), b"X", [], True), "given", (b"", True)]


def test_an_answer_can_be_abandoned_from_its_head() -> None:
    """If the rest is there already, the connection is kept, else it is closed."""
    for answer, end in ((ANSWER, "given"), (ANSWER[:-1], "abort")):
        upstream, wire, heard = made()

        def head(*_: object, upstream: Upstream = upstream, **__: object) -> None:
            upstream.abandon()

        heard.head = head  # type: ignore[method-assign]
        upstream.data_received(answer)
        assert [*heard.log, *wire.acts] == [end]


def test_reading_stops_and_goes_on_once() -> None:
    """However often it is said."""
    upstream, wire, _ = made()
    for on in (True, False, False, True, True):
        upstream.read(on=on)
    assert wire.acts == ["pause", "resume"]


def test_a_connection_that_was_stopped_is_kept_going() -> None:
    """When it is given back."""
    upstream, wire, heard = made()
    upstream.data_received(ANSWER[:-1])
    upstream.read(on=False)
    upstream.data_received(b"c")
    assert wire.acts == ["pause", "resume"]
    assert heard.log[-2:] == ["given", (b"c", True)]


def test_nothing_is_said_after_the_end() -> None:
    """Nor to who has let it go."""
    upstream, _, heard = made()
    upstream.abort()
    upstream.data_received(ANSWER)
    upstream.connection_lost(None)
    assert heard.log == ["lost"]
    assert upstream.closed


def test_one_that_was_given_up_is_never_connected() -> None:
    """It may be too late to stop it, but not to close it."""
    heard, wire = Heard(), Wire()
    upstream = Upstream(heard)
    upstream.abort()
    upstream.connection_made(wire)  # type: ignore[arg-type]
    assert (heard.log, wire.acts) == ([], ["abort"])


HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNK = b"9\r\ndata: a\n\n\r\n"


def test_a_whole_chunk_of_events_goes_on_as_it_is() -> None:
    """Behind one that was parsed, and between others that are; the end is seen all the same."""
    upstream, _, heard = made()
    heard.takes_chunks = True
    for data in (HEAD + CHUNK, CHUNK, CHUNK + CHUNK, CHUNK.replace(b"9", b"009"), b"0\r\n\r\n"):
        upstream.data_received(data)
    assert heard.log == [
        (200, b"OK", [b"transfer-encoding"], False),
        (b"data: a\n\n", False),
        (CHUNK, 1),
        (b"data: a\n\ndata: a\n\n", False),
        (b"data: a\n\n", False),
        "given",
        (b"", True),
    ]


def test_a_chunk_that_the_sink_does_not_take_is_parsed() -> None:
    """So that it is received as any other."""
    upstream, _, heard = made()
    for data in (HEAD + CHUNK, CHUNK):
        upstream.data_received(data)
    assert heard.log[1:] == [(b"data: a\n\n", False)] * 2


@pytest.mark.parametrize(
    ("before", "then"),
    [
        (b"10\r\ndata: a\n\n\r\n", b"3\r\n\n\n\r\n"),
        (b"13\r\ndata: a\n\n\r\n", CHUNK[3:]),
        (CHUNK + b"9\r\n", b"2\r\na\n\n\r\n"),
        (CHUNK + b"9", CHUNK[1:]),
    ],
)
def test_the_middle_of_a_chunk_is_no_chunk(before: bytes, then: bytes) -> None:
    """Whatever it looks like: the parser takes it for what it is."""
    upstream, _, heard = made()
    heard.takes_chunks = True
    upstream.data_received(HEAD + before)
    upstream.data_received(then)
    assert not any(
        isinstance(said[-1], int) and said[-1] == 1 and said[0] == then
        for said in heard.log
        if not isinstance(said[-1], bool)
    )


@pytest.mark.parametrize("size", [b"0x9", b"+9", b" 9", b"9;a", b"0_9", b"a", b"8", b""])
def test_a_chunk_whose_size_is_written_otherwise_is_left_to_the_parser(size: bytes) -> None:
    """Which refuses what is none."""
    upstream, _, heard = made()
    heard.takes_chunks = True
    upstream.data_received(HEAD + CHUNK)
    data = size + CHUNK[1:]
    upstream.data_received(data)
    assert (data, len(size)) not in heard.log


def test_an_answer_behind_one_of_chunks_is_parsed_from_its_head() -> None:
    """What was known of the answer before says nothing of it."""
    upstream, _, heard = made()
    upstream.data_received(HEAD + CHUNK)
    upstream.data_received(b"0\r\n\r\n")
    upstream.begin(heard, b"HEAD", b"", bodiless=False)
    heard.takes_chunks = True
    upstream.data_received(CHUNK)
    assert heard.log[-1][0] == "bad-answer"


BIG = b"HTTP/1.1 200 OK\r\nx-big: %b\r\ncontent-length: 3\r\n\r\nabc"
MOST = 64 * 1024
AROUND = len(BIG.replace(b"%b", b"").removesuffix(b"abc"))


@pytest.mark.parametrize("step", [1 << 20, 60_000, 1000])
@pytest.mark.parametrize("over", [1, 2000, 100_000, 150_000])
def test_a_head_has_the_same_bound_however_it_is_read(step: int, over: int) -> None:
    """64 KiB, of which not a byte more is passed on, though one read may bring four times that."""
    upstream, wire, heard = made()
    answer = BIG % (b"a" * (MOST - AROUND + over))
    for start in range(0, len(answer), step):
        upstream.data_received(answer[start : start + step])
        if wire.acts:
            break
    assert heard.log == [("bad-answer", "sent a head larger than 65536 bytes")]
    assert wire.acts == ["abort"]


@pytest.mark.parametrize("step", [1 << 20, 1000])
def test_a_head_of_just_the_bound_is_taken(step: int) -> None:
    """And counted without the body that comes with it."""
    upstream, _, heard = made()
    answer = BIG % (b"a" * (MOST - AROUND))
    for start in range(0, len(answer), step):
        upstream.data_received(answer[start : start + step])
    assert heard.log[0][0] == 200
    assert heard.log[-1][1] is True


def test_heads_of_interim_answers_count() -> None:
    """Together with that of the final one; the next answer has the whole bound again."""
    interim = b"HTTP/1.1 103 Early Hints\r\nlink: %b\r\n\r\n" % (b"b" * 40_000)
    upstream, _, heard = made()
    upstream.data_received(interim + BIG % (b"a" * 20_000))
    assert heard.log[0][0] == 200
    upstream.begin(heard, b"GET", b"", bodiless=False)
    upstream.data_received(interim + BIG % (b"a" * 30_000))
    assert heard.log[-1] == ("bad-answer", "sent a head larger than 65536 bytes")
    for whole in (True, False):
        upstream, _, heard = made()
        for part in [interim * 2] if whole else [interim[:-1], b"\n" + interim]:
            upstream.data_received(part)
        upstream.data_received(ANSWER)
        assert heard.log == [("bad-answer", "sent a head larger than 65536 bytes")]


def test_a_head_that_is_too_large_fails_without_a_body_too() -> None:
    """And where the answer is complete with it."""
    for bodiless, status in ((True, b"200"), (False, b"204")):
        upstream, wire, heard = made(bodiless=bodiless)
        upstream.data_received(b"HTTP/1.1 %b X\r\nx: %b\r\n\r\n" % (status, b"a" * MOST))
        assert heard.log == [("bad-answer", "sent a head larger than 65536 bytes")]
        assert wire.acts == ["abort"]


@pytest.mark.parametrize("start", [b"0\r\nx: ", b"1;x="])
def test_a_trailer_does_not_go_on_for_ever(start: bytes) -> None:
    """Nor what is behind the size of a chunk: the parser would keep it."""
    upstream, wire, heard = made()
    upstream.data_received(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
    upstream.data_received(start)
    fed = 0
    while not wire.acts and fed < 10 * MOST:
        upstream.data_received(b"1" * 1000)
        fed += 1000
    assert fed <= MOST + 1000
    assert heard.log[-1] == (
        "bad-answer",
        "sent more between parts of its body than 65536 bytes",
    )


def test_a_long_body_in_the_smallest_chunks_is_within_the_bounds() -> None:
    """What is around its parts counts between two of them only."""
    upstream, _, heard = made()
    upstream.data_received(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    for _ in range(20_000):
        upstream.data_received(b"1;a=b\r\n")
        upstream.data_received(b"x\r\n")
    upstream.data_received(b"0\r\nt: " + b"y" * 1000 + b"\r\n\r\n")
    assert heard.log[-1] == (b"", True)
