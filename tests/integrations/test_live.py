"""What all integrations share: judged one by one, bounded, and never in the way."""

import json
import logging
import threading
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.integrations import live as module
from stemcache.integrations.live import Live
from stemcache.integrations.live_lint import Judgement
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.record.exchange import Exchange
from tests.integrations.asked import chat, messages
from tests.record.made import captured, exchange

TODAY = date(2026, 11, 30)


def ended(body: dict[str, Any], number: int, *, read: int = 0, **more: Any) -> Exchange:
    """A call that went well."""
    data = json.dumps(body).encode()
    usage = {
        "prompt_tokens": len(data) // 4,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": read},
    }
    answer = json.dumps({"id": f"r{number}", "choices": [], "usage": usage}).encode()
    fields: dict[str, Any] = {
        "url": "https://api.openai.com/v1/chat/completions",
        "time_s": 1.8e9 + number,
        "answered_s": 1.8e9 + number + 0.1,
        "ended_s": 1.8e9 + number + 0.2,
        **more,
    }
    return exchange(data, answer, **fields)


def _wait(hold: threading.Event) -> None:
    hold.wait(10)


def test_a_file_and_the_summary_say_the_same(tmp_path: Path) -> None:
    """What is counted is what is written."""
    live = Live(output=tmp_path / "calls.jsonl")
    for number in range(6):
        live.recorder.submit(ended(chat(number), number))
    found = live.summary()
    live.close()
    lines = (tmp_path / "calls.jsonl").read_text().splitlines()
    assert (found.calls, len(lines)) == (6, 6)
    assert found.prompt_tokens == sum(
        json.loads(line)["response"]["usage"]["prompt_tokens"] for line in lines
    )


def test_what_is_told_may_ask_for_the_summary() -> None:
    """In the thread that judges, while it judges: at once, and of the calls so far."""
    summaries: list[int] = []
    took_s: list[float] = []

    def tell(_: Finding) -> None:
        began_s = time.monotonic()
        summaries.append(live.summary(wait_s=5.0).calls)
        took_s.append(time.monotonic() - began_s)

    live = Live(tell=tell)
    for number in range(60):
        live.recorder.submit(ended(chat(number, clock=True), number))
    done = threading.Thread(target=live.summary, kwargs={"wait_s": 10.0}, daemon=True)
    done.start()
    done.join(20.0)
    assert not done.is_alive()
    assert summaries
    assert max(took_s) < 4.0
    assert live.summary().calls == 60
    live.close()


def test_each_judgement_comes_with_the_context_of_its_call() -> None:
    """For those who want to say it where the call was made."""
    seen: list[tuple[Judgement, object]] = []
    live = Live(tell=lambda _: None)
    live.on_judgement = lambda judgement, context: seen.append((judgement, context))
    for number in range(3):
        live.recorder.submit(ended(chat(number, clock=True), number, context=f"span {number}"))
    assert live.settle()
    live.close()
    assert [context for _, context in seen] == ["span 0", "span 1", "span 2"]
    first, second, _ = [judgement for judgement, _ in seen]
    assert (first.codes, first.lost_tokens, first.predicted_tokens) == ((), 0, 0)
    assert second.codes == ("STM101",)
    assert second.lost_tokens > 1_000
    assert second.call.body is None


def test_who_listens_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    """The calls are counted all the same, and a finding that could not be told is logged."""

    def fail(*_: object) -> None:
        raise ValueError("not my day")

    live = Live(tell=fail)
    live.on_judgement = fail
    for number in range(3):
        live.recorder.submit(ended(chat(number, clock=True), number))
    found = live.summary()
    live.close()
    assert (found.calls, found.missed) == (3, 0)
    assert [one.getMessage()[-12:] for one in caplog.records] == ["[ValueError]"]


def test_calls_that_come_too_fast_are_counted_without_a_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Usage still adds up, and the summary says so."""
    monkeypatch.setattr(module, "_MOST_WAITING", 0)
    hold = threading.Event()
    live = Live(tell=lambda _: None)
    live.on_judgement = lambda *_: _wait(hold)
    for number in range(5):
        live.recorder.submit(ended(chat(number), number, read=100))
    hold.set()
    found = live.summary()
    live.close()
    assert found.calls == 5
    assert found.cached_tokens == 500
    assert found.unjudged >= 3
    assert "of which only usage was looked at" in str(found)


def test_bodies_that_are_too_large_are_counted_without_a_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The work on one call is bounded."""
    monkeypatch.setattr(module, "_MOST_JUDGED_BYTES", 1_000)
    live = Live()
    live.recorder.submit(ended(chat(1), 1, read=100))
    found = live.summary()
    live.close()
    assert (found.calls, found.unjudged, found.cached_tokens) == (1, 1, 100)


