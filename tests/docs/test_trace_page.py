"""The Python on the page about traces, run as it stands."""

import gzip
from pathlib import Path

import pytest

from stemcache.trace.bailian import _REMEMBERED_CHATS
from stemcache.trace.lines import MAX_LINE_BYTES
from tests.docs.test_snippets import run, snippets
from tests.trace.traces import DATA, read


def test_the_pages_python_anonymises_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says what it read, and what it skipped."""
    raw = (DATA / "bodies.jsonl").read_bytes() + b"{\n"
    (tmp_path / "bodies.jsonl.gz").write_bytes(gzip.compress(raw))
    monkeypatch.chdir(tmp_path)
    (code,) = snippets("docs/trace.md")

    lines = run(code, "", {})

    assert lines == ["bodies 3 1 [Problem(line=4, reason='the JSON ends early')]"]
    assert [one.prompt_tokens for one in read(tmp_path / "shared.jsonl.gz")] == [
        one.prompt_tokens for one in read(DATA / "bodies.jsonl")
    ]


def test_the_page_names_every_limit_as_it_is() -> None:
    """Numbers in the text are those of the code."""
    page = (Path(__file__).parents[2] / "docs" / "trace.md").read_text(encoding="utf-8")
    assert f"{_REMEMBERED_CHATS:,} chats" in page
    assert f"beyond {MAX_LINE_BYTES // 2**20} MiB" in page
