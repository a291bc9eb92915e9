import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from stemcache.lint.finding import Example, Location, Reconciliation, Report, Severity, Total
from stemcache.lint.render_full import render
from tests.lint.reports import AWKWARD, CLEAN, CLOCK, SIMPLE, finding

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def page(report: Report, *, width: int = 80) -> str:
    """The page as text."""
    return "\n".join(render(report, width=width))


@pytest.mark.parametrize("width", [1, 40, 60, 80, 200])
def test_lines_fit_the_terminal(width: int) -> None:
    """Bars and places as well, where a place by itself is short enough."""
    for report in (SIMPLE, CLEAN):
        for line in render(report, width=width):
            assert cell_len(line) <= max(width, 40), line


def test_what_does_not_fit_beside_a_place_goes_below_it() -> None:
    """Nothing of it is broken, and a wide terminal has it on one line."""
    wide, narrow = page(SIMPLE, width=100), page(SIMPLE, width=40)
    assert "█" in narrow
    (row,) = [line for line in wide.splitlines() if line.startswith("    line 2 ")]
    first = row.partition(" against ")[0]
    lines = narrow.splitlines()
    at = lines.index(first)
    assert lines[at + 1].startswith("      against line 1")
    below = " ".join(line.strip() for line in lines[at : at + 3])
    assert below.split()[: len(row.split())] == row.split()


def test_a_place_is_never_broken() -> None:
    """However long it is."""
    pointer = "/messages/0/content" + "/deep" * 40
    found = replace(CLOCK, location=Location("logs/" + "d" * 100 + ".jsonl", 2, pointer, 7))
    first, second = list(render(replace(SIMPLE, findings=(found,)), width=60, quiet=True))[:2]
    assert first == "STM101 clock-in-prefix"
    assert second == f"  logs/{'d' * 100}.jsonl:2 {pointer}:7"


def test_colours_change_nothing_else() -> None:
    """Without them there is no escape at all."""
    plain = list(render(SIMPLE))
    coloured = list(render(SIMPLE, color=True))
    assert [ESCAPES.sub("", line) for line in coloured] == plain
    assert "\x1b[1;33mSTM101\x1b[0m" in "\n".join(coloured)
    assert "\x1b" not in "\n".join(plain)


def test_wide_characters_are_counted_as_two_cells() -> None:
    """So that a line does not run over."""
    found = replace(CLOCK, message="日本語" * 60)
    for line in render(replace(SIMPLE, findings=(found,)), width=60, quiet=True):
        if "日" in line:
            assert cell_len(line) <= 60


def test_notes_take_little_room() -> None:
    """Their examples are left out."""
    note = replace(CLOCK, severity=Severity.NOTE, share=None)
    assert page(replace(SIMPLE, findings=(note,))).count("line 2") == 0


def test_of_many_notes_the_first_are_shown() -> None:
    """The rest is counted; warnings are all shown."""
    report = replace(SIMPLE, findings=(CLOCK,) * 12 + (finding(),) * 13)
    text = page(report)
    assert text.count("STM101 clock-in-prefix  calls") == 12
    assert text.count("STM405 ttl-order  calls") == 10
    assert "\n3 more notes; --output-format concise lists all\n\ncalls " in text


def test_examples_of_other_files_have_their_names() -> None:
    """Of the same file the line is enough."""
    examples = (
        Example(Location("calls.jsonl", 4, "/system"), Location("other.jsonl", 1), 5, None),
        Example(Location("third.jsonl", 9), Location("calls.jsonl", 2), 5, 0.5),
    )
    text = page(replace(SIMPLE, findings=(replace(CLOCK, examples=examples),)))
    assert "    line 4 /system against other.jsonl:1  5 tokens\n" in text
    assert "    third.jsonl:9 against line 2  5 tokens  $0.50\n" in text


