"""The engine's process: its inbox, how it loads, what it does between steps, how it ends."""

import gc
import select
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from stemcache.engine.model import Model
from stemcache.engine.request import FinishReason, GenerationRequest, Progress, Sampling
from stemcache.errors import (
    ContextOverflowError,
    ModelError,
    QueueFullError,
    RequestError,
    UsageError,
)
from stemcache.server.frames import (
    HEADER_BYTES,
    Commands,
    FromEngine,
    Loaded,
    LoadFailed,
    Refused,
    Report,
    decode_from_engine,
    frame,
    frame_length,
)
from stemcache.server.source import ToySource
from stemcache.server.worker import EngineSettings, _Inbox, _refused, pages_that_fit, run_worker


@dataclass(slots=True)
class Ends:
    """Both ends of a socket."""

    here: socket.socket
    there: socket.socket

    def say(self, commands: Commands) -> None:
        self.here.sendall(frame(commands))

    def hear(self) -> FromEngine | None:
        """The next message, waiting for it; None at the end."""
        header = self._read(HEADER_BYTES)
        return decode_from_engine(self._read(frame_length(header))) if header else None

    def _read(self, count: int) -> bytes:
        parts = b""
        while len(parts) < count:
            part = self.here.recv(count - len(parts))
            if not part:
                return b""
            parts += part
        return parts


@pytest.fixture
def ends() -> Iterator[Ends]:
    """A socket's ends, closed in the end."""
    here, there = socket.socketpair()
    with here, there:
        yield Ends(here, there)


