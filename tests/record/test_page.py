"""The page on recording says what is so."""

import json
import re
from pathlib import Path

import pytest

from stemcache.record.proxy.client import _HEAD_BYTES
from stemcache.record.record import Keep, line_of
from stemcache.record.recorder import MOST_QUEUED
from stemcache.record.scope import ScopeKey
from tests.record.made import exchange

PAGE = (Path(__file__).parents[2] / "docs" / "record.md").read_text(encoding="utf-8")


def test_the_page_names_every_field() -> None:
    """Of a record, in the order of the form."""
    line = line_of(exchange(), ScopeKey(b"k" * 32), Keep())
    assert line is not None
    table = PAGE.split("| field | |")[1].split("\n\n")[0]
    named = [
        name
        for row in table.splitlines()
        for name in re.findall(r"`(\w+)`", row.partition("|")[2].partition("|")[0])
    ]
    assert named == [*json.loads(line.data), "redacted"]


def test_the_page_names_the_bounds() -> None:
    """As the code has them."""
    assert f"up to {MOST_QUEUED:,} wait" in PAGE
    assert _HEAD_BYTES == 64 * 1024


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against nobody: what is made is made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    first, second = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)  # the page's own code
    assert (tmp_path / "calls.jsonl").exists()
    compile(second, "record.md", "exec")
