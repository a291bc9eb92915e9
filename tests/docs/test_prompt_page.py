"""The guide to `stemcache.prompt`: its code runs, its excerpts and figures are true."""

import contextlib
import io
import json
import re
from pathlib import Path, PurePath
from typing import Any

import pytest

from examples.agent.report import GUIDE, QUOTED, RESULTS, quote, quoted_tables
from stemcache.prompt.stability import Stability
from tests.server.live_server import serve

ROOT = Path(__file__).parents[2]
PAGE = GUIDE.read_text(encoding="utf-8")
_RUN = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
_EXCERPT = re.compile(r"```py\n# (\S+)\n(.*?)```", re.DOTALL)
_LATER = frozenset({"integrations.md", "pytest.md"})
"""Pages that other parts of the library bring along."""


def printed(code: str, names: dict[str, Any]) -> str:
    """What a snippet prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)  # the page's own code
    return out.getvalue()


def test_the_code_prints_what_is_shown() -> None:
    """Block after block, in one namespace; the last asks a server."""
    blocks = _RUN.findall(PAGE)
    assert len(blocks) == 11
    names: dict[str, Any] = {}
    for code, shown in blocks[:-1]:
        assert printed(code, names) == shown

    code, shown = blocks[-1]
    assert not shown, "what a server says depends on its model"
    with serve("--kv-memory", "4MiB") as server:
        lines = printed(code.replace("http://127.0.0.1:8000", server.url), names).splitlines()
    (first, cold), (second, cached) = (map(int, line.split()) for line in lines)
    assert cold == 0
    assert first - 48 < cached < first < second


def test_excerpts_are_what_the_example_says() -> None:
    """Word for word, so that a reader finds them there."""
    excerpts = _EXCERPT.findall(PAGE)
    assert len(excerpts) == 6
    for file, text in excerpts:
        assert text in (ROOT / file).read_text(encoding="utf-8")


def test_the_page_quotes_what_was_measured() -> None:
    """`python -m examples.agent.compare --write` renews it."""
    tables = quoted_tables(json.loads(RESULTS.read_text(encoding="utf-8")))

    assert {found[2] for found in QUOTED.finditer(PAGE)} == set(tables)
    assert quote(PAGE, tables) == PAGE


def test_measured_agents_reach_what_is_attainable() -> None:
    """From next to nothing to more than 95%, on the endpoint and under every rule."""
    figures = json.loads(RESULTS.read_text(encoding="utf-8"))
    served = figures["endpoint"]
    places = [(served["attainable"], served["agents"], "cached_tokens")]
    places += [
        (one["attainable"], one["agents"], "read_tokens") for one in figures["rules"].values()
    ]
    for attainable, agents, read in places:
        share = {
            name: agent[read] / agent["prompt_tokens"] / attainable
            for name, agent in agents.items()
        }
        assert share["naive"] < 0.05
        assert 0.95 < share["cacheable"] <= 1.0


@pytest.mark.parametrize("stability", Stability)
def test_every_stability_is_in_the_table(stability: Stability) -> None:
    """By the name of the function that declares it."""
    assert f"| `{stability}` |" in PAGE


def test_relative_links_lead_somewhere() -> None:
    """From the page's own directory."""
    links = set(re.findall(r"\]\(([^)#:]+)\)", PAGE))
    assert "prefix.md" in links
    for link in links - _LATER:
        assert (ROOT / PurePath("docs") / link).exists(), link