@pytest.mark.parametrize(
    ("memory", "block", "per_token", "pages"),
    [
        (1000, 4, 24, 10),
        (96, 4, 24, 1),
        (191, 4, 24, 1),
        (192, 4, 24, 2),
        (2**40, 16, 24, 2**40 // 384),
        (1, 1, 1, 1),
    ],
)
def test_pages_fill_the_memory_and_no_more(
    memory: int, block: int, per_token: int, pages: int
) -> None:
    """As many whole pages as fit; a part of one is not a page."""
    settings = EngineSettings(kv_memory_bytes=memory, block_size=block)

    assert pages == pages_that_fit(settings, per_token)


@pytest.mark.parametrize(("memory", "block", "page"), [(95, 4, 96), (1, 16, 384), (23, 1, 24)])
def test_less_than_one_page_is_refused(memory: int, block: int, page: int) -> None:
    """The message says how much one takes."""
    with pytest.raises(UsageError) as caught:
        pages_that_fit(EngineSettings(kv_memory_bytes=memory, block_size=block), 24)

    assert (
        f"--kv-memory is {memory} bytes, less than one page of {page} bytes; give more memory or "
        "a smaller --block-size"
    ) == str(caught.value)


def test_no_memory_at_all_is_refused_by_name() -> None:
    """Like every other figure of the engine's."""
    with pytest.raises(UsageError) as caught:
        EngineSettings(kv_memory_bytes=0)

    assert "kv_memory_bytes is 0; use 1 or more" == str(caught.value)


def test_an_inbox_without_mail_is_empty(ends: Ends) -> None:
    """Looking into it does not wait."""
    inbox = _Inbox(ends.there)

    assert ([], False) == (inbox.drain(), inbox.closed)


def test_messages_that_arrived_together_are_all_there(ends: Ends) -> None:
    """In the order in which they were sent."""
    ends.here.sendall(b"".join(frame(Commands(resets=number)) for number in range(1, 4)))

    assert [1, 2, 3] == [commands.resets for commands in _Inbox(ends.there).drain()]


def test_a_message_is_there_once_its_last_byte_is(ends: Ends) -> None:
    """However it is cut, be it within its length."""
    sent = frame(Commands(cancel=["a", "b"]))
    inbox = _Inbox(ends.there)
    for byte in sent[:-1]:
        ends.here.send(bytes((byte,)))
        assert inbox.drain() == []
    ends.here.send(sent[-1:])

    assert [["a", "b"]] == [commands.cancel for commands in inbox.drain()]
    assert [] == inbox.drain()


def test_what_follows_a_whole_message_waits_for_its_rest(ends: Ends) -> None:
    """One and a half messages are one, and then one more."""
    one, two = frame(Commands(resets=1)), frame(Commands(cancel=["x" * 100]))
    inbox = _Inbox(ends.there)
    ends.here.sendall(one + two[:50])
    first = inbox.drain()
    ends.here.sendall(two[50:] + one)
    rest = inbox.drain()

    assert [1] == [commands.resets for commands in first]
    assert [["x" * 100], []] == [commands.cancel for commands in rest]
    assert [0, 1] == [commands.resets for commands in rest]


def test_a_message_longer_than_a_read_is_whole(ends: Ends) -> None:
    """A prompt may be larger than what the system hands over at once."""
    prompt = np.arange(600_000, dtype=np.int32)
    sent = frame(Commands(submit=[GenerationRequest("r", prompt, 1)]))
    sender = threading.Thread(target=ends.here.sendall, args=(sent,))
    sender.start()
    inbox, messages = _Inbox(ends.there), list[Commands]()
    while not messages:
        inbox.wait()
        messages = inbox.drain()
    sender.join()

    assert np.array_equal(prompt, messages[0].submit[0].prompt)
    assert not inbox.closed


def test_a_closed_socket_still_has_what_was_sent(ends: Ends) -> None:
    """Then the inbox is closed, and stays so; half a message is none."""
    ends.here.sendall(frame(Commands(resets=1)) + frame(Commands(resets=2))[:-1])
    ends.here.close()
    inbox = _Inbox(ends.there)

    assert [1] == [commands.resets for commands in inbox.drain()]
    assert inbox.closed
    assert [] == inbox.drain()


def test_a_socket_that_was_reset_is_closed(ends: Ends) -> None:
    """A server that died with mail unread resets its end."""
    ends.there.sendall(b"unread")
    ends.here.close()
    inbox = _Inbox(ends.there)

    assert ([], True) == (inbox.drain(), inbox.closed)


def test_waiting_ends_with_mail_and_with_the_other_end(ends: Ends) -> None:
    """It does not take the mail away."""
    inbox = _Inbox(ends.there)
    ends.say(Commands(resets=1))
    inbox.wait()
    found = inbox.drain()
    ends.here.close()
    inbox.wait()

    assert 1 == len(found)
    assert select.select([ends.there], [], [], 0)[0]


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (RequestError("m", param="prompt"), Refused("r", "m", "request", param="prompt")),
        (ContextOverflowError("m", param="p"), Refused("r", "m", "context", param="p")),
        (QueueFullError("m", retry_after_s=2.5), Refused("r", "m", "full", retry_after_s=2.5)),
    ],
)
def test_a_refusal_keeps_what_the_client_makes_an_error_of(
    error: RequestError | QueueFullError, refused: Refused
) -> None:
    """Its kind, its words, and the field or the time that go with it."""
    assert refused == _refused("r", error)


@pytest.fixture
def _as_before() -> Iterator[None]:
    """Undo what a worker does to its process."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)
    gc.unfreeze()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unloadable(ToySource):
    """A source that raises what it is given."""

    error: Exception = field(default_factory=Exception)

    def load_model(self) -> Model:
        raise self.error


@pytest.mark.usefixtures("_as_before")
@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        (
            Unloadable(name="m", error=ModelError("no weights at /x; give a directory")),
            EngineSettings(kv_memory_bytes=2**16),
            "no weights at /x; give a directory",
        ),
        (
            Unloadable(name="m", error=LookupError("layer 7")),
            EngineSettings(kv_memory_bytes=2**16),
            "the model 'm' cannot be loaded: LookupError: layer 7; see the traceback above",
        ),
        (
            ToySource(),
            EngineSettings(kv_memory_bytes=383),
            (
                "--kv-memory is 383 bytes, less than one page of 384 bytes; give more memory or a "
                "smaller --block-size"
            ),
        ),
        (
            ToySource(),
            EngineSettings(kv_memory_bytes=2**16, schedule="lpn"),
            "unknown schedule 'lpn' from --schedule; did you mean 'lpm'? (fcfs, lpm)",
        ),
    ],
)
def test_what_cannot_be_loaded_is_the_only_message(
    source: ToySource,
    settings: EngineSettings,
    message: str,
    ends: Ends,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The error's own words if it is ours, else its kind, with a traceback on stderr."""
    run_worker(ends.there, source, settings)
    _, err = capsys.readouterr()

    assert LoadFailed(message) == ends.hear()
    assert ends.hear() is None
    assert ("Traceback" in err) == ("traceback" in message)


