import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.lint.explain.explain import How, explain
from stemcache.lint.explain.explanation import Explanation
from stemcache.lint.explain.request import BodyText, Request
from stemcache.provider.book import load_book
from stemcache.trace.calls.call import Fidelity
from stemcache.wire.section import Section
from tests.lint.explain.requests import HOW, changed, explained, request
from tests.lint.logs import anthropic, chat, prose, tool

SYSTEM = f"Now: 2026-11-30T05:14:01Z\nYou help.\n{prose(3_000, 7)}"
LATER = SYSTEM.replace("14:01", "14:31")


def first(told: Explanation) -> tuple[str, str, int | None]:
    """Kind and place of the first difference that costs."""
    one = told.differences[0]
    return one.kind, one.new.pointer, one.new.char


def reordered(body: dict[str, Any]) -> dict[str, Any]:
    """With the last tool first."""
    return {**body, "tools": [body["tools"][-1], *body["tools"][:-1]]}


def keys_reordered(body: dict[str, Any]) -> dict[str, Any]:
    """With the keys of one schema the other way round."""
    made = copy.deepcopy(body)
    schema = made["tools"][1]["input_schema"]
    made["tools"][1]["input_schema"] = dict(reversed(schema.items()))
    return made


CHANGES: list[tuple[dict[str, Any], dict[str, Any], tuple[str, str, int | None]]] = [
    (anthropic(3, system=SYSTEM), anthropic(4, system=LATER), ("clock", "/system/0/text", 22)),
    (chat(3, system=SYSTEM), chat(4, system=LATER), ("clock", "/messages/0/content", 22)),
    (anthropic(3), reordered(anthropic(4)), ("tool-order", "/tools/0", None)),
    (anthropic(3), anthropic(4, tools=4), ("tool-set", "/tools/3", None)),
    (anthropic(3), keys_reordered(anthropic(3)), ("key-order", "/tools/1/input_schema", None)),
    (
        anthropic(3),
        changed(anthropic(3), "tools", 0, "description", to="Finds things."),
        ("tool-changed", "/tools/0/description", 0),
    ),
    (
        anthropic(3),
        changed(anthropic(4), "tool_choice", to={"type": "any"}),
        ("parameter:tool_choice", "/tool_choice", None),
    ),
    (
        anthropic(3),
        changed(anthropic(3), "model", to="claude-opus-4-8"),
        ("parameter:model", "/model", None),
    ),
    (
        anthropic(4),
        {**anthropic(5), "messages": anthropic(5)["messages"][2:]},
        ("history-truncated", "/messages/0", None),
    ),
    (
        anthropic(3),
        changed(anthropic(4), "messages", 1, "content", 0, "text", to=f"No. {prose(120, 50)}"),
        ("history-edited", "/messages/1/content/0/text", 0),
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), CHANGES, ids=lambda one: str(one)[:20])
def test_each_kind_of_change_is_told_with_its_place(
    old: dict[str, Any], new: dict[str, Any], expected: tuple[str, str, int | None]
) -> None:
    """And costs, so that the command exits with 1."""
    told = explained(old, new)
    assert first(told) == expected
    assert told.costs
    assert told.lost_tokens > 0
    assert told.differences[0].help


@pytest.mark.parametrize(("old", "new", "expected"), CHANGES, ids=lambda one: str(one)[:20])
def test_lost_tokens_add_up(old: dict[str, Any], new: dict[str, Any], expected: object) -> None:
    """Over sections and over differences, and are no more than what is shared."""
    del expected
    told = explained(old, new)
    for one in told.differences:
        assert sum(one.by_section.values()) == one.lost_tokens
    assert sum(one.lost_tokens for one in told.differences) == told.lost_tokens
    assert told.lost_tokens + told.reading.predicted_tokens <= told.new.tokens


def test_growth_is_no_difference() -> None:
    """What is appended is said with its length, and what should be read."""
    told = explained(anthropic(3), anthropic(4))
    assert (told.differences, told.uncosted, told.costs) == ((), (), False)
    assert told.reading.appended_blocks == 2
    assert told.reading.predicted_tokens == told.reading.shared_tokens
    assert told.reading.predicted_tokens + told.reading.appended_tokens == told.new.tokens


def test_several_differences_are_charged_in_prefix_order() -> None:
    """Each with what it alone lost, and what costs nothing more apart."""
    new = changed(chat(6, system=LATER), "messages", 4, "content", to="No such thing.")
    told = explained(chat(5, system=SYSTEM), new)
    assert [(one.kind, one.lost_tokens > 0) for one in told.differences] == [
        ("clock", True),
        ("history-edited", True),
    ]
    new = changed(anthropic(4, system=LATER), "tools", 1, "description", to="Finds.")
    told = explained(anthropic(3, system=SYSTEM), new)
    # Mending one alone gains nothing, so the first of them is shown with what both lost.
    assert [(one.kind, one.joint) for one in told.differences] == [("tool-changed", 1)]
    assert [(one.kind, one.needed) for one in told.uncosted] == [("clock", True)]


def test_what_the_api_refuses_is_told() -> None:
    """A shorter time to live before a longer one; nothing else need differ."""
    body = anthropic(3)
    body["system"][0]["cache_control"]["ttl"] = "5m"
    body["messages"][-1]["content"][0]["cache_control"]["ttl"] = "1h"
    told = explained(body, body)
    assert [one.code for one in told.refusals] == ["STM405"]
    assert told.costs
    assert told.differences == ()


