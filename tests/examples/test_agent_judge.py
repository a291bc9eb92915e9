"""What caches could find, counted again by hand; and bodies that were written over."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from examples.agent.endpoint import plain
from examples.agent.judge import any_order, attainable, longest_prefixes, predicted, write_log
from examples.agent.loop import Asked, Sent
from examples.agent.messages import as_messages
from examples.agent.report import QUOTED, quote, quoted_tables, report
from examples.agent.script import CUSTOMERS, TURNS, moment, schedule
from examples.agent.shop import FULL, SMALL, run
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api

CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "find", "arguments": '{"b": 1, "a": 2}'},
}
CHAT: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "tools": [
        {"type": "function", "function": {"name": "find", "description": "d", "parameters": {}}}
    ],
    "messages": [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "where?"},
        {"role": "assistant", "content": "let me see", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "here"},
    ],
}


def chat(*texts: str) -> dict[str, Any]:
    """A conversation of such messages."""
    return {"model": "m", "messages": [{"role": "user", "content": text} for text in texts]}


def test_attainable_is_the_longest_prefix_of_blocks() -> None:
    """Of 4 + 8 + 8 bytes, the second reads 4 and the third, which begins otherwise, none."""
    bodies = [chat("aaaa"), chat("aaaa", "bbbb"), chat("cccc", "bbbb")]

    assert attainable(bodies, Api.CHAT) == pytest.approx(4 / 20)


def test_any_order_counts_blocks_wherever_they_stand() -> None:
    """The third has four bytes in common with the second, in another place."""
    bodies = [chat("aaaa"), chat("aaaa", "bbbb"), chat("cccc", "bbbb")]

    assert any_order(bodies, Api.CHAT) == pytest.approx(8 / 20)


def test_any_order_takes_one_earlier_request() -> None:
    """No prefix cache puts together what two requests left."""
    bodies = [chat("aaaa"), chat("bbbb"), chat("aaaa", "bbbb")]

    assert any_order(bodies, Api.CHAT) == pytest.approx(4 / 16)


@pytest.mark.parametrize("seed", range(20))
def test_longest_prefixes_are_those_of_a_set_of_prefixes(seed: int) -> None:
    """Beside a set of all prefixes that were sent; the last token is always computed."""
    chance = Random(seed)
    prompts = [[chance.randrange(2) for _ in range(chance.randrange(1, 12))] for _ in range(12)]

    assert longest_prefixes(prompts) == pytest.approx(_twin(prompts))


def _twin(prompts: Sequence[Sequence[int]]) -> float:
    seen: set[tuple[int, ...]] = set()
    found = 0
    for tokens in prompts:
        found += max((at for at in range(len(tokens)) if tuple(tokens[:at]) in seen), default=0)
        seen |= {tuple(tokens[:at]) for at in range(len(tokens) + 1)}
    return found / sum(map(len, prompts))


@pytest.mark.parametrize("seed", range(20))
def test_no_order_shares_less_than_the_given_one(seed: int) -> None:
    """`any_order` bounds `attainable`, whatever the requests are."""
    chance = Random(seed)
    bodies = [chat(*chance.choices("abcde", k=chance.randrange(1, 6))) for _ in range(8)]

    assert attainable(bodies, Api.CHAT) <= any_order(bodies, Api.CHAT)


def test_a_log_is_judged_by_the_rule_of_its_model(tmp_path: Path) -> None:
    """Two equal prompts of 2,000 tokens: the second is read, and costs a tenth or so."""
    body = {**chat("hire " * 1600), "model": "gpt-5.1"}
    at = [moment("ada", 0, number) for number in range(2)]
    write_log([Sent("ada", 0, one, body, Asked("")) for one in at], tmp_path / "log")

    found = predicted(tmp_path / "log")

    assert found.prompt_tokens == 4000
    assert found.read_tokens == 1920
    assert found.input_usd == pytest.approx((2080 * 1.25 + 1920 * 0.125) / 1e6)
    assert found.hit_rate == pytest.approx(0.48)


def test_messages_hold_what_the_chat_holds() -> None:
    """In the same order, arguments with their keys as they were."""
    made = as_messages(CHAT)

    def texts(body: Any, api: Api) -> list[str]:
        return [
            span.text
            for span in prompt_of(body, api).spans
            if span.kind not in {"tool", "tool_use"}
        ]

    assert texts(made, Api.MESSAGES) == texts(CHAT, Api.CHAT)
    use = made["messages"][1]["content"][1]
    assert json.dumps(use["input"]) == CALL["function"]["arguments"]  # type: ignore[index]
    assert made["messages"][2]["content"][0]["tool_use_id"] == use["id"] == "c1"
    assert made["tools"][0]["input_schema"] == {}
    assert made["max_tokens"] == 9


def test_speakers_take_turns_in_messages() -> None:
    """A result and what is said behind it are one message of the user's."""
    more = {**CHAT, "messages": [*CHAT["messages"], {"role": "user", "content": "thanks"}]}

    roles = [message["role"] for message in as_messages(more)["messages"]]

    assert roles == ["user", "assistant", "user"]


