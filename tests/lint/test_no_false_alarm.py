"""Traffic that is as it should be has no findings, however much of it there is."""

import pytest

from tests.lint.airline import AIRLINE, interleaved, messages_requests, trajectories
from tests.lint.logs import call, chat, lint, prose

airline = pytest.mark.skipif(not AIRLINE.is_file(), reason="the conversations are not there")


@airline
@pytest.mark.parametrize("at_once", [1, 8])
def test_two_hundred_airline_conversations_that_only_append(at_once: int) -> None:
    """Two markers, of which one moves, and gaps of seconds: nothing to say."""
    sessions = [list(messages_requests(one, "claude-opus-5")) for one in trajectories()]
    bodies = interleaved(sessions, at_once=at_once, seed=3)
    calls = [
        call(body, line, time_s=1.8e9 + 5.0 * line, answered_s=1.8e9 + 5.0 * line + 2)
        for line, body in enumerate(bodies, start=1)
    ]
    report = lint(calls)
    assert [(one.kind, one.severity, one.message) for one in report.findings] == []
    assert report.total.calls > 2_000


@airline
def test_airline_conversations_as_chats_of_an_automatic_cache() -> None:
    """The same as Chat bodies, whose provider needs no markers."""
    bodies = []
    for one in trajectories():
        for i, message in enumerate(one):
            if message["role"] == "assistant":
                bodies.append({"model": "gpt-5.5", "messages": one[:i]})
    report = lint(bodies)
    assert [(one.kind, one.message) for one in report.findings if one.severity != "note"] == []


def test_many_questions_under_one_system_prompt() -> None:
    """Questions that differ behind all that is shared are no fault."""
    bodies = []
    for number in range(40):
        body = chat(1)
        body["messages"][-1]["content"] = f"{prose(30, number + 500)}?"
        bodies.append(body)
    assert [one.kind for one in lint(bodies).findings] == []
