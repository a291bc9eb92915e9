"""What an API answers with a 400: how many markers, and in which order of lifetimes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.finding import Severity
from stemcache.lint.refusals import Refusal, ineffective, refusals
from stemcache.provider.rule import Kind, Range, Rule, Ttl
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from stemcache.wire.section import Section
from tests.lint.logs import anthropic, call, lint


def _rule(
    kind: Kind = "markers", *, most: int | None = 4, ordered: bool = True, ttls: bool = True
) -> Rule:
    return Rule(
        name="test",
        provider="test",
        kind=kind,
        order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
        minimum_tokens=Range(0, 0, 0, ()),
        ttls=(Ttl("5m", 300, 300), Ttl("1h", 3_600, 3_600)) if ttls else (),
        ttl_order=ordered,
        most_markers=most,
        write_factor={},
        read_factor=0.1,
    )


def _marker(ttl: str) -> dict[str, str]:
    return {"type": "ephemeral"} if ttl == "-" else {"type": "ephemeral", "ttl": ttl}


def _prompt(ttls: str, *, automatic: str | None = None) -> Prompt:
    """A block a word: `5m`, `1h`, `-` for the default, `.` for no marker."""
    blocks: list[dict[str, Any]] = [
        {
            "type": "text",
            "text": "x",
            **({} if ttl == "." else {"cache_control": _marker(ttl)}),
        }
        for ttl in ttls.split()
    ]
    body: dict[str, Any] = {"messages": [{"role": "user", "content": blocks}]}
    if automatic is not None:
        body["cache_control"] = _marker(automatic)
    return prompt_of(body, Api.MESSAGES)


def _said(prompt: Prompt, rule: Rule | None = None) -> list[tuple[str, str]]:
    return [(one.fault, one.pointer) for one in refusals(rule or _rule(), prompt)]


def _at(block: int) -> str:
    return f"/messages/0/content/{block}/cache_control"


def test_four_markers_are_allowed() -> None:
    """The last that is."""
    assert _said(_prompt("- - . - -")) == []


def test_fifth_marker_is_named() -> None:
    """The first that is too many."""
    assert _said(_prompt("- - . - - -")) == [("too-many-markers", _at(5))]
    (found,) = refusals(_rule(), _prompt("- - . - - -"))
    assert found == Refusal("too-many-markers", _at(5), "5 markers, 4 are allowed")


def test_marker_on_the_request_counts() -> None:
    """It stands behind all others."""
    assert _said(_prompt("- - - -", automatic="-")) == [("too-many-markers", "/cache_control")]
    assert _said(_prompt("- - -", automatic="-")) == []


def test_longer_lifetime_behind_a_shorter_one() -> None:
    """It is named, and the shorter one with it."""
    (found,) = refusals(_rule(), _prompt("5m . 1h"))
    assert found == Refusal("ttl-order", _at(2), "a marker of 1h stands behind one of 5m")


@pytest.mark.parametrize("ttls", ["1h 5m", "1h 1h 5m -", "5m -", "1h", ".", "1h -"])
def test_lifetimes_that_fall_are_allowed(ttls: str) -> None:
    """The longer one first, or all the same."""
    assert _said(_prompt(ttls)) == []


def test_default_lifetime_is_the_shortest() -> None:
    """A marker without a word is one of five minutes."""
    assert _said(_prompt("- 1h")) == [("ttl-order", _at(1))]
    assert _said(_prompt("-", automatic="1h")) == [("ttl-order", "/cache_control")]


def test_only_the_first_of_a_kind_is_said() -> None:
    """The API stops there, too."""
    assert _said(_prompt("5m 1h 5m 1h")) == [("ttl-order", _at(1))]


def test_both_faults_are_said() -> None:
    """Whoever mends one would meet the other."""
    assert _said(_prompt("5m 1h - - -")) == [
        ("too-many-markers", _at(4)),
        ("ttl-order", _at(1)),
    ]


def test_unknown_lifetimes_have_no_order() -> None:
    """What the rule does not know is left to the provider."""
    assert _said(_prompt("7d 5m 7d 1h")) == [("ttl-order", _at(3))]
    assert _said(_prompt("7d 1h")) == []
    assert _said(_prompt("5m 1h"), _rule(ttls=False)) == []


@pytest.mark.parametrize(
    "rule",
    [_rule("breakpoints"), _rule("units"), _rule(most=None, ordered=False)],
    ids=["breakpoints", "units", "markers without limits"],
)
def test_what_the_provider_does_not_refuse(rule: Rule) -> None:
    """Where markers are not counted or take no notice, nothing is said."""
    assert _said(_prompt("5m 1h - - - -"), rule) == []


def test_refused_call_is_an_error_and_wrote_nothing() -> None:
    """It counts as failed, and the next one has no parent in it."""
    bodies = [anthropic(3), anthropic(3)]
    for one in bodies[0]["tools"]:
        one["cache_control"] = {"type": "ephemeral"}
    report = lint([call(bodies[0], 1, status=400), call(bodies[1], 2)])
    assert [(one.kind, one.severity) for one in report.findings] == [
        ("too-many-markers", Severity.ERROR)
    ]
    assert (report.total.failed, report.total.cold) == (1, 1)


def test_call_that_was_answered_was_not_refused() -> None:
    """Somebody on the way took the markers out, or the limit has been raised."""
    body = anthropic(3)
    for one in body["tools"]:
        one["cache_control"] = {"type": "ephemeral"}
    usage = {"input_tokens": 7_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    for answered in ({"status": 200}, {"usage": usage}):
        report = lint([call(body, 1, **answered)])
        assert [one.kind for one in report.findings] == []
        assert report.total.failed == 0


def test_cache_points_that_keep_nothing() -> None:
    """The first in its list has no block to keep; one behind a block has."""
    point = {"cachePoint": {"type": "default"}}
    text = {"text": "hi"}
    body: dict[str, Any] = {
        "system": [point, text, point],
        "messages": [{"role": "user", "content": [text, point]}],
    }
    assert list(ineffective(prompt_of(body, Api.CONVERSE))) == ["/system/0/cachePoint"]
    assert list(ineffective(_prompt("- -"))) == []


@given(
    ttls=st.lists(st.sampled_from(["5m", "1h", "-", ".", "7d"]), max_size=8),
    ordered=st.booleans(),
)
def test_any_markers_can_be_judged(ttls: list[str], *, ordered: bool) -> None:
    """At most one refusal of a kind, at a marker that is there."""
    prompt = _prompt(" ".join(ttls))
    found = list(refusals(_rule(ordered=ordered), prompt))
    assert len({one.fault for one in found}) == len(found)
    pointers = {span.marker.pointer for span in prompt.spans if span.marker is not None}
    assert {one.pointer for one in found} <= pointers
    assert ("too-many-markers" in {one.fault for one in found}) is (len(pointers) > 4)
    known = [{"-": "5m"}.get(ttl, ttl) for ttl in ttls if ttl not in {".", "7d"}]
    wrong = ordered and known != sorted(known)  # `1h` sorts before `5m`
    assert ("ttl-order" in {one.fault for one in found}) is wrong
