"""Calls judged one by one: told once, added up, and within bounds."""

from typing import Any

import pytest

from stemcache.integrations.live_family import Families, beginning_of, prefix_of
from stemcache.integrations.live_lint import LiveLint
from stemcache.integrations.live_summary import Summary
from stemcache.integrations.live_tell import CacheWarning, logged, sentence, warned
from stemcache.lint.finding import Finding, Severity
from stemcache.lint.options import Options
from stemcache.provider.book import load_book
from stemcache.trace.calls.call import Call
from tests.integrations.asked import chat, messages
from tests.lint.logs import TODAY, anthropic, call, lint, prose

T0 = 1.8e9


def made(told: list[Finding], *, most_told: int = 100, **options: Any) -> LiveLint:
    """A judge, and what it tells."""
    return LiveLint(
        options=Options(today=TODAY, **options),
        book=load_book(),
        tell=told.append,
        most_told=most_told,
    )


def at(body: Any, number: int, **more: Any) -> Call:
    """The call of that number."""
    return call(body, number, time_s=T0 + number, answered_s=T0 + number + 0.5, **more)


def test_what_is_found_is_what_lint_finds() -> None:
    """The same calls in a log have the same findings and sums, unread writes apart."""
    calls = [at(messages(number, clock=number % 2 == 0), number) for number in range(1, 9)]
    judge = made([])
    for one in calls:
        judge.add(one)
    log = lint(calls)
    live = judge.report()
    assert [one for one in log.findings if one.code != "STM408"] == list(live.findings)
    assert log.total.lost_tokens == live.total.lost_tokens
    assert live.total.lost_cost_usd


def test_a_cause_is_told_once_a_family() -> None:
    """Two agents of one program with the same fault: two warnings, however often they ask."""
    told: list[Finding] = []
    judge = made(told)
    for number in range(1, 13):
        body = chat(number, clock=True)
        if number % 2:
            body["messages"][0]["content"] = f"It is {number}:04:07 pm. You plan. {prose(2_000, 9)}"
        judge.add(at(body, number))
    assert [one.code for one in told] == ["STM101", "STM101"]
    assert len({one.location.line for one in told}) == 2


def test_a_note_is_not_told() -> None:
    """What costs little is for the summary."""
    told: list[Finding] = []
    judge = made(told, warning_share=0.99)
    for number in range(1, 6):
        judge.add(at(chat(number, clock=True), number))
    assert told == []
    assert [one.severity for one in judge.report().findings] == [Severity.NOTE]


def test_an_error_is_told_at_once() -> None:
    """What the API refuses, by the first call."""
    told: list[Finding] = []
    body = anthropic(3)
    for message in body["messages"]:
        message["content"][0]["cache_control"] = {"type": "ephemeral"}
    made(told).add(at(body, 1))
    assert [(one.code, one.severity) for one in told] == [("STM404", Severity.ERROR)]


def test_no_more_is_told_than_somebody_reads() -> None:
    """After so many, silence; the findings are there all the same."""
    told: list[Finding] = []
    judge = made(told, most_told=1)
    for number in range(1, 5):
        judge.add(at(messages(number, clock=True), 2 * number))
        judge.add(at(chat(number, clock=True), 2 * number + 1))
    assert len(told) == 1
    assert len(judge.report().findings) > 1


def test_what_is_ignored_is_not_told() -> None:
    """By the options that lint has."""
    told: list[Finding] = []
    judge = made(told, ignore=("clock-in-prefix",))
    for number in range(1, 5):
        judge.add(at(chat(number, clock=True), number))
    assert told == []
    assert judge.report().findings == ()


def test_a_sentence_has_its_parts_and_no_text() -> None:
    """Rule, what, where, cost, cure."""
    told: list[Finding] = []
    judge = made(told)
    for number in range(1, 3):
        judge.add(at(chat(number, clock=True), number))
    said = sentence(told[0])
    for part in ("STM101 clock-in-prefix: ", "log.jsonl 2, /messages/0/content:", " tokens, $"):
        assert part in said
    assert said.endswith("(stemcache rule STM101)")
    assert "09:02" not in said


def test_findings_can_be_warned_of_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    """In the way that a program has set up."""
    told: list[Finding] = []
    judge = made(told)
    for number in range(1, 3):
        judge.add(at(chat(number, clock=True), number))
    with pytest.warns(CacheWarning, match="STM101"):
        warned(told[0])
    logged(told[0])
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "stemcache.live")
    assert vars(record)["stemcache_code"] == "STM101"


def test_a_family_is_that_of_the_parent_or_told_by_the_beginning() -> None:
    """Clocks and ids are no part of it; model, tools and words are."""
    one = at(chat(1, clock=True), 1)
    assert beginning_of(one) == beginning_of(at(chat(2, clock=True), 2))
    assert beginning_of(one) != beginning_of(at(chat(1), 3))
    assert beginning_of(one) != beginning_of(at(chat(1, clock=True, model="gpt-5.6"), 4))
    assert beginning_of(at(anthropic(1, tools=2), 5)) != beginning_of(at(anthropic(1, tools=3), 6))
    families = Families(most_calls=3)
    first = families.add(1, one, None)
    assert families.add(2, at(chat(1), 2), 1) == first
    assert families.add(3, at(chat(1), 3), 99) != first
    families.add(4, one, None)
    assert families.add(5, at(chat(1), 5), 1) != first  # forgotten


@pytest.mark.parametrize("body", [{"messages": 3}, {"input": 7}, {}])
def test_a_family_of_anything_is_one(body: Any) -> None:
    """What cannot be read has a beginning too."""
    assert beginning_of(at(body, 1))
    assert prefix_of(at(body, 1)) is None


def test_a_prefix_is_all_ahead_of_the_messages() -> None:
    """Equal whatever is asked; another with another tool or rule."""
    assert prefix_of(at(anthropic(1), 1)) == prefix_of(at(anthropic(5), 2))
    assert prefix_of(at(anthropic(1), 1)) != prefix_of(at(anthropic(1, tools=2), 2))
    assert prefix_of(at(anthropic(1), 1)) != prefix_of(at(anthropic(1, system="Be kind."), 2))
    assert prefix_of(at(anthropic(1), 1)) != prefix_of(at(chat(1), 2))


def test_a_summary_says_what_it_does_not_count() -> None:
    """Calls that were lost, and those that nobody looked at."""
    judge = made([])
    judge.add(at(chat(1), 1))
    said = str(Summary(report=judge.report(), missed=2, unjudged=1))
    assert "missed    2 calls, in no figure" in said
    assert "unjudged  1 call, of which only usage was looked at" in said
    assert "missed" not in str(Summary(report=judge.report()))
