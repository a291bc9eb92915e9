"""Occurrences put together: what is one finding, how it is counted, ordered, and left out."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.cause import Cause
from stemcache.lint.collect import Collector, Found, Occurrence
from stemcache.lint.finding import Location, Severity
from stemcache.lint.rule import LintRule
from stemcache.trace.calls.call import Call, Fidelity, Place

CLOCK = LintRule(
    code="STM101",
    name="clock-in-prefix",
    kind="clock",
    summary="a time",
    help="move {pointer} of {kind}, {what}, behind the rest",
    page="",
)
TWISTED = replace(CLOCK, code="STM404", name="too-many-markers", worst=Severity.ERROR)
TOLD = replace(CLOCK, code="STM701", name="accounting", worst=Severity.NOTE)


def _cause(rule: LintRule = CLOCK, **others: Any) -> Cause:
    given = {
        "rule": rule,
        "kind": rule.kind,
        "message": "a time stands at character 7",
        "pointer": "/system/0/text",
        "char": 7,
        "old": "ISO time, 20 chars",
        "new": "ISO time, 21 chars",
        "group": "/system/*/text",
        "fields": (("what", "a clock"),),
        "old_text": "09:00",
        "new_text": "09:01",
    }
    return Cause(**{**given, **others})


def _occurrence(
    lost_tokens: int,
    line: int = 1,
    *,
    cost_usd: float | None = None,
    cause: Cause | None = None,
    route: str | None = None,
    rule: str | None = "anthropic",
    file: str = "log.jsonl",
) -> Occurrence:
    call = Call(place=Place(file, line), api=None, body=None, fidelity=Fidelity.WIRE, route=route)
    return Occurrence(
        cause=cause or _cause(),
        call=call,
        parent=Place(file, line - 1) if line > 1 else None,
        lost_tokens=lost_tokens,
        cost_usd=cost_usd,
        rule=rule,
    )


def _found(
    *occurrences: Occurrence,
    input_cost_usd: float | None = None,
    prompt_tokens: int = 100_000,
    warning_share: float = 0.01,
    most_causes: int = 20_000,
) -> Found:
    collector = Collector(most_causes=most_causes)
    for occurrence in occurrences:
        collector.add(occurrence)
    return collector.findings(
        input_cost_usd=input_cost_usd, prompt_tokens=prompt_tokens, warning_share=warning_share
    )


def test_nothing_collected_is_nothing_found() -> None:
    """And nothing is left out."""
    assert _found() == Found((), 0, 0)


def test_occurrences_of_one_cause_are_one_finding() -> None:
    """Counted, added up, and shown at the costliest place."""
    (one,) = _found(_occurrence(2_000, 2), _occurrence(5_000, 3), _occurrence(1_000, 4)).findings
    assert (one.code, one.name, one.kind) == ("STM101", "clock-in-prefix", "clock")
    assert (one.count, one.lost_tokens, one.cost_usd) == (3, 8_000, None)
    assert one.location == Location("log.jsonl", 3, "/system/0/text", 7)
    assert one.share == pytest.approx(0.08)
    assert one.rule == "anthropic"
    assert one.route is None


def test_three_costliest_places_are_kept() -> None:
    """The costliest first, and of equal ones the first in the log."""
    losses = [100, 900, 500, 900, 300, 500]
    found = _found(*(_occurrence(lost, line) for line, lost in enumerate(losses, start=1)))
    (one,) = found.findings
    assert [(each.location.line, each.lost_tokens) for each in one.examples] == [
        (2, 900),
        (4, 900),
        (3, 500),
    ]


def test_example_says_what_was_there() -> None:
    """Shapes to show to all, texts for those who ask, and the request it was compared with."""
    (one,) = _found(_occurrence(2_000, 2)).findings
    (example,) = one.examples
    assert (example.old, example.new) == ("ISO time, 20 chars", "ISO time, 21 chars")
    assert (example.old_text, example.new_text) == ("09:00", "09:01")
    assert example.parent == Location("log.jsonl", 1)
    assert _found(_occurrence(2_000, 1)).findings[0].examples[0].parent is None


@pytest.mark.parametrize(
    "other",
    [
        _occurrence(2_000, 2, cause=_cause(group="/messages/*/content")),
        _occurrence(2_000, 2, cause=_cause(kind="clock:epoch")),
        _occurrence(2_000, 2, cause=_cause(TWISTED)),
        _occurrence(2_000, 2, route="summary"),
        _occurrence(2_000, 2, rule="bedrock"),
    ],
    ids=["place", "kind", "rule", "route", "provider"],
)
def test_what_makes_two_findings(other: Occurrence) -> None:
    """Another place, kind, rule, route or provider is another finding."""
    assert len(_found(_occurrence(2_000, 1), other).findings) == 2


def test_numbers_of_messages_and_files_make_no_other_finding() -> None:
    """Where a place is the same but for its numbers, so is the finding."""
    other = _occurrence(2_000, 9, file="other.jsonl", cause=_cause(pointer="/system/7/text"))
    assert len(_found(_occurrence(2_000, 1), other).findings) == 1


def test_help_is_filled_by_the_costliest_place() -> None:
    """A field that nobody filled is named by a word."""
    (one,) = _found(_occurrence(2_000)).findings
    assert one.help == "move /system/0/text of clock, a clock, behind the rest"
    (one,) = _found(_occurrence(2_000, cause=_cause(fields=()))).findings
    assert one.help == "move /system/0/text of clock, the what, behind the rest"


def test_braces_in_what_fills_the_help_are_text() -> None:
    """A pointer is from a log, and no format."""
    cause = _cause(pointer="/tools/{0}/{what.__class__}")
    (one,) = _found(_occurrence(2_000, cause=cause)).findings
    assert one.help.startswith("move /tools/{0}/{what.__class__} of clock")


# --- money, shares, severity ----------------------------------------------------------------------


def test_cost_is_the_sum_of_what_is_known() -> None:
    """One priced occurrence makes a price; none makes none."""
    priced = _found(_occurrence(10, cost_usd=0.5), _occurrence(10), input_cost_usd=10.0)
    assert priced.findings[0].cost_usd == 0.5
    assert priced.findings[0].share == pytest.approx(0.05)
    assert _found(_occurrence(5_000), input_cost_usd=10.0).findings[0].cost_usd is None


def test_what_costs_nothing_is_a_trifle() -> None:
    """Where reads are as dear as input, tokens that were not read are no loss."""
    assert _found(_occurrence(5_000, cost_usd=0.0), input_cost_usd=10.0).trifles == 1


def test_share_of_what_is_priced_in_part() -> None:
    """One call with a price among many without one does not make a trifle of them."""
    some = [_occurrence(10, cost_usd=0.001), _occurrence(40_000)]
    (one,) = _found(*some, input_cost_usd=10.0).findings
    assert (one.cost_usd, one.severity) == (0.001, "warning")
    assert one.share == pytest.approx(0.4, rel=0.01)


def test_share_is_of_tokens_where_there_is_no_price() -> None:
    """Neither of the finding nor of the log."""
    assert _found(_occurrence(5_000)).findings[0].share == pytest.approx(0.05)
    assert _found(_occurrence(5_000, cost_usd=1.0)).findings[0].share == pytest.approx(0.05)
    assert _found(_occurrence(0), prompt_tokens=0).findings[0].share is None


@pytest.mark.parametrize(
    ("lost", "severity"), [(1_000, Severity.WARNING), (999, Severity.NOTE), (100, Severity.NOTE)]
)
def test_severity_at_the_boundary(lost: int, severity: Severity) -> None:
    """A hundredth of the spend is a warning, a token less a note."""
    (one,) = _found(_occurrence(lost)).findings
    assert one.severity is severity


def test_boundary_is_the_reader_s() -> None:
    """Whoever wants to hear of less says so; at zero everything warns."""
    assert _found(_occurrence(999), warning_share=0.009).findings[0].severity == "warning"
    assert _found(_occurrence(5_000), warning_share=0.5).findings[0].severity == "note"
    assert _found(_occurrence(1), warning_share=0.0).findings[0].severity == "warning"


def test_rule_s_own_severity_holds() -> None:
    """What an API refuses is an error at no cost, and what never costs is a note at any."""
    assert _found(_occurrence(0, cause=_cause(TWISTED))).findings[0].severity is Severity.ERROR
    told = _found(_occurrence(90_000, cause=_cause(TOLD)))
    assert told.findings[0].severity is Severity.NOTE


def test_log_without_tokens_has_notes() -> None:
    """Where there is nothing to have a share of, nothing warns."""
    (one,) = _found(_occurrence(0), prompt_tokens=0).findings
    assert (one.severity, one.share) == (Severity.NOTE, None)


# --- trifles --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lost", "left_out"), [(99, 1), (100, 0)])
def test_trifle_at_the_boundary(lost: int, left_out: int) -> None:
    """Less than a thousandth of the spend is not worth a reader's time."""
    found = _found(_occurrence(lost))
    assert (found.trifles, len(found.findings)) == (left_out, 1 - left_out)
    assert found.trifling_tokens == lost * left_out


