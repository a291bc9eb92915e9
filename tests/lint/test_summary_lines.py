from dataclasses import replace

import pytest

from stemcache.lint.finding import Reconciliation, Report, Total
from stemcache.lint.summary_lines import headline, summary
from tests.lint.reports import AWKWARD, CLEAN, SIMPLE


def lines(report: Report, label: str) -> list[str]:
    """What stands behind a label; nothing where it is left out."""
    return dict(summary(report)).get(label, [])


def test_differences_are_a_table_by_size() -> None:
    """Its last line is their sum: predicted minus reported."""
    assert lines(AWKWARD, "predicted") == [
        "9,000 tokens read, reported 4,000; equal in 1 of 4 calls",
        "expired         +6,000 tokens  in 2 calls",
        "unseen-traffic  -1,500 tokens  in 1 call",
        "unexplained       +500 tokens",
        "difference      +5,000 tokens",
    ]


def test_labels_without_tokens_and_calls_are_left_out() -> None:
    """One without tokens stays where calls have it."""
    found = Reconciliation(
        calls=3, remainder={"expired": 0, "raced": 0}, calls_by_label={"raced": 1}
    )
    assert lines(replace(CLEAN, reconciliation=found), "predicted")[1:] == [
        "raced       +0 tokens  in 1 call",
        "difference  +0 tokens",
    ]
    assert lines(replace(CLEAN, reconciliation=Reconciliation()), "predicted") == []


def test_calls_are_told_with_rules_and_lines_left_out() -> None:
    """Most first; what is nothing is not told."""
    assert lines(AWKWARD, "calls") == [
        "9 calls, 1 failed, 2 repeated records counted once",
        "rules: unresolved (9)",
        "2 lines skipped: the JSON ends early",
        r"1 line skipped: \x1b[31mred",
    ]
    total = replace(CLEAN.total, cold=0, rules={"a": 1, "vllm": 3, "b": 1})
    assert lines(replace(CLEAN, total=total), "calls") == [
        "12 calls",
        "rules: vllm (3), a (1), b (1)",
    ]


@pytest.mark.parametrize(
    ("reported", "said"),
    [
        (48_000, "48.0k tokens, as reported"),
        (50_000, "48.0k tokens, as reported"),
        (0, "48.0k tokens, estimated from characters"),
        (40_000, "48.0k tokens, of which 8,000 estimated from characters"),
    ],
)
def test_what_is_estimated_is_said_to_be(reported: int, said: str) -> None:
    """Of prompt tokens."""
    total = replace(CLEAN.total, prompt_tokens_reported=reported)
    assert lines(replace(CLEAN, total=total), "prompt") == [said]


def test_money_is_told_with_what_has_no_price() -> None:
    """And as unknown where nothing has one; a loss of nothing is no line."""
    total = replace(CLEAN.total, unpriced_calls=1)
    assert lines(replace(CLEAN, total=total), "money") == [
        "$0.05 at list prices, $0.03 of it input; 1 call without a price left out"
    ]
    named = Total(calls=9, unpriced_calls=9, unpriced_models=("gpt-6.2", "a\nb", "c", "d", "e"))
    (told,) = lines(replace(CLEAN, total=named), "money")
    assert told == (
        "unknown: no price for gpt-6.2, a\\nb, c and 2 more; give one under prices in "
        "stemcache.toml, or an alias to a model that has one"
    )
    assert lines(replace(CLEAN, total=Total(calls=1)), "money") == [
        "unknown: no call has both usage and a price"
    ]


def test_a_report_without_prompts_has_no_rates() -> None:
    """Nor one without findings a count of them."""
    labels = [label for label, _ in summary(replace(CLEAN, total=Total(calls=1)))]
    assert labels == ["calls", "money", "predicted"]
    assert [label for label, _ in summary(SIMPLE)] == [
        "calls",
        "prompt",
        "hit rate",
        "money",
        "predicted",
        "findings",
    ]


def test_the_headline_is_one_line_whatever_is_known() -> None:
    """It never ends without a full stop."""
    for report in (SIMPLE, AWKWARD, CLEAN, replace(SIMPLE, total=Total())):
        assert headline(report).endswith(".")
        assert "\n" not in headline(report)
