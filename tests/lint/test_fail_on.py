from dataclasses import replace

import pytest

from stemcache.errors import UsageError
from stemcache.lint.fail_on import FIGURES, failures, parse_threshold
from stemcache.lint.finding import Reconciliation, Report, Total
from tests.lint.reports import AWKWARD, CLEAN, SIMPLE


def missed(text: str, report: Report) -> tuple[str, ...]:
    """What a run with this threshold says."""
    return failures(report, [parse_threshold(text, source="--fail-on")])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hit_rate<0.8", "hit_rate<0.8: hit_rate is 0.0%"),
        ("hit_rate < 80%", "hit_rate < 80%: hit_rate is 0.0%"),
        (" hit_rate<=.0 ", "hit_rate<=.0: hit_rate is 0.0%"),
        ("hit_rate>0", None),
        ("attainable_hit_rate<1", "attainable_hit_rate<1: attainable_hit_rate is 99.8%"),
        ("lost_share>=0.99", "lost_share>=0.99: lost_share is 99.8%"),
        ("lost_tokens>1M", "lost_tokens>1M: lost_tokens is 199,900,000"),
        ("lost_tokens>1e9", None),
        ("lost_cost_usd>540", "lost_cost_usd>540: lost_cost_usd is $540.12"),
        ("cost_usd>=640.5", "cost_usd>=640.5: cost_usd is $640.50"),
        ("warnings>0", "warnings>0: warnings is 1"),
        ("errors>0", None),
        ("notes!=0", None),
        ("findings==1", "findings==1: findings is 1"),
        ("findings=1", "findings=1: findings is 1"),
        ("calls<2k", None),
        ("exact_share<1", None),
    ],
)
def test_a_threshold_fails_where_it_is_true(text: str, said: str | None) -> None:
    """And says which figure it was."""
    assert missed(text, SIMPLE) == (() if said is None else (said,))


@pytest.mark.parametrize("text", ["hit_rate<0.8", "hit_rate>0.8", "cost_usd>5", "lost_cost_usd>0"])
def test_what_is_not_known_fails(text: str) -> None:
    """In either direction, for it cannot be checked."""
    figure = text.rstrip("<>0.85")
    assert missed(text, AWKWARD) == (
        f"{text}: {figure} is not known for this log, so it cannot be checked",
    )


def test_every_figure_is_a_number_or_unknown() -> None:
    """Of reports of all kinds, the empty one included."""
    empty = Report(findings=(), total=Total(), reconciliation=Reconciliation())
    for report in (SIMPLE, CLEAN, AWKWARD, empty):
        for figure in FIGURES.values():
            value = figure(report)
            assert value is None or isinstance(value, int | float)
    assert FIGURES["hit_rate"](empty) is None
    assert FIGURES["skipped_lines"](AWKWARD) == 3


def test_several_thresholds_are_each_checked() -> None:
    """All that are missed are told."""
    found = failures(
        replace(SIMPLE, findings=()),
        [parse_threshold(text, source="x") for text in ("findings>0", "failed>=0", "calls>1")],
    )
    assert found == ("failed>=0: failed is 0", "calls>1: calls is 2,000")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "hitrate<0.8",
            (
                "unknown figure 'hitrate' from --fail-on; did you mean 'hit_rate'? "
                "(attainable_hit_rate, calls, "
            ),
        ),
        (
            "hit_rate",
            (
                "'hit_rate' from --fail-on is no threshold; write a name, a comparison and a "
                "number, such as 'hit_rate<0.8'"
            ),
        ),
        ("hit_rate<high", "is no threshold"),
        ("hit_rate<nan", "is no threshold"),
        ("hit_rate<1e999", "is no threshold"),
        ("hit_rate<0.8 or 1", "is no threshold"),
        ("", "is no threshold"),
        ("1<hit_rate", "is no threshold"),
        ("hit_rate<" + "9" * 100_000, "is no threshold"),
        (
            "hit_rate<80",
            (
                "'hit_rate<80' from --fail-on compares hit_rate, a share from 0 to 1, with 80; "
                "write hit_rate<0.8 or hit_rate<80%"
            ),
        ),
        ("lost_share>-1", "a share from 0 to 1, with -1"),
    ],
)
def test_what_is_no_threshold_is_refused(text: str, message: str) -> None:
    """With what can be written instead."""
    with pytest.raises(UsageError) as error:
        parse_threshold(text, source="--fail-on")
    assert message in str(error.value)