def test_what_lost_nothing_is_no_trifle() -> None:
    """It is said for another reason than its cost."""
    assert _found(_occurrence(0)).trifles == 0
    assert _found(_occurrence(0, cause=_cause(TOLD))).trifles == 0


def test_what_was_asked_for_is_no_trifle() -> None:
    """A warning is shown however small a share the reader set."""
    assert _found(_occurrence(5), warning_share=0.00001).trifles == 0


# --- order, names ---------------------------------------------------------------------------------


def test_errors_come_first_then_cost_then_tokens() -> None:
    """And of equal ones the lower code, then the earlier line."""
    occurrences = [
        _occurrence(9_000, 1, cost_usd=0.02, cause=_cause(group="a")),
        _occurrence(2_000, 2, cost_usd=0.9, cause=_cause(group="b")),
        _occurrence(0, 3, cause=_cause(TWISTED)),
        _occurrence(9_500, 4, cost_usd=0.02, cause=_cause(group="c")),
        _occurrence(500, 5, cost_usd=0.005, cause=_cause(group="d")),
        _occurrence(500, 4, cost_usd=0.005, cause=_cause(group="e")),
    ]
    found = _found(*occurrences, input_cost_usd=1.0).findings
    assert [one.location.line for one in found] == [3, 2, 4, 1, 4, 5]