def test_parameters_that_key_nothing_are_named_and_cost_nothing() -> None:
    """A temperature, a limit."""
    new = changed(changed(anthropic(3), "temperature", to=0.5), "max_tokens", to=7)
    told = explained(anthropic(3), new)
    assert told.unkeyed == ("/max_tokens", "/temperature")
    assert not told.costs


@pytest.mark.parametrize("spelt", ["indent", "escape", "order"])
def test_spelling_alone_is_never_a_difference(spelt: str) -> None:
    """It is listed apart."""
    body = anthropic(3, system=f"Café. {prose(2_000)}")
    old = request(body)
    other = dict(reversed(body.items())) if spelt == "order" else body
    text = json.dumps(other, indent=4 if spelt == "indent" else 2, ensure_ascii=spelt != "escape")
    new = Request(
        name="b.json",
        call=request(other, "b.json").call,
        text=BodyText(text=text, first_line=1),
    )
    told = explain(old, new, how=HOW)
    assert told.differences == told.uncosted == ()
    kinds = {"indent": "white-space", "escape": "escapes", "order": "key-order"}
    assert [one.kind for one in told.spellings] == [kinds[spelt]]
    assert not told.costs


def test_without_the_bytes_spelling_is_unknown() -> None:
    """Where the log spelt the bodies anew, or holds them as texts no more."""
    body = anthropic(2)
    bare = Request(name="a", call=request(body).call)
    told = explain(bare, request(body), how=HOW)
    assert (told.spellings, told.spelling_known) == ((), False)
    told = explain(bare, bare, how=HOW)
    assert (told.differences, told.costs) == ((), False)
    assert explain(request(body), request(body), how=HOW).spelling_known


WROTE = {
    "input_tokens": 20,
    "output_tokens": 5,
    "cache_creation_input_tokens": 6_000,
    "cache_read_input_tokens": 0,
}


def test_reported_figures_are_taken_over() -> None:
    """And what was not reported is unknown."""
    told = explained(anthropic(3), anthropic(3), new_call={"usage": WROTE})
    assert (told.new.tokens, told.new.tokens_reported) == (6_020, True)
    assert (told.new.read_tokens, told.new.written_tokens) == (0, 6_000)
    assert (told.old.read_tokens, told.old.tokens_reported) == (None, False)


@pytest.mark.parametrize(
    ("old_call", "new_call", "words"),
    [
        ({"failed": True}, {}, "the first request failed"),
        ({}, {"failed": True}, "the second request failed"),
        ({"scope": "x"}, {}, "different credentials"),
        ({"time_s": 2.0}, {"time_s": 1.0}, "sent after the second"),
        ({"fidelity": Fidelity.RECONSTRUCTED}, {}, "a.json:1 is reconstructed"),
        (
            {"fidelity": Fidelity.UNORDERED},
            {"fidelity": Fidelity.UNORDERED},
            "both are unordered",
        ),
        ({"fidelity": Fidelity.UNORDERED}, {}, "the order of keys is not known"),
    ],
)
def test_what_a_reader_has_to_know_is_remarked(
    old_call: dict[str, Any], new_call: dict[str, Any], words: str
) -> None:
    """Once, in a sentence."""
    told = explained(anthropic(2), anthropic(2), old_call=old_call, new_call=new_call)
    assert sum(words in remark for remark in told.remarks) == 1


def test_an_unknown_provider_is_assumed_and_said_to_be() -> None:
    """A cache of the longest common prefix, until it is named."""
    old, new = chat(3, system=SYSTEM, model="mine"), chat(3, system=LATER, model="mine")
    told = explained(old, new)
    assert told.cache.rule == ""
    assert any("--provider" in remark for remark in told.remarks)
    named = explained(old, new, how=How(book=load_book(), provider="vllm"))
    assert named.cache.rule == "vllm"
    assert first(told) == first(named) == ("clock", "/messages/0/content", 22)


def test_requests_of_two_apis_share_no_cache() -> None:
    """Which is said beside the comparison."""
    told = explained(chat(3), anthropic(3))
    assert any("they share no cache" in remark for remark in told.remarks)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"body": None, "api": None}, "has no request body"),
        ({"fidelity": Fidelity.TRUNCATED}, "are truncated in this log"),
        ({"fidelity": Fidelity.REDACTED}, "are redacted in this log"),
        ({"body": {"model": "claude-opus-5", "messages": []}}, "has an empty prompt"),
    ],
)
def test_what_cannot_be_compared_says_why(others: dict[str, Any], words: str) -> None:
    """By the name that the user gave."""
    whole = request(anthropic(2), "b.json")
    one = replace(whole, call=replace(whole.call, **others))
    with pytest.raises(UsageError, match=words) as error:
        explain(request(anthropic(2)), one, how=HOW)
    assert "b.json" in str(error.value)


def test_a_thousand_differences_are_bounded() -> None:
    """What is beyond the bound is counted."""
    old = anthropic(1, tools=0)
    old["messages"] = [{"role": "user", "content": f"text {i} {prose(9, i)}"} for i in range(1_200)]
    new = copy.deepcopy(old)
    for i in range(0, 1_200, 3):
        new["messages"][i]["content"] = f"other {i} {prose(9, i)} end"
    told = explained(old, new)
    shown = len(told.differences) + len(told.uncosted)
    assert shown <= 200
    assert shown + told.more_differences >= 390


def test_sections_come_in_the_providers_order() -> None:
    """Tools first where they are rendered first."""
    told = explained(anthropic(3), changed(anthropic(3), "tools", 0, to=tool("z", 4)))
    assert list(told.differences[0].by_section) == [Section.TOOLS, Section.SYSTEM, Section.MESSAGES]
