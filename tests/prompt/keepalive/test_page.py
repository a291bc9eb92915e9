"""The pages on keep-alive and compaction: their code is run, their tables are those measured."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compaction.table import QUOTED, RESULTS, quote, tables
from stemcache.prompt.keepalive import budget as keepalive_budget

ROOT = Path(__file__).parents[3]
PAGES = ("keepalive.md", "compaction.md")
REPORT = json.loads(RESULTS.read_text(encoding="utf-8"))
_RUN = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_prints_what_it_shows(page: str) -> None:
    """Block after block, in one namespace."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = _RUN.findall(text)
    assert len(blocks) >= 2
    names: dict[str, Any] = {}
    for code, shown in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)  # the page's own code
        assert out.getvalue() == shown


@pytest.mark.parametrize("page", PAGES)
def test_a_page_quotes_what_was_measured(page: str) -> None:
    """`python -m benchmarks.compaction.table --write` renews it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert QUOTED.search(text)
    assert quote(text, tables(REPORT)) == text


def test_no_planner_with_a_ledger_loses_more_than_its_share() -> None:
    """In all, and in each session where the ledger is the session's own."""
    share = keepalive_budget.Ledger().share
    for part in ("keepalive", "histories"):
        rows = [row for scene in REPORT[part] for row in scene["rows"] if "1%" in row["name"]]
        assert len(rows) >= 8
        for row in rows:
            assert row["beside_nothing"] <= share
            if "a session" in row["name"]:
                assert row["worst_session"] <= share


def test_watermarks_cost_less_than_windows_that_retain_as_much() -> None:
    """For every model and every pair of marks."""
    for scene in REPORT["histories"]:
        rows = [row for row in scene["rows"] if row["name"] in {"watermark", "rolling"}]
        for marks, rolling in zip(rows[::2], rows[1::2], strict=True):
            assert rolling["retained_tokens"] == pytest.approx(marks["retained_tokens"], rel=0.02)
            assert marks["usd"] < rolling["usd"]
            assert marks["hit_rate"] > rolling["hit_rate"]
