import json
from functools import cache
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from stemcache.lab.answer import as_json
from stemcache.lab.question import Capacity, Question
from stemcache.lab.report import render
from stemcache.lab.simulate import simulate
from stemcache.trace.record import TraceRequest
from tests.lab.answers import read, svgs
from tests.lab.histories import random_trace

QUESTIONS = {
    "nothing in particular": Question(),
    "a few capacities": Question(capacities=None, policies=("lru", "min")),
    "all policies": Question(
        capacities=(Capacity(4), Capacity(12), Capacity()),
        policies=("lru", "min", "min-bypass", "fifo", "arc", "s3-fifo"),
    ),
    "lives": Question(capacities=(Capacity(8), Capacity()), ttls_s=(1.0, 60.0, None)),
    "kept alive": Question(ttls_s=(1.0, 60.0, None), keep_alive=2),
    "lives from the write": Question(ttls_s=(1.0, 60.0), refresh=False),
    "two tiers": Question(capacities=(Capacity(4),), second_tier=Capacity(8)),
}


def requests(count: int, seed: int = 1) -> list[TraceRequest]:
    """A random history as a trace."""
    return [
        TraceRequest(
            each.ids,
            each.block_tokens,
            each.prompt_tokens,
            arrival_s=each.now_s,
            scope=each.scope,
            tenant=each.tenant,
        )
        for each in random_trace(Random(seed), count)
    ]


def simulated(question: Question, count: int = 120) -> dict[str, Any]:
    """An answer that was not made by hand."""
    return as_json(simulate(requests(count), question), trace="random", unit="tokens")


@cache
def drawn(asked: str) -> tuple[dict[str, Any], str]:
    """An answer after a way through a file, and its page, drawn once."""
    given = json.loads(json.dumps(simulated(QUESTIONS[asked])))
    return given, render(given)


@pytest.mark.parametrize("asked", sorted(QUESTIONS))
def test_what_a_simulation_answers_can_be_drawn(asked: str) -> None:
    """Whatever it was asked, also after a way through a file."""
    given, markup = drawn(asked)

    page = read(markup)
    assert 1 + len(given["results"]) == len(page.tables["A row for each cache"])
    assert {"ann", "bob"} <= {row[0] for row in page.tables["A row for each tenant, largest first"]}
    for svg in svgs(markup):
        ET.fromstring(svg)


def test_every_rate_of_every_row_is_on_the_page() -> None:
    """None is lost between the simulation and the reader."""
    given, markup = drawn("all policies")

    table = read(markup).tables["A row for each cache"]

    for row, cells in zip(given["results"], table[1:], strict=True):
        assert row["policy"] == cells[0]
        for key in ("token_hit_rate", "block_hit_rate", "efficiency"):
            assert f"{row[key]:.1%}" in cells
        for key in ("hit_blocks", "hit_tokens", "computed_tokens"):
            assert f"{row[key]:,}" in cells


@pytest.mark.parametrize("count", [1, 2])
def test_the_shortest_traces_can_be_drawn(count: int) -> None:
    """One request shares nothing; two may."""
    page = read(render(simulated(Question(capacities=None), count)))

    assert "A row for each cache" in page.tables


def test_a_trace_whose_prompts_are_empty_can_be_drawn() -> None:
    """It has no blocks, so no rate is known."""
    nothing = [
        TraceRequest(each.block_ids[:0], each.block_tokens, 0, arrival_s=each.arrival_s)
        for each in requests(3)
    ]
    given = as_json(simulate(nothing, Question()), trace="empty", unit="tokens")

    page = read(render(given))

    assert "The trace has no prompt tokens" in page.text
    assert "unknown" in page.tables["A row for each cache"][1]
