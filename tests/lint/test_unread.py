"""Writes at a premium: who reads them, whose they are, and when they are a habit worth a word."""

from typing import Any

import numpy as np
import pytest

from stemcache.lint import unread as module
from stemcache.lint.collect import Occurrence
from stemcache.lint.spend import Spend
from stemcache.lint.unread import Unread
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.price import Cost
from stemcache.provider.rule import Range, Rule, Ttl
from stemcache.provider.shape import Mark, Position, Shape
from stemcache.provider.usage import Usage
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.trace.spans.prompt import prompt_of
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.lint.logs import anthropic, call, lint, prose

RULE = Rule(
    name="test",
    provider="test",
    kind="markers",
    order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
    minimum_tokens=Range(100, 100, 100, ()),
    ttls=(Ttl("5m", 300, 300), Ttl("1h", 3_600, 3_600)),
    most_markers=4,
    look_back=20,
    write_factor={"5m": 1.25, "1h": 2.0},
    read_factor=0.1,
)
PROMPT = prompt_of({"messages": [{"role": "user", "content": "hi"}]}, Api.MESSAGES)
UNKNOWN = Usage(prompt_tokens=None, read_tokens=None)


def _shape(
    chain: int, *, tokens: int = 1_000, ttl: str | None = "1h", marked: bool = True
) -> Shape:
    mark = Mark(ttl) if marked else None
    position = Position(chain, tokens, Section.MESSAGES, "user", ends_message=True, mark=mark)
    return Shape(
        positions=(position,),
        fine_chain=np.array([chain], np.uint64),
        fine_tokens=np.array([tokens], np.int64),
        api=Api.MESSAGES,
    )


def _call(line: int, scope: str = "") -> Call:
    return Call(
        place=Place("log.jsonl", line),
        api=Api.MESSAGES,
        body=None,
        fidelity=Fidelity.WIRE,
        scope=scope,
    )


def _write(unread: Unread, chain: int, line: int = 1, **others: Any) -> None:
    """A call that wrote 1,000 tokens for two dollars."""
    written = others.pop("written", 1_000)
    scope = others.pop("scope", "")
    shape = others.pop("shape", None) or _shape(chain)
    given = {
        "shape": shape,
        "prompt": PROMPT,
        "outcome": Outcome(read_tokens=0, written_tokens=written),
        "call": _call(line, scope),
        "rule": RULE,
        "spent": Spend(Cost(plain_usd=0.0, read_usd=0.0, write_usd=2.0, output_usd=None), None),
        "usage": UNKNOWN,
    }
    unread.look(**{**given, **others})


def _read(unread: Unread, chain: int, *, scope: str = "") -> None:
    outcome = Outcome(read_tokens=1_000, read_at=0)
    _write(unread, chain, outcome=outcome, scope=scope, shape=_shape(chain, marked=False))


def _said(unread: Unread) -> list[Occurrence]:
    return list(unread.occurrences())


def test_writes_that_nobody_reads() -> None:
    """Five are a habit; half of what writes for an hour cost is the premium."""
    unread = Unread()
    for chain in range(5):
        _write(unread, chain, chain)
    (found,) = _said(unread)
    assert found.cause.kind == "unread-write"
    assert found.cause.pointer == "/messages"
    assert found.lost_tokens == 0
    assert found.cost_usd == pytest.approx(5 * 1.0)
    assert found.rule == "test"
    assert found.parent is None


def test_four_writes_are_no_habit() -> None:
    """So few may be the last turns of four conversations."""
    unread = Unread()
    for chain in range(4):
        _write(unread, chain)
    assert _said(unread) == []


@pytest.mark.parametrize(("read", "said"), [(0, 1), (2, 1), (3, 0), (10, 0)])
def test_share_from_which_it_is_said(read: int, said: int) -> None:
    """Of ten writes eight have to go unread."""
    unread = Unread()
    for chain in range(10):
        _write(unread, chain)
    for chain in range(read):
        _read(unread, chain)
    assert len(_said(unread)) == said


def test_what_is_read_is_paid_for() -> None:
    """The premium of writes that somebody read is no loss."""
    unread = Unread()
    for chain in range(10):
        _write(unread, chain)
    _read(unread, 0)
    (found,) = _said(unread)
    assert found.cost_usd == pytest.approx(9 * 1.0)


def test_wanted_counts_as_read() -> None:
    """Whoever came back for it is charged for what kept it from being found."""
    unread = Unread()
    for chain in range(5):
        _write(unread, chain)
        unread.wanted(chain, scope="")
    assert _said(unread) == []


def test_nobody_reads_what_another_tenant_wrote() -> None:
    """Equal prompts of two tenants are two writes, and the one's read is none of the other's."""
    unread = Unread()
    for chain in range(10):
        _write(unread, chain, scope="one")
    for chain in range(10):
        _read(unread, chain, scope="other")
        unread.wanted(chain, scope="other")
    (found,) = _said(unread)
    assert found.cost_usd == pytest.approx(10 * 1.0)