@pytest.mark.parametrize(
    ("share", "bar"),
    [
        (0.0, "░" * 20 + " 0.0% of"),
        (0.0001, "█" + "░" * 19 + " under 0.1% of"),
        (0.5, "█" * 10 + "░" * 10 + " 50.0% of"),
        (1.0, "█" * 20 + " 100.0% of"),
    ],
)
def test_a_bar_shows_the_share(share: float, bar: str) -> None:
    """What is little is not nothing."""
    text = page(replace(SIMPLE, findings=(replace(CLOCK, share=share),)))
    assert f"  {bar} input spend\n" in text
    unpriced = replace(CLOCK, share=share, cost_usd=None)
    assert f"  {bar} prompt tokens\n" in page(replace(SIMPLE, findings=(unpriced,)))


@pytest.mark.parametrize("share", [None, float("nan"), float("inf"), -1.0, 2.0])
def test_a_share_that_is_none_has_no_bar(share: float | None) -> None:
    """Nor what lost nothing."""
    assert "█" not in page(replace(SIMPLE, findings=(replace(CLOCK, share=share),)))
    assert "█" not in page(replace(SIMPLE, findings=(replace(CLOCK, lost_tokens=0),)))


def test_a_month_is_told_of_a_day_of_log_and_more() -> None:
    """A shorter log says nothing of it."""
    for span_s, told in ((86_400.0, True), (86_399.0, False), (None, False)):
        text = page(replace(SIMPLE, total=replace(SIMPLE.total, span_s=span_s)))
        assert ("$540.12 a day, $16,204 in 30 days" in text) == told
        assert ("in 30 days" in text) == told


def test_an_empty_log_is_said_to_be_empty() -> None:
    """And nothing is claimed of it."""
    empty = Report(findings=(), total=Total(), reconciliation=Reconciliation())
    assert page(empty).splitlines() == [
        "No calls to judge: the log holds none that could be read.",
        "",
        "calls         0 calls",
        "money         unknown: no call has both usage and a price",
    ]


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (CLEAN, "Nothing found: no prompt loses a prefix that it could have kept. Hit rate 83.3%"),
        (
            replace(CLEAN, total=replace(CLEAN.total, fidelities={"usage-only": 12})),
            "Nothing found, but little could be judged: the remarks below say why. Hit rate 83.3%",
        ),
        (
            replace(CLEAN, total=Total(calls=3, rules={"": 3})),
            "Nothing found, but little could be judged: the remarks below say why. calls",
        ),
        (
            replace(CLEAN, total=replace(CLEAN.total, attainable_tokens=10, read_tokens=0)),
            "Nothing found: these prompts share too little for any cache to matter. Hit rate 0.0%",
        ),
        (replace(CLEAN, baselined=3), "Nothing found beyond the 3 findings of the baseline. Hit"),
        (replace(SIMPLE, findings=()), "Nothing found by the rules that are selected. Hit rate 0"),
        (
            replace(SIMPLE, reconciliation=Reconciliation()),
            "Hit rate 0.0% predicted, 99.8% attainable; 200M of 200M prompt tokens lost, $540.12.",
        ),
        (
            replace(SIMPLE, total=replace(SIMPLE.total, read_tokens=None, lost_cost_usd=None)),
            "Hit rate unknown, 99.8% attainable; 200M of 200M prompt tokens lost. 1 finding.",
        ),
        (replace(AWKWARD, total=Total(calls=1)), "3 findings."),
        (AWKWARD, "1 of 9,000 prompt tokens lost. 3 findings."),
    ],
)
def test_the_first_sentence_says_how_things_stand(report: Report, said: str) -> None:
    """Whatever is known."""
    assert " ".join(page(report).split()).startswith(said)


def test_the_costliest_is_named_at_the_end() -> None:
    """Where a reader of many findings looks last; errors, which come first, may cost nothing."""
    error = finding(severity=Severity.ERROR, code="STM404")
    text = page(replace(SIMPLE, findings=(error, CLOCK)), width=100)
    assert text.endswith("first to mend: STM101 clock-in-prefix; `stemcache rule STM101` says more")
