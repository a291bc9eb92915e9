"""What of a body the next request will lack: told by that body alone, and marked in front of."""

import random
from typing import Any

import pytest

from stemcache.prompt.remark.changing import changing
from stemcache.prompt.remark.marked import Remarked, marked
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api

Content = str | list[dict[str, Any]]
RULES = "You are the assistant of a bicycle hire. Be kind, and never promise a refund. " * 60
CLOCKS = ("It is 10:07:31.", "Now: 2026-11-30T10:07:31Z", "Current time: 10:07:31")
EARLIER = "Now: 2026-11-30T10:05:02Z"
LOG = "".join(f"2026-11-30T09:15:{second}Z ERROR no wheel\n" for second in range(10, 40))


def blocks(*texts: str) -> Content:
    """Texts as a user's content."""
    return [{"type": "text", "text": text} for text in texts]


def body(newest: Content, first: Content = "When do you open?") -> dict[str, Any]:
    """A second question."""
    return {
        "model": "claude-sonnet-5",
        "max_tokens": 9,
        "system": RULES,
        "messages": [
            {"role": "user", "content": first},
            {"role": "assistant", "content": "At nine."},
            {"role": "user", "content": newest},
        ],
    }


def places(found: Remarked, api: Api = Api.MESSAGES) -> list[str]:
    """Where marks stand."""
    return [span.pointer for span in prompt_of(found.body, api).spans if span.marker is not None]


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_clock_in_a_block_of_its_own_has_the_mark_before_it(clock: str) -> None:
    """As `Layout` puts it before what stands in a turn."""
    found = marked(body(blocks("And on Monday?", clock)), Api.MESSAGES)
    assert places(found) == ["/system/0", "/messages/2/content/0"]
    (why,) = found.why
    assert why.startswith("block 5 (messages) has a clock, or what else changes with each request")
    assert why.endswith("replay it as it was sent, or send it in a block of its own at the end")


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("form", ["{said}\n{clock}", "{clock}\n{said}", "{said} ({clock})"])
def test_a_text_with_a_clock_has_the_mark_before_its_message(clock: str, form: str) -> None:
    """All of the text is another one when the clock is gone."""
    newest = form.format(said="And on Monday?", clock=clock)
    found = marked(body(newest), Api.MESSAGES)
    assert places(found) == ["/system/0", "/messages/1/content/0"]
    assert "block 4 (messages)" in found.why[0]


def test_a_clock_in_front_of_the_question_keeps_marks_from_both() -> None:
    """What stands behind it is found no more than it is."""
    found = marked(body(blocks(CLOCKS[1], "And on Monday?")), Api.MESSAGES)
    assert places(found) == ["/system/0", "/messages/1/content/0"]


@pytest.mark.parametrize("first", [f"When?\n{EARLIER}", blocks("When?", EARLIER)])
def test_who_replayed_the_clock_before_will_replay_this_one(first: Content) -> None:
    """Then the newest message is a history as any other."""
    found = marked(body(blocks("And on Monday?", CLOCKS[1]), first), Api.MESSAGES)
    assert places(found)[-1] == "/messages/2/content/1"
    assert found.why == ()


def test_times_in_results_of_tools_are_replayed_as_they_are() -> None:
    """The end of the newest message is marked; a clock behind the result is not."""
    made = body(blocks("And on Monday?"))
    call = {"type": "tool_use", "id": "t1", "name": "now", "input": {}}
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t1", "content": CLOCKS[1]}
    answered = [*made["messages"], {"role": "assistant", "content": [call]}]
    made["messages"] = [*answered, {"role": "user", "content": [result]}]
    assert places(marked(made, Api.MESSAGES))[-1] == "/messages/4/content/0"
    clock = {"type": "text", "text": CLOCKS[0]}
    made["messages"] = [*answered, {"role": "user", "content": [result, clock]}]
    assert places(marked(made, Api.MESSAGES))[-1] == "/messages/4/content/0"


def test_a_log_that_was_pasted_stays() -> None:
    """It has many times; a program puts one into a message."""
    assert changing(prompt_of(body(f"Why?\n{LOG}"), Api.MESSAGES)) == frozenset()
    assert changing(prompt_of(body(f"Why?\n{LOG[:40]}"), Api.MESSAGES)) == {3}


