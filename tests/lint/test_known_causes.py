"""Two requests and what stands between them: the cause that is found, and where."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from stemcache.lint.finding import Severity
from tests.lint.logs import anthropic, call, chat, kinds, lint, prose

Body = dict[str, Any]


def _pair(make: Callable[..., Body], change: Callable[[Body], None]) -> list[Body]:
    parent, child = make(3), make(4)
    change(child)
    return [parent, child]


@pytest.mark.parametrize("make", [anthropic, chat])
def test_chat_that_only_grows_has_no_findings(make: Callable[..., Body]) -> None:
    """Turns that are appended to an unchanged history are read from the cache."""
    report = lint([make(turns) for turns in (1, 2, 3, 4, 5)])
    assert kinds(report) == []
    assert report.total.hit_rate is not None
    assert report.total.hit_rate > 0.7


def test_parameters_that_key_nothing_are_no_fault() -> None:
    """Temperature, metadata and the length of the answer may differ."""

    def change(body: Body) -> None:
        body.update(max_tokens=2_048, temperature=0.3, metadata={"user_id": "u2"})

    assert kinds(lint(_pair(anthropic, change))) == []


CLOCKS = ("It is 2026-11-30T09:15:02Z.\n", "It is 2026-11-30T09:16:40Z.\n")


def test_clock_at_the_head_of_the_system_prompt() -> None:
    """The time of the request is named with the character at which it begins to differ."""
    bodies = [anthropic(turns) for turns in (3, 4)]
    for body, clock in zip(bodies, CLOCKS, strict=True):
        body["system"][0]["text"] = clock + body["system"][0]["text"]
    assert kinds(lint(bodies)) == [("clock", "/system/0/text", 21)]


def test_clock_at_the_head_of_a_chat() -> None:
    """The same in a body whose system prompt is a message."""
    bodies = [chat(turns) for turns in (3, 4)]
    for body, clock in zip(bodies, CLOCKS, strict=True):
        body["messages"][0]["content"] = clock + body["messages"][0]["content"]
    assert kinds(lint(bodies)) == [("clock", "/messages/0/content", 21)]


def test_tools_in_another_order() -> None:
    """All behind the first tool that moved is lost."""

    def change(body: Body) -> None:
        body["tools"].reverse()

    report = lint(_pair(anthropic, change))
    assert kinds(report) == [("tool-order", "/tools/0", None)]


def test_keys_of_a_schema_in_another_order() -> None:
    """Providers render a tool's keys in the order that was sent."""

    def change(body: Body) -> None:
        schema = body["tools"][1]["input_schema"]["properties"]
        body["tools"][1]["input_schema"]["properties"] = dict(reversed(schema.items()))

    report = lint(_pair(anthropic, change))
    assert kinds(report) == [("key-order", "/tools/1/input_schema/properties", None)]


def test_head_of_the_history_is_dropped() -> None:
    """A window over the history loses all of it at every step."""
    parent, child = anthropic(6), anthropic(7)
    del child["messages"][:2]
    assert kinds(lint([parent, child])) == [("history-truncated", "/messages/0", None)]
    parent, child = chat(6), chat(7)
    del child["messages"][1:3]
    assert kinds(lint([parent, child])) == [("history-truncated", "/messages/1", None)]


def test_old_message_is_edited() -> None:
    """One letter of the first question costs the whole history."""

    def change(body: Body) -> None:
        block = body["messages"][0]["content"][0]
        block["text"] = "Q" + block["text"][1:]

    report = lint(_pair(anthropic, change))
    assert kinds(report) == [("history-edited", "/messages/0/content/0/text", 0)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tool_choice", {"type": "any"}),
        ("thinking", {"type": "enabled", "budget_tokens": 2_000}),
    ],
)
def test_parameter_that_keys_the_messages(name: str, value: object) -> None:
    """A parameter that was not there before loses the history, and not the system prompt."""

    def change(body: Body) -> None:
        body[name] = value

    report = lint(_pair(anthropic, change))
    assert kinds(report) == [(f"parameter:{name}", f"/{name}", None)]
    assert 0 < report.findings[0].lost_tokens < 1_500


def test_other_model_loses_everything() -> None:
    """A model's cache is its own."""

    def change(body: Body) -> None:
        body["model"] = "claude-sonnet-5"

    report = lint(_pair(anthropic, change))
    assert kinds(report) == [("parameter:model", "/model", None)]
    assert report.findings[0].lost_tokens > 5_000