def test_equal_writes_of_two_tenants_are_both_followed() -> None:
    """The later one does not take the place of the earlier one."""
    unread = Unread()
    for scope in ("one", "other"):
        for chain in range(5):
            _write(unread, chain, scope=scope)
    (found,) = _said(unread)
    assert found.cost_usd == pytest.approx(10 * 1.0)


def test_newest_write_of_a_chain_is_followed() -> None:
    """What was written again after it had expired is one write that waits."""
    unread = Unread()
    for line in range(6):
        _write(unread, 1, line)
    (found,) = _said(unread)
    assert found.cost_usd == pytest.approx(1.0)


def test_costliest_write_is_the_example() -> None:
    """The first of those that wrote most."""
    unread = Unread()
    for line, written in enumerate([100, 900, 900, 300, 200], start=1):
        _write(unread, line, line, written=written)
    (found,) = _said(unread)
    assert found.call.place.line == 2


def test_what_is_charged_to_a_cause_is_not_charged_again() -> None:
    """A write because of a clock is the clock's, and half of it if half of it is."""
    unread = Unread()
    for chain in range(5):
        _write(unread, chain, charged_share=0.5)
    (found,) = _said(unread)
    assert found.cost_usd == pytest.approx(5 * 0.5)
    unread = Unread()
    for chain in range(5):
        _write(unread, chain, charged_share=1.7)
    (found,) = _said(unread)
    assert found.cost_usd is None


def test_lifetimes_are_told_apart() -> None:
    """What is kept for five minutes may be read where what is kept for an hour is not."""
    unread = Unread()
    for chain in range(5):
        _write(unread, chain, shape=_shape(chain, ttl="1h"))
        _write(unread, 100 + chain, shape=_shape(100 + chain, ttl=None))
        unread.wanted(100 + chain, scope="")
    (found,) = _said(unread)
    assert found.cause.fields == (("ttl", "1h"),)


def test_default_lifetime_is_named() -> None:
    """A marker without a lifetime has the rule's first, at its price."""
    unread = Unread()
    for chain in range(5):
        _write(unread, chain, shape=_shape(chain, ttl=None))
    (found,) = _said(unread)
    assert found.cause.fields == (("ttl", "5m"),)
    assert found.cost_usd == pytest.approx(5 * 2.0 * 0.2)


@pytest.mark.parametrize(
    "others",
    [
        {"shape": _shape(1, marked=False)},
        {"shape": _shape(1, tokens=99)},
        {"outcome": Outcome(read_tokens=0, written_tokens=0)},
        {"usage": Usage(prompt_tokens=1_000, read_tokens=0, written_tokens=0)},
    ],
    ids=["unmarked", "below the minimum", "nothing to write", "nothing reported as written"],
)
def test_what_writes_nothing_is_not_followed(others: dict[str, Any]) -> None:
    """Without a write there is no premium."""
    unread = Unread()
    for chain in range(9):
        _write(unread, chain, **others)
    assert _said(unread) == []


def test_reported_writes_count_before_predicted_ones() -> None:
    """The provider knows what it wrote."""
    unread = Unread()
    usage = Usage(prompt_tokens=1_000, read_tokens=0, written_tokens=7)
    for chain in range(9):
        _write(unread, chain, chain, usage=usage)
    _write(unread, 9, 9)
    for chain in range(9):
        unread.wanted(chain, scope="")
    (found,) = _said(unread)
    assert found.call.place.line == 9


def test_unpriced_writes_are_said_without_a_cost() -> None:
    """Unknown is not zero."""
    unread = Unread()
    for chain in range(5):
        _write(unread, chain, spent=Spend(None, None))
    (found,) = _said(unread)
    assert found.cost_usd is None


def test_open_writes_are_bounded() -> None:
    """The oldest are given up as unread."""
    unread = Unread(most_open=3)
    for chain in range(10):
        _write(unread, chain)
    for chain in range(7):
        unread.wanted(chain, scope="")
    (found,) = _said(unread)
    assert found.cost_usd == pytest.approx(10 * 1.0)


def test_places_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that makes up lifetimes does not fill the memory."""
    monkeypatch.setattr(module, "_MOST_PLACES", 2)
    unread = Unread()
    for chain in range(40):
        _write(unread, chain, shape=_shape(chain, ttl=f"{chain % 8}x"))
    assert [dict(found.cause.fields)["ttl"] for found in _said(unread)] == ["0x", "1x"]


def test_cost_of_a_write_is_charged_once() -> None:
    """Calls at once behind a clock, each written for an hour, cost no more than they did."""
    corpus = prose(6_000, 3)
    calls = []
    for number in range(12):
        text = f"Time: 2026-11-30T09:{number + 10}:11Z\n{corpus}"
        body = anthropic(1, system=text, tools=0)
        body["system"][0]["cache_control"]["ttl"] = "1h"
        body["messages"][-1]["content"] = prose(12, number)
        start = 1.8e9 + (100.0 if number else 0.0)
        calls.append(call(body, number + 1, time_s=start, answered_s=start + 60))
    report = lint(calls)
    assert {finding.kind for finding in report.findings} == {"clock", "unread-write"}
    assert report.total.input_cost_usd is not None
    costs = sum(finding.cost_usd or 0.0 for finding in report.findings)
    assert costs < report.total.input_cost_usd