@pytest.mark.parametrize("said", ["And at 9:00-17:30?", "Since 2026-11-30?", "I need 3 minutes."])
def test_what_people_say_of_times_is_no_clock(said: str) -> None:
    """Neither hours, nor dates, nor how long."""
    assert places(marked(body(said), Api.MESSAGES))[-1] == "/messages/2/content/0"


def test_a_first_question_with_a_clock_is_taken_not_to_stay() -> None:
    """Nothing is known of it; the rules are marked all the same."""
    made = body(f"When?\n{CLOCKS[1]}")
    made["messages"] = made["messages"][2:]
    assert places(marked(made, Api.MESSAGES)) == ["/system/0"]


def test_where_nothing_is_placed_the_clock_is_the_reason() -> None:
    """Also in a prompt that would be long enough, and in a system text."""
    made = body(f"{RULES}\n{CLOCKS[0]}")
    made["messages"] = made["messages"][2:]
    del made["system"]
    found = marked(made, Api.MESSAGES)
    assert (places(found), "block 1 (messages) has a clock" in found.why[0]) == ([], True)
    found = marked({**body("When?"), "system": f"{CLOCKS[0]}\n{RULES}"}, Api.MESSAGES)
    assert places(found) == []
    assert found.why[0] == (
        "block 1 (system) has a clock, or what else changes with each request, so nothing from "
        "there on is marked: it would be written again with each; send what changes at the end of "
        "the newest message"
    )


@pytest.mark.parametrize("role", ["system", "user"])
def test_a_message_of_its_own_with_a_clock_is_left_unmarked(role: str) -> None:
    """At OpenAI such a message may be the application's; the question before it is marked."""
    made = {
        "model": "gpt-5.6",
        "messages": [
            {"role": "system", "content": RULES},
            {"role": "user", "content": "When do you open?"},
            {"role": "assistant", "content": "At nine."},
            {"role": "user", "content": "And on Monday?"},
            {"role": role, "content": CLOCKS[1]},
        ],
    }
    found = marked(made, Api.CHAT)
    assert places(found, Api.CHAT)[-1] == "/messages/3/content/0"
    assert found.body["prompt_cache_options"] == {"mode": "explicit"}


def test_of_a_message_of_many_texts_the_outer_ones_are_looked_at() -> None:
    """Two at either end: programs write there, and a search takes its time."""
    texts = [f"Passage {chance}" for chance in "abcdefgh"]
    for at, seen in ((0, True), (1, True), (2, False), (5, False), (6, True), (7, True)):
        given = [CLOCKS[1] if number == at else text for number, text in enumerate(texts)]
        assert bool(changing(prompt_of(body(blocks(*given)), Api.MESSAGES))) is seen, at


def test_a_long_text_is_searched_at_its_ends() -> None:
    """2,048 characters of each, from the beginning of a line."""
    long = "A word of a passage.\n" * 1_000
    for text, seen in (
        (f"{CLOCKS[1]}\n{long}", True),
        (f"{long}\n{CLOCKS[1]}", True),
        (f"{long}\n{CLOCKS[1]}\n{long}", False),
    ):
        assert bool(changing(prompt_of(body(text), Api.MESSAGES))) is seen


def test_of_random_conversations_only_texts_behind_the_last_answer_change() -> None:
    """Whatever clocks stand where; and none where an earlier question kept its own."""
    chance = random.Random(20261130)
    went = 0
    for _ in range(300):
        questions = [chance.choice(["When?", f"When?\n{EARLIER}", EARLIER]) for _ in range(4)]
        messages: list[dict[str, Any]] = []
        for question in questions:
            messages += [
                {"role": "user", "content": question},
                {"role": "assistant", "content": chance.choice(["At nine.", EARLIER])},
            ]
        prompt = prompt_of({"model": "claude-sonnet-5", "messages": messages[:-1]}, Api.MESSAGES)
        found = changing(prompt)
        goes = EARLIER in questions[-1] and EARLIER not in questions[-2]
        assert found == (frozenset({len(prompt.spans) - 1}) if goes else frozenset())
        went += goes
    assert 0 < went < 300