def _tool_turns(count: int) -> list[Body]:
    turns: list[Body] = []
    for i in range(count):
        call = {"type": "tool_use", "id": f"t{i}", "name": "tool_0", "input": {"query": f"q{i}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{i}", "content": prose(20, i)}
        turns += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    return turns


def test_marker_that_cannot_see_the_last_one() -> None:
    """Twenty-four blocks between two markers are more than it looks back over."""
    parent = anthropic(3)
    child = copy.deepcopy(parent)
    child["messages"][-1]["content"][-1].pop("cache_control")
    child["messages"] += _tool_turns(12)
    child["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    report = lint([parent, child])
    assert kinds(report) == [("look-back", "/messages/28/content/0", None)]


def test_marker_within_reach_is_no_fault() -> None:
    """Eight blocks are fewer than it looks back over."""
    parent = anthropic(3)
    child = copy.deepcopy(parent)
    child["messages"][-1]["content"][-1].pop("cache_control")
    child["messages"] += _tool_turns(4)
    child["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    assert kinds(lint([parent, child])) == []


def test_marker_behind_the_question() -> None:
    """What is written ends with what is never sent again."""
    bodies = []
    for turn in range(4):
        body = anthropic(1)
        body["system"][0].pop("cache_control")
        question = {"type": "text", "text": f"doc question {turn}: {prose(25, turn + 9)}"}
        body["messages"] = [
            {"role": "user", "content": [{**question, "cache_control": {"type": "ephemeral"}}]}
        ]
        bodies.append(body)
    report = lint(bodies)
    assert kinds(report) == [("marker-placement", "/messages/0/content/0", None)]
    assert report.findings[0].count == 3


def test_no_marker_at_all() -> None:
    """A provider that needs markers keeps nothing without one."""
    bodies = []
    for turns in (1, 2, 3):
        body = anthropic(turns)
        body["system"][0].pop("cache_control")
        body["messages"][-1]["content"][-1].pop("cache_control")
        bodies.append(body)
    report = lint(bodies)
    assert [kind for kind, _, _ in kinds(report)] == ["no-marker"]
    assert report.findings[0].count == 2


def test_shorter_time_to_live_before_a_longer_one() -> None:
    """The API answers with a 400, so it is an error and nothing else is said."""
    bodies = [anthropic(3), anthropic(4)]
    for body in bodies:
        body["system"][0]["cache_control"]["ttl"] = "5m"
        body["messages"][-1]["content"][-1]["cache_control"]["ttl"] = "1h"
    report = lint(bodies)
    assert [(f.kind, f.severity, f.count) for f in report.findings] == [
        ("ttl-order", Severity.ERROR, 2)
    ]


def test_five_markers() -> None:
    """One more than the API takes."""
    body = anthropic(3)
    for one in body["tools"]:
        one["cache_control"] = {"type": "ephemeral"}
    report = lint([body])
    assert [finding.kind for finding in report.findings] == ["too-many-markers"]


@pytest.mark.parametrize("make", [anthropic, chat])
def test_prompt_below_the_minimum(make: Callable[..., Body]) -> None:
    """A prompt of a few words is never kept, whatever marks it."""
    bodies = []
    for _ in range(2):
        body = make(1, system="You are helpful.")
        body["tools"] = []
        text = body["messages"][-1]["content"]
        if isinstance(text, list):
            text[0]["text"] = "hi"
        else:
            body["messages"][-1]["content"] = "hi"
        bodies.append(body)
    report = lint(bodies)
    assert [finding.kind for finding in report.findings] == ["below-minimum"]


def test_request_specific_line_in_front_of_a_corpus() -> None:
    """Prompts that share all but their first line are paired, and the line is named."""
    corpus = prose(20_000, 3)
    bodies = [
        {
            "model": "gpt-5.5",
            "messages": [
                {
                    "role": "user",
                    "content": f"[2026-11-30T09:{turn:02}:11Z] request\n\n{corpus}\n\n"
                    f"{prose(20, turn)}",
                }
            ],
        }
        for turn in range(10, 30)
    ]
    report = lint(bodies)
    assert kinds(report) == [("clock", "/messages/0/content", 16)]
    finding = report.findings[0]
    assert finding.count == 19
    assert finding.share is not None
    assert finding.share > 0.7


def test_stacked_causes_share_the_loss() -> None:
    """A clock and an edited message are each charged what stands behind them, once."""
    bodies = [anthropic(turns) for turns in (3, 4)]
    for body, clock in zip(bodies, CLOCKS, strict=True):
        body["system"][0]["text"] = clock + body["system"][0]["text"]
    block = bodies[1]["messages"][0]["content"][0]
    block["text"] = "Q" + block["text"][1:]
    report = lint(bodies)
    assert {kind for kind, _, _ in kinds(report)} == {"clock", "history-edited"}
    alone = lint([anthropic(3), anthropic(4)])
    assert alone.total.read_tokens is not None
    lost = sum(finding.lost_tokens for finding in report.findings)
    assert lost == pytest.approx(alone.total.read_tokens, rel=0.02)


def test_models_of_one_provider_have_their_own_minimum() -> None:
    """A prompt that one model keeps is too short for another, whichever comes first."""
    bodies = []
    for seed, model in enumerate(("claude-opus-5", "claude-opus-4-5")):
        for turns in (2, 3):
            body = anthropic(turns, system=prose(300, seed), tools=0)
            bodies.append({**body, "model": model})
    for log, line in ((bodies, 4), (bodies[2:] + bodies[:2], 2)):
        found = {finding.kind: finding.location.line for finding in lint(log).findings}
        assert found["below-minimum"] == line


@pytest.mark.parametrize("make", [anthropic, chat])
def test_trailing_space_in_the_system_prompt(make: Callable[..., Body]) -> None:
    """A block that only grows by white space loses all that stands behind it."""

    def change(body: Body) -> None:
        if "system" in body:
            body["system"][0]["text"] += " "
        else:
            body["messages"][0]["content"] += " "

    assert [kind for kind, _, _ in kinds(lint(_pair(make, change)))] == ["whitespace"]


@pytest.mark.parametrize(
    ("model", "expected"), [("gpt-5.6", "extended-message"), ("gpt-5.5", None)]
)
def test_one_message_that_grows(model: str, expected: str | None) -> None:
    """From 5.6 a message that goes on where it ended is never found; before, its prefix is."""
    log = prose(900, 1)
    bodies = []
    for turn in range(17):
        log += "\n" + prose(300, turn + 20)
        system = {"role": "system", "content": prose(6_000, 7)}
        bodies.append({"model": model, "messages": [system, {"role": "user", "content": log}]})
    report = lint(bodies)
    assert [kind for kind, _, _ in kinds(report)] == ([] if expected is None else [expected])
    assert report.total.hit_rate is not None
    assert (report.total.hit_rate > 0.85) is (expected is None)


def test_switch_from_a_model_that_keeps_less() -> None:
    """What was too short for the first model is no fault of the markers under the second."""
    short = prose(300, 4)
    bodies = []
    for model in ("claude-opus-4-5", "claude-opus-5"):
        body = anthropic(2, system=short, tools=0)
        bodies.append({**body, "model": model})
    assert [kind for kind, _, _ in kinds(lint(bodies))] in ([], ["parameter:model"])


def test_refusals_are_not_claimed_of_calls_that_were_answered() -> None:
    """What the API answered it did not refuse: a gateway may have mended it."""
    body = anthropic(3)
    for one in body["tools"]:
        one["cache_control"] = {"type": "ephemeral"}
    answered = call(body, 1, status=200)
    refused = call(body, 2, status=400, failed=True)
    found = lint([answered, refused]).findings
    assert [(finding.kind, finding.location.line) for finding in found] == [("too-many-markers", 2)]


def test_cache_point_that_keeps_nothing() -> None:
    """First in its list, or inside a tool's result, a cache point does nothing."""
    point = {"cachePoint": {"type": "default"}}
    result = {"toolUseId": "t", "content": [{"text": prose(20)}, point]}
    body = {
        "modelId": "anthropic.claude-opus-5",
        "system": [point, {"text": prose(3_000)}],
        "messages": [{"role": "user", "content": [{"text": "go"}, {"toolResult": result}]}],
    }
    found = [finding.location.pointer for finding in lint([body]).findings]
    assert sorted(found) == [
        "/messages/0/content/1/toolResult/content/1/cachePoint",
        "/system/0/cachePoint",
    ]


def test_causes_of_which_none_helps_alone_are_charged_to_the_first() -> None:
    """A clock behind shuffled tools: both are named, each with the other, and charged once."""
    bodies = []
    for turn in range(6):
        body = anthropic(turn + 1)
        body["tools"] = body["tools"][turn % 3 :] + body["tools"][: turn % 3]
        body["system"][0]["text"] = f"Now: {1_790_000_000 + 60 * turn}\n" + prose(3_000, 7)
        bodies.append(body)
    found = lint(bodies).findings
    assert [(one.kind, one.needs, one.lost_tokens > 0) for one in found] == [
        ("tool-order", ("STM101",), True),
        ("clock", ("STM201",), False),
    ]


def test_names_that_alternate_are_no_edit_of_the_prompt() -> None:
    """One pair looks like a release; ten users do not."""
    bodies = []
    for turn in range(24):
        user = ("Ann", "Bob", "Cy", "Di", "Ed", "Flo", "Gus", "Hal")[turn * 5 % 8]
        body = chat(1)
        body["messages"][0]["content"] = f"You are assisting {user} today.\n" + prose(3_000, 7)
        body["messages"][1]["content"] = prose(20, turn + 700)
        bodies.append(body)
    assert [kind for kind, _, _ in kinds(lint(bodies))] == ["varying-context"]


def test_clock_before_a_deepseek_prompt() -> None:
    """Units that are kept whole end wherever a request ends, so an edit in front loses them."""
    bodies = []
    for turns in range(1, 8):
        body = chat(turns, model="deepseek-chat")
        body["messages"][0]["content"] = f"It is 2026-11-30T09:{turns:02}:02Z.\n" + prose(3_000, 7)
        bodies.append(body)
    assert [kind for kind, _, _ in kinds(lint(bodies))] == ["clock"]


def test_line_break_that_a_replay_adds() -> None:
    """White space at the end of a message that was sent without is white space, and no growth."""
    bodies = []
    for turns in range(1, 6):
        body = anthropic(turns)
        for message in body["messages"][:-1]:
            if message["role"] == "user":
                message["content"][0]["text"] += "\n"
        bodies.append(body)
    assert [kind for kind, _, _ in kinds(lint(bodies))] == ["whitespace"]
