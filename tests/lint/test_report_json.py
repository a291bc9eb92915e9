import json
import math
from dataclasses import fields, replace
from pathlib import Path

import pytest

from stemcache.lint.finding import Reconciliation, Report, Total
from stemcache.lint.report_json import as_json, render
from tests.lint.reports import AWKWARD, CLEAN, EVIL_FILE, SECRET, SIMPLE, finding

DOCS = Path(__file__).parents[2] / "docs" / "lint.md"
REPORTS = [SIMPLE, AWKWARD, CLEAN]


def test_a_finding_has_the_names_that_were_promised() -> None:
    """All of them, whatever is known."""
    for report in REPORTS:
        told = as_json(report)
        assert list(told) == ["version", "findings", "total", "reconciliation", "remarks"]
        assert told["version"] == 1
        for found in told["findings"]:
            assert list(found) == [
                "code",
                "name",
                "kind",
                "severity",
                "message",
                "location",
                "count",
                "lost_tokens",
                "cost_usd",
                "help",
                "share",
                "route",
                "rule",
                "needs",
                "fingerprint",
                "examples",
            ]
            assert list(found["location"]) == ["file", "line", "pointer", "char"]
            assert found["fingerprint"]


def test_the_total_has_rates_beside_its_figures() -> None:
    """Every figure of the report by its own name."""
    total = as_json(SIMPLE)["total"]
    names = {each.name for each in fields(Total)}
    assert set(total) == {*names, "hit_rate", "attainable_hit_rate", "baselined"}
    assert total["hit_rate"] == 0.0
    assert total["attainable_hit_rate"] == 199_900_000 / 200_400_000
    assert as_json(AWKWARD)["total"]["baselined"] == 2
    told = as_json(AWKWARD)["reconciliation"]
    assert set(told) == {each.name for each in fields(Reconciliation)}


def test_what_is_not_known_is_null() -> None:
    """So is what is no number, for JSON has no name for it."""
    report = replace(
        CLEAN,
        findings=(finding(cost_usd=math.inf, share=math.nan),),
        total=Total(span_s=math.nan),
    )
    told = as_json(report)
    found = told["findings"][0]
    assert [found[name] for name in ("cost_usd", "share", "route", "rule")] == [None] * 4
    assert found["location"]["char"] is None
    assert told["total"]["span_s"] is None
    assert told["total"]["hit_rate"] is None


def test_every_reader_of_json_can_read_it() -> None:
    """Names that are not UTF-8 stand there as escapes; nothing but ASCII is printed."""
    text = "\n".join(render(AWKWARD))
    assert text.isascii()
    assert "NaN" not in text
    assert "Infinity" not in text
    file = json.loads(text)["findings"][0]["location"]["file"]
    assert file == EVIL_FILE.replace("\udcff", "\\udcff")
    told = json.loads("\n".join(render(SIMPLE)))
    assert told == as_json(SIMPLE)


@pytest.mark.parametrize("report", REPORTS)
def test_texts_are_there_only_when_asked_for(report: Report) -> None:
    """By names of their own."""
    assert SECRET not in "\n".join(render(report))
    for found in as_json(report, show_text=True)["findings"]:
        for example in found["examples"]:
            assert {"old_text", "new_text"} <= set(example)
    for found in as_json(report)["findings"]:
        for example in found["examples"]:
            assert list(example) == ["location", "parent", "lost_tokens", "cost_usd", "old", "new"]


def test_every_name_is_in_the_documentation() -> None:
    """Of findings, totals and reconciliation."""
    page = DOCS.read_text(encoding="utf-8")
    told = as_json(SIMPLE, show_text=True)
    names = {*told, *told["findings"][0], *told["findings"][0]["examples"][0]}
    names |= {*told["total"], *told["reconciliation"]}
    assert {name for name in names if f"`{name}`" not in page} == set()
