"""Rules that are taken where a log or a provider says less than its own rule needs."""

from dataclasses import replace

import pytest

from stemcache.lint.assumed import UNRESOLVED, assumed
from stemcache.provider.rule import Key, Kind, Range, Rule
from stemcache.trace.calls.call import Fidelity
from stemcache.wire.section import Section
from tests.lint.logs import anthropic, call, kinds, lint, prose

RULE = Rule(
    name="test",
    provider="anthropic",
    kind="markers",
    order=(Section.SYSTEM, Section.TOOLS, Section.MESSAGES),
    minimum_tokens=Range(1_024, 1_024, 1_024, ()),
    unit_tokens=128,
    most_markers=4,
    look_back=20,
    keys=(
        Key(("/model",), "model", Section.SYSTEM),
        Key(("/tool_choice",), "tool_choice", Section.MESSAGES),
    ),
    write_factor={"5m": 1.25},
    read_factor=0.1,
)


@pytest.mark.parametrize("kind", ["markers", "breakpoints", "units", "persisted-units", "objects"])
def test_whole_log_of_a_provider_with_a_rule_is_judged_by_it(kind: Kind) -> None:
    """Nothing is assumed."""
    rule = replace(RULE, kind=kind)
    assert assumed(rule, whole=True) is rule
    assert assumed(UNRESOLVED, whole=True) is UNRESOLVED


def test_rule_that_cannot_be_tested_is_a_cache_of_prefixes() -> None:
    """With its minimum and its keys, and no promise."""
    found = assumed(replace(RULE, kind="usage-only"), whole=True)
    assert found.kind == "units"
    assert found.minimum_tokens.likely == 1_024
    assert found.unit_tokens == 1
    assert not found.guaranteed
    assert [key.name for key in found.keys] == ["model", "tool_choice"]
    assert (found.most_markers, found.look_back) == (None, None)


def test_transcript_could_be_read_everywhere() -> None:
    """What it does not show neither keys the cache nor falls short of a minimum."""
    found = assumed(RULE, whole=False)
    assert found.kind == "units"
    assert found.minimum_tokens.likely == 0
    assert [key.name for key in found.keys] == ["model"]
    assert not found.guaranteed


def test_what_is_no_matter_of_reading_stays() -> None:
    """Name, provider, order and prices are the provider's."""
    found = assumed(RULE, whole=False)
    assert (found.name, found.provider, found.order) == (RULE.name, RULE.provider, RULE.order)
    assert (found.write_factor, found.read_factor) == (RULE.write_factor, RULE.read_factor)


def test_unknown_provider_promises_nothing() -> None:
    """No minimum, no name, no price; only the model keys its cache."""
    assert (UNRESOLVED.name, UNRESOLVED.provider, UNRESOLVED.kind) == ("", "", "units")
    assert UNRESOLVED.minimum_tokens.likely == 0
    assert [key.name for key in UNRESOLVED.keys] == ["model"]
    assert not UNRESOLVED.guaranteed


def test_markers_of_a_transcript_are_not_judged() -> None:
    """They were sent, and are not shown."""
    bodies = [anthropic(turns) for turns in (2, 3)]
    for body in bodies:
        body["system"] = prose(3_000, 7)
        body["messages"][-1]["content"][-1].pop("cache_control")
    calls = [
        call(body, line, fidelity=Fidelity.RECONSTRUCTED)
        for line, body in enumerate(bodies, start=1)
    ]
    assert kinds(lint(calls)) == []
    assert [kind for kind, _, _ in kinds(lint(bodies))] == ["no-marker"]
