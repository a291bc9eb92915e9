"""The page on request logs names every format, field and limit as it is."""

import re
from pathlib import Path

from stemcache.trace.calls.detect import CALL_FORMATS
from stemcache.trace.calls.envelope import _REQUESTS
from stemcache.trace.calls.formats.claude_code import MAX_LINES
from stemcache.trace.calls.formats.codex import MAX_ITEMS
from stemcache.trace.calls.formats.mapped import MAPPED_FIELDS
from stemcache.trace.calls.records import MAX_DOCUMENT_BYTES
from stemcache.trace.lines import MAX_LINE_BYTES

PAGE = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")


def _rows(heading: str) -> list[str]:
    """First cells of the table below a heading."""
    section = PAGE.split(f"\n## {heading}", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| ((?:`[^`]+`(?:, )?)+) \|", section, re.MULTILINE)


def test_every_format_is_in_the_table() -> None:
    """With its best fidelity, in the words of the code."""
    assert {row.strip("`") for row in _rows("Formats")} == {*CALL_FORMATS, "mapped"}
    for name, found in CALL_FORMATS.items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", PAGE, re.MULTILINE)
        assert found.fidelity.value in row


def test_every_field_of_a_mapping_is_in_the_table() -> None:
    """And no other."""
    named = re.findall(r"`([^`]+)`", " ".join(_rows("Any JSONL")))
    assert sorted(named) == list(MAPPED_FIELDS)


def test_limits_and_names_are_those_of_the_code() -> None:
    """Bounds and names of wrappers are as the page says."""
    assert f"up to {MAX_LINE_BYTES // 2**20} MiB; longer" in PAGE
    assert f"up to {MAX_DOCUMENT_BYTES // 2**20} MiB of text" in PAGE
    assert f"more than {MAX_LINES:,} lines" in PAGE
    assert MAX_ITEMS == MAX_LINES
    assert all(f"`{name}`" in PAGE for name in _REQUESTS)
