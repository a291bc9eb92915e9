"""One answer on its way to the client."""

import json

import pytest

from stemcache.gateway.prompt import Prompt
from stemcache.gateway.usage import AnswerUsage
from stemcache.server.gateway.answer import Answer
from stemcache.server.gateway.intake import Intake
from stemcache.server.gateway.request import Request
from stemcache.wire.api import Api

JSON = (b"content-type", b"application/json")
EVENTS = (b"Content-Type", b"text/event-stream; charset=utf-8")
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}


def made(
    *headers: tuple[bytes, bytes],
    status: int = 200,
    sized: bool = False,
    old: bool = False,
    api: Api | None = Api.CHAT,
    strip: bool = False,
) -> Answer:
    """To a request in HTTP/1.1, or 1.0 if `old`."""
    request = Request(
        method=b"POST",
        target=b"/v1/chat/completions",
        headers=(),
        fields={},
        keep_alive=not old,
        old=old,
    )
    prompt = Prompt(
        api=api,
        model=None,
        stream=True,
        wants_usage=False,
        session=None,
        text=None,
        text_bytes=0,
    )
    intake = Intake(prompt, b"", strip_usage=strip)
    return Answer(request, intake, status, b"OK", headers, sized=sized, closing=False)


def through(answer: Answer, *parts: bytes) -> list[bytes]:
    """What is written for each, the last one complete."""
    last = len(parts) - 1
    return [answer.part(part, complete=i == last, decision=b"d") for i, part in enumerate(parts)]


def test_an_answer_with_a_length_keeps_it() -> None:
    """The head goes out with the first part."""
    answer = made(JSON, (b"Content-Length", b"4"), sized=True)
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nContent-Length: 4\r\n"
        b"X-Stemcache-Decision: d\r\n\r\n"
    )
    assert through(answer, b"12", b"34") == [head + b"12", b"34"]
    assert answer.keep


def test_an_answer_without_one_comes_in_chunks() -> None:
    """The last part brings the end."""
    head = b"HTTP/1.1 200 OK\r\nX-Stemcache-Decision: d\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert through(made(), b"12", b"34") == [head + b"2\r\n12\r\n", b"2\r\n34\r\n0\r\n\r\n"]
    assert through(made(), b"12", b"") == [head + b"2\r\n12\r\n", b"0\r\n\r\n"]
    assert through(made(), b"") == [head + b"0\r\n\r\n"]


def test_old_http_gets_neither() -> None:
    """The end of the connection is the end."""
    answer = made(old=True)
    head = b"HTTP/1.1 200 OK\r\nX-Stemcache-Decision: d\r\nConnection: close\r\n\r\n"
    assert through(answer, b"12", b"") == [head + b"12", b""]
    assert not answer.keep


def test_usage_is_read_in_plain_answers() -> None:
    """Of prompts, in no coding, without an error."""
    body = json.dumps({"usage": USAGE}).encode()
    wanted = AnswerUsage(9, 8, 2)
    for headers, status, api, found in (
        ([JSON], 200, Api.CHAT, wanted),
        ([JSON, (b"content-encoding", b"Identity")], 200, Api.CHAT, wanted),
        ([JSON, (b"content-encoding", b"gzip")], 200, Api.CHAT, None),
        ([JSON], 400, Api.CHAT, None),
        ([JSON], 200, None, None),
        ([(b"content-type", b"text/plain")], 200, Api.CHAT, None),
    ):
        answer = made(*headers, status=status, api=api)
        through(answer, body[:9], body[9:])
        assert answer.usage() == found


def test_a_stream_that_usage_is_taken_out_of_has_no_length() -> None:
    """It would not be right any more."""
    event = b'data: {"choices":[],"usage":%b}\n\n' % json.dumps(USAGE).encode()
    answer = made(EVENTS, (b"content-length", b"99"), sized=True, strip=True)
    first, last = through(answer, b"data: 1\n\n" + event, b"data: [DONE]\n\n")
    assert b"content-length" not in first
    assert first.endswith(b"\r\n\r\n9\r\ndata: 1\n\n\r\n")
    assert last == b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
    assert answer.usage() == AnswerUsage(9, 8, 2)


def test_a_comment_is_no_content() -> None:
    """It is passed on, but is no first token."""
    answer = made(EVENTS)
    assert answer.part(b": ping\n\n", complete=False, decision=None).endswith(b": ping\n\n\r\n")
    said = [answer.has_content]
    answer.part(b"data: 1\n\n", complete=False, decision=None)
    assert [*said, answer.has_content] == [False, True]


def test_half_an_event_begins_nothing() -> None:
    """Another replica can still be asked."""
    assert made(EVENTS).part(b"data: ", complete=False, decision=b"d") == b""


@pytest.mark.parametrize(
    ("answer", "cut"),
    [
        (made(JSON), True),
        (made(JSON, sized=True), True),
        (made(EVENTS, sized=True), True),
        (made(EVENTS), False),
        (made(EVENTS, old=True), False),
        (made(EVENTS, api=None), True),
    ],
)
def test_only_a_stream_can_say_that_it_breaks_off(answer: Answer, *, cut: bool) -> None:
    """Any other would look whole, or its length would be wrong."""
    answer.part(b"data: 1\n\n", complete=False, decision=None)
    said = answer.broken_off()
    assert (said is None) is cut
    if said is not None:
        assert b'data: {"error":{' in said


def test_a_stream_that_has_ended_says_nothing_more() -> None:
    """But the end of its chunks."""
    answer = made(EVENTS)
    answer.part(b"data: [DONE]\n\n", complete=False, decision=None)
    assert answer.broken_off() == b"0\r\n\r\n"