def test_a_chat_without_tools_in_the_template_holds_them_as_text() -> None:
    """Behind the system prompt or, to see what is attainable, before it."""
    behind, first = plain(CHAT), plain(CHAT, tools_first=True)

    assert "tools" not in behind
    assert behind["messages"][0]["content"] == "rules\n\n" + json.dumps(CHAT["tools"][0])
    assert first["messages"][0]["content"] == json.dumps(CHAT["tools"][0]) + "\n\nrules"
    assert behind["messages"][2]["content"].startswith("let me see\n<tool_call>{")
    assert behind["messages"][3] == {"role": "tool", "content": "here"}
    assert behind["messages"][1:] == first["messages"][1:]


def test_the_script_goes_on_in_time() -> None:
    """No request is made before the one before it, and none has another's id."""
    made = [
        moment(customer, turn, request)
        for customer, turn in schedule(5)
        for request in range(len(TURNS[customer][turn].lookups) + 1)
    ]

    assert [one.now for one in made] == sorted(one.now for one in made)
    assert len({one.request_id for one in made}) == len(made) == 25


def test_the_script_asks_for_what_there_is() -> None:
    """Every page and tool that it names; and tools give one answer to one call."""
    for customer in CUSTOMERS:
        assert len(TURNS[customer]) == FULL.turns
        for turn in TURNS[customer]:
            assert turn.page in FULL.pages
            for lookup in (one for step in turn.lookups for one in step):
                assert set(lookup.arguments) == set(FULL.tools[lookup.tool].arguments)
                assert run(lookup.tool, lookup.arguments) == run(lookup.tool, lookup.arguments)
    assert SMALL.tools.keys() == FULL.tools.keys()


FIGURES: dict[str, Any] = {
    "machine": {"commit": "abc", "date": "2026-11-30", "cpu": "a CPU", "cores": 2},
    "endpoint": {
        "model": "m",
        "requests": 2,
        "load": 1.5,
        "attainable": 0.8,
        "agents": {"naive": {"prompt_tokens": 1000, "cached_tokens": 400, "ttft_ms": 12.4}},
    },
    "rules": {
        "r": {
            "attainable": 0.5,
            "any_order": 0.6,
            "agents": {"naive": {"prompt_tokens": 2000, "read_tokens": 500, "input_usd": 0.01}},
        }
    },
}


def test_the_report_has_rates_shares_and_money() -> None:
    """A share is the hit rate over what is attainable; money is of a thousand runs."""
    told = report(FIGURES)

    assert "| naive | 1,000 | 40.0% | 50.0% | 12 |" in told
    assert "| naive | 2,000 | 25.0% | 50.0% | 10.00 |" in told
    assert "in any order of the same blocks 60.0%" in told


def test_tables_are_put_where_they_are_quoted() -> None:
    """Between their own marks, and nowhere else; twice is as once."""
    tables = quoted_tables(FIGURES)
    page = "a\n<!-- examples.agent: rules -->\nold\n<!-- end -->\nb\n"

    made = quote(page, tables)

    assert made.startswith("a\n<!-- examples.agent: rules -->\n| agent | r | $ for 1,000 runs |")
    assert made.endswith("Attainable: r 50.0%.\n<!-- end -->\nb\n")
    assert quote(made, tables) == made
    assert [found[2] for found in QUOTED.finditer(made)] == ["rules"]