@pytest.mark.usefixtures("_as_before")
def test_while_loading_it_can_be_interrupted_and_then_no_more(ends: Ends) -> None:
    """A terminal's ^C ends a load at once; later it is the server's to say when to end."""
    seen: list[object] = []

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Looking(ToySource):
        def load_model(self) -> Model:
            seen.extend(signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM))
            return ToySource.load_model(self)

    before = signal.getsignal(signal.SIGTERM)
    ends.here.shutdown(socket.SHUT_WR)
    run_worker(ends.there, Looking(), EngineSettings(kv_memory_bytes=2**16))

    assert [signal.SIG_DFL, before] == seen
    assert [signal.SIG_IGN] * 2 == [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]


@pytest.mark.usefixtures("_as_before")
def test_a_server_that_is_gone_before_loading_ends_is_no_error(ends: Ends) -> None:
    """Nobody is there to be told."""
    ends.here.close()
    run_worker(ends.there, ToySource(), EngineSettings(kv_memory_bytes=2**16))

    assert -1 == ends.there.fileno()


class Serving:
    """A server's end, spoken to from a thread while the worker has the main one."""

    def __init__(self, ends: Ends) -> None:
        self.ends = ends
        self.loaded: FromEngine | None = None
        self.reports: list[Report] = []

    def next(self) -> Report:
        report = self.ends.hear()
        assert isinstance(report, Report)
        self.reports.append(report)
        return report

    def until(self, *finished: str) -> list[Progress]:
        """Hear reports until these have finished; all the progress in them."""
        missing, heard = set(finished), list[Progress]()
        while missing:
            heard += self.next().progress
            missing -= {one.request_id for one in heard if one.finish is not None}
        return heard


def converse(ends: Ends, talk: object, max_waiting: int = 8) -> Serving:
    """Run a worker here and `talk(serving)` in a thread; the end of the talk ends the worker."""
    serving = Serving(ends)
    failures: list[BaseException] = []

    def speak() -> None:
        try:
            serving.loaded = ends.hear()
            assert callable(talk)
            talk(serving)
        except BaseException as failure:  # noqa: BLE001  raised again below
            failures.append(failure)
        finally:
            ends.here.close()

    thread = threading.Thread(target=speak)
    thread.start()
    settings = EngineSettings(kv_memory_bytes=2**16, max_waiting=max_waiting)
    run_worker(ends.there, ToySource(), settings)
    thread.join()
    for failure in failures:
        raise failure
    return serving


def request(name: str, tokens: int = 20, max_tokens: int = 2) -> GenerationRequest:
    """A request with a prompt of its own."""
    prompt = np.full(tokens, ord(name[0]), np.int32)
    return GenerationRequest(name, prompt, max_tokens, Sampling(0.0), ignore_model_stop=True)