def test_fingerprint_is_of_the_cause_and_not_of_the_log() -> None:
    """The same in another file, at another line, at another cost; another for another cause."""
    here = _found(_occurrence(2_000, 1)).findings[0].fingerprint
    there = _found(
        _occurrence(7_000, 90, file="other.jsonl", cost_usd=1.0, cause=_cause(char=99)),
        _occurrence(7_000, 91, file="other.jsonl"),
    )
    assert there.findings[0].fingerprint == here
    assert len(here) == 16
    other = _found(_occurrence(2_000, 1, route="summary")).findings[0].fingerprint
    assert other != here


def test_fingerprint_of_what_cannot_be_encoded() -> None:
    """Half a surrogate pair in a route is no error."""
    assert len(_found(_occurrence(2_000, route="\ud800")).findings[0].fingerprint) == 16


def test_what_is_standing_of_a_cause_is_its_finding_so_far() -> None:
    """After each occurrence: the same as if all findings were asked for, also beyond the bound."""
    collector = Collector(most_causes=2)
    for line in range(1, 13):
        occurrence = _occurrence(1_000, line, cause=_cause(group=f"place {line % 4}"))
        collector.add(occurrence)
        one = collector.standing(
            occurrence, input_cost_usd=None, prompt_tokens=100_000, warning_share=0.01
        )
        every = collector.findings(
            input_cost_usd=None, prompt_tokens=100_000, warning_share=0.01
        ).findings
        assert one in every
        assert one.fingerprint in {each.fingerprint for each in every}
    assert one.count == 6  # two of the four places are put together


def test_places_beyond_a_bound_are_one_finding_a_rule() -> None:
    """A log that makes up places does not fill the memory, and no token goes uncounted."""
    occurrences = [
        _occurrence(1_000, line, cause=_cause(group=f"place {line}")) for line in range(1, 51)
    ]
    found = _found(*occurrences, most_causes=10)
    assert len(found.findings) == 11
    assert sum(one.lost_tokens for one in found.findings) == 50_000
    assert max(one.count for one in found.findings) == 40


@given(
    st.lists(
        st.tuples(
            st.integers(0, 50_000),
            st.none() | st.floats(0, 10),
            st.sampled_from("abcd"),
            st.sampled_from([CLOCK, TWISTED, TOLD]),
        ),
        max_size=30,
    ),
    st.none() | st.floats(0.01, 500),
    st.floats(0, 1),
)
def test_no_token_is_lost_in_counting(
    occurrences: list[tuple[int, float | None, str, LintRule]],
    input_cost_usd: float | None,
    warning_share: float,
) -> None:
    """What findings and trifles lost together is what was added, and so is their count."""
    found = _found(
        *(
            _occurrence(lost, line, cost_usd=cost_usd, cause=_cause(rule, group=group))
            for line, (lost, cost_usd, group, rule) in enumerate(occurrences, start=1)
        ),
        input_cost_usd=input_cost_usd,
        warning_share=warning_share,
    )
    said = sum(one.lost_tokens for one in found.findings)
    assert said + found.trifling_tokens == sum(lost for lost, *_ in occurrences)
    groups = {(group, rule.code) for _, _, group, rule in occurrences}
    assert len(found.findings) + found.trifles == len(groups)
    for one in found.findings:
        assert 1 <= len(one.examples) <= 3
        assert one.examples[0].location == one.location
        losses = [each.lost_tokens for each in one.examples]
        assert losses == sorted(losses, reverse=True)
        assert sum(losses) <= one.lost_tokens