def test_what_is_no_call_is_passed_over() -> None:
    """Embeddings, files, and bodies that no API takes."""
    live = Live()
    for body in (b"{}", b"[]", b"nothing", b'{"input": 3}', b'{"messages": 7}', b"\xff"):
        live.recorder.submit(exchange(body, url="https://api.openai.com/v1/chat/completions"))
    live.recorder.submit(ended(chat(1), 1, url="https://api.openai.com/v1/embeddings"))
    found = live.summary()
    live.close()
    assert found.calls <= 3
    assert found.prompt_tokens <= 12


def test_anything_may_come(caplog: pytest.LogCaptureFixture) -> None:
    """Bodies cut anywhere, answers cut anywhere: counted or passed over, never an error."""
    caplog.set_level(logging.DEBUG, logger="stemcache.live")
    live = Live(tell=lambda _: None)
    whole = ended(messages(1, clock=True), 1)
    body = whole.request.head
    assert whole.response is not None
    answer = whole.response.head
    for at in range(0, len(body), max(1, len(body) // 60)):
        live.recorder.submit(replace(whole, request=captured(body[:at])))
    cut = live.summary(wait_s=30)
    for at in range(len(answer)):
        live.recorder.submit(replace(whole, response=captured(answer[:at])))
    found = live.summary(wait_s=30)
    live.close()
    assert (found.calls - cut.calls, found.missed) == (len(answer), cut.missed)
    assert cut.missed > 50
    assert {record.getMessage() for record in caplog.records} == {
        "a call is in no figure: the request: the JSON ends early"
    }


def test_options_are_lints() -> None:
    """Provider, prices of one's own, and rules that are not wanted."""
    told: list[Finding] = []
    quiet = Options(today=TODAY, ignore=("STM101",))
    live = Live(options=quiet, tell=told.append)
    for number in range(3):
        live.recorder.submit(ended(chat(number, clock=True), number))
    assert live.summary().findings == ()
    assert live.summary().report.total.lost_tokens > 0
    live.close()
    assert told == []
    named = Live(options=Options(today=TODAY, provider="deepseek"))
    named.recorder.submit(ended(chat(1), 1))
    assert list(named.summary().report.total.rules) == ["deepseek"]
    named.close()
    with pytest.raises(UsageError, match="overrides of options: "):
        Live(options=Options(today=TODAY, overrides={"prices": 3}))


def test_a_call_waits_for_nothing() -> None:
    """However slow the judge: handing over takes microseconds."""
    hold = threading.Event()
    live = Live()
    live.on_judgement = lambda *_: _wait(hold)
    calls = [ended(chat(number), number) for number in range(50)]
    begun = time.monotonic()
    for one in calls:
        live.recorder.submit(one)
    took_s = time.monotonic() - begun
    assert not live.settle(0.01)
    hold.set()
    assert live.summary(wait_s=30).calls == 50
    live.close()
    assert took_s < 1


def test_memory_of_many_calls_is_bounded() -> None:
    """Calls with nothing in common: tables stop growing at their bounds."""
    live = Live(tell=lambda _: None)
    for number in range(300):
        body = {"model": "gpt-5.5", "messages": [{"role": "user", "content": f"{number} " * 50}]}
        live.recorder.submit(ended(body, number))
    assert live.summary(wait_s=30).calls == 300
    lint = live._lint
    assert len(lint._occurrences) <= 2
    assert len(lint._rows) <= 1
    assert len(lint._told) <= 100
    live.close()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"output": 5}, "output is of type int; give the name of a file, or None"),
        ({"keep": "all"}, "keep is of type str; give a Keep of stemcache.record.record"),
        ({"options": {}}, "options is of type dict; give an Options of stemcache.lint.options"),
        ({"tell": "warned"}, "tell is of type str; give a function of a finding, such as logged"),
        ({"tell": 5}, "tell is of type int; give a function of a finding"),
    ],
)
def test_settings_that_are_none_are_refused_at_once(settings: dict[str, Any], said: str) -> None:
    """Nothing is raised later, so that they would be lost in a log, and the calls with them."""
    with pytest.raises(UsageError, match=said):
        Live(**settings)