@pytest.mark.usefixtures("_as_before")
def test_it_says_first_what_it_loaded(ends: Ends) -> None:
    """The model, the pages that fit, and an engine that has done nothing."""
    serving = converse(ends, lambda _: None)
    loaded = serving.loaded

    assert isinstance(loaded, Loaded)
    assert ("toy", 2**16 // 384) == (loaded.info.name, loaded.pages)
    assert (0, loaded.pages) == (loaded.stats.steps, loaded.stats.pages_free)


@pytest.mark.usefixtures("_as_before")
def test_each_step_is_reported_with_what_was_received(ends: Ends) -> None:
    """Tokens, finishes and counters of one step travel together."""

    def talk(serving: Serving) -> None:
        ends.say(Commands(submit=[request("a", max_tokens=3), request("b", max_tokens=1)]))
        serving.until("a", "b")

    reports = converse(ends, talk).reports

    assert {2} == {report.received for report in reports}
    assert [1, 2, 3] == [report.stats.steps for report in reports]
    assert 4 == sum(len(one.tokens) for report in reports for one in report.progress)
    assert (4, 2) == (reports[-1].stats.completion_tokens, reports[-1].stats.requests)


@pytest.mark.usefixtures("_as_before")
def test_what_it_refuses_is_received_all_the_same(ends: Ends) -> None:
    """Or the server would think it on its way for ever."""

    def talk(serving: Serving) -> None:
        bad = GenerationRequest("bad", np.array([999], np.int32), 2)
        ends.say(Commands(submit=[bad, request("long", 90, 5000), request("c")]))
        serving.until("c")

    first, *_ = converse(ends, talk).reports

    assert 3 == first.received
    assert [
        Refused(
            "bad",
            "token id 999 in the prompt is outside the vocabulary; use 0 to 256",
            "request",
            param="prompt",
        ),
        Refused(
            "long",
            (
                "90 prompt tokens and max_tokens 5000 are 5090, over the limit of 2720; shorten "
                "one of them"
            ),
            "context",
            param="max_tokens",
        ),
    ] == first.refused


@pytest.mark.usefixtures("_as_before")
def test_a_full_queue_refuses_what_is_over(ends: Ends) -> None:
    """The rest of the same message is taken."""

    def talk(serving: Serving) -> None:
        ends.say(Commands(submit=[request("a"), request("b"), request("c")]))
        serving.until("a", "b")

    first, *_ = converse(ends, talk, max_waiting=2).reports

    assert [
        Refused("c", "2 requests wait already; try again later", "full", retry_after_s=1.0)
    ] == first.refused


@pytest.mark.usefixtures("_as_before")
def test_commands_are_done_in_order_cancel_reset_submit(ends: Ends) -> None:
    """A reset in the message of a request comes before it, so it empties nothing of its own."""

    def talk(serving: Serving) -> None:
        ends.say(Commands(submit=[request("a", 40)]))
        serving.until("a")
        ends.say(Commands(submit=[request("long", max_tokens=2000)]))
        serving.next()
        ends.say(Commands(cancel=["long", "nobody"], resets=2, submit=[request("a", 40)]))
        serving.until("long", "a")

    reports = converse(ends, talk).reports
    (told,) = [report for report in reports if report.resets]
    usages = [
        one.usage
        for report in reports
        for one in report.progress
        if one.request_id == "a" and one.finish is FinishReason.LENGTH
    ]
    (cancelled,) = [
        one
        for report in reports
        for one in report.progress
        if one.request_id == "long"
        if one.finish is not None
    ]

    assert FinishReason.CANCELLED == cancelled.finish
    assert 2 == len(told.resets)
    assert told.resets[0] >= 2
    assert 0 == told.resets[1]
    assert [0, 0] == [usage.cached_tokens for usage in usages]
    assert (1, 2) == (reports[-1].stats.cancelled, reports[-1].stats.resets)


@pytest.mark.usefixtures("_as_before")
def test_it_ends_with_its_server_in_the_middle_of_work(ends: Ends) -> None:
    """What still runs is nobody's."""

    def talk(serving: Serving) -> None:
        ends.say(Commands(submit=[request("a", max_tokens=2000)]))
        serving.next()

    reports = converse(ends, talk).reports

    assert [None] == [one.finish for report in reports for one in report.progress]
    assert -1 == ends.there.fileno()
