import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from stemcache.errors import UsageError
from stemcache.replay.page import Section, Table, check_extra, make_page
from tests.replay.made import outcome
from tests.replay.test_compare import report

pytest.importorskip("matplotlib")

from stemcache.replay.html import report_page


def test_a_page_needs_nothing_else() -> None:
    """No script, no address to load from, each figure in the page."""
    made = report([outcome(n, due=n / 10, cached=n % 10, tenant="t") for n in range(40)])
    page = report_page(made)
    assert page.count("<svg") == 4
    assert "<script" not in page
    loaded = re.findall(r"""(?:src|href)=["'](?!#|data:)[^"']*""", page)
    assert loaded == []
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(svg)


def test_the_same_report_gives_the_same_page() -> None:
    """No dates, no random ids."""
    made = report([outcome(n, due=n / 10) for n in range(10)])
    assert report_page(made) == report_page(made)


def test_many_requests_do_not_make_a_huge_page() -> None:
    """Dots become one picture."""
    made = report([outcome(n, due=n / 300, cached=n % 10) for n in range(5000)])
    assert len(report_page(made)) < 600_000


def test_a_run_without_answers_has_a_page_of_errors() -> None:
    """And a report without columns has one of tables."""
    page = report_page(report([outcome(0, ttft=None, error="http_500", detail="<b>it broke</b>")]))
    assert "&lt;b&gt;it broke&lt;/b&gt;" in page
    assert "<svg" not in page


def test_silent_targets_have_a_page_without_hit_rates() -> None:
    """Unknown is written out."""
    page = report_page(report([outcome(n, cached=None, prompt=None) for n in range(3)]))
    assert page.count("<svg") == 3
    assert "unknown" in page


def test_a_page_says_what_its_latencies_leave_out() -> None:
    """As the screen does."""
    page = report_page(report([outcome(0, ttft=None, e2e=2.0, error="timeout")]))
    assert "1 of 1 was given up after 2 s and is not in these rows" in page


def test_whatever_is_text_is_escaped() -> None:
    """A model's name is a stranger's."""
    page = make_page(
        "<t>",
        {"<n>": "<v>"},
        [Section(title="<h>", words=["<w>"], tables=[Table(["<a>"], [["<c>"]])])],
    )
    for letter in "tnvhwac":
        assert f"<{letter}>" not in page.replace("<a>", "<a>" if letter != "a" else "")
        assert f"&lt;{letter}&gt;" in page


def test_a_missing_extra_is_told_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before the run begins."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "jinja2", raising=False)
    with pytest.raises(UsageError) as caught:
        check_extra()
    assert str(caught.value) == (
        "--html needs jinja2, which is not installed; run: pip install 'stemcache[report]'"
    )
