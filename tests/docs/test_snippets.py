"""The Python in README and tutorial, run as it stands."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.live_server import LiveServer, serve

ROOT = Path(__file__).parents[2]


def snippets(page: str) -> list[str]:
    """The Python blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(code: str, url: str, names: dict[str, Any]) -> list[str]:
    """What a snippet prints, against the server at `url`."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code.replace("http://127.0.0.1:8000", url), names)  # the page's own code
    return out.getvalue().splitlines()


@pytest.fixture(scope="module")
def served(smollm2_dir: Path) -> Iterator[LiveServer]:
    """The embedded model, as `scripts/serve` starts it."""
    with serve("--model", str(smollm2_dir)) as server:
        yield server


@pytest.fixture
def real(served: LiveServer) -> LiveServer:
    """With an empty cache, as the pages use one prompt, whichever test comes first."""
    httpx.post(f"{served.url}/reset_prefix_cache", timeout=60).raise_for_status()
    return served


@pytest.mark.real
def test_the_readme_shows_a_prefix_reused(real: LiveServer) -> None:
    """Its two calls print prompt and cached tokens: none, then all but the question."""
    code = snippets("README.md")[0]
    names: dict[str, Any] = {}

    lines = [list(map(int, line.split())) for line in run(code, real.url, names)]
    names["client"].close()

    (first_prompt, first_cached), (prompt, cached) = lines
    assert first_cached == 0
    assert first_prompt > 1990
    assert cached >= 1984
    assert prompt - cached < 48


def test_the_readme_marks_what_is_shared() -> None:
    """Of the system prompt, the rules, and not the customer."""
    code = snippets("README.md")[1]

    (line,) = run(code, "", {})

    assert line == "[{'type': 'ephemeral', 'ttl': '1h'}, None]"


@pytest.mark.real
def test_the_tutorial_keeps_its_promises(real: LiveServer) -> None:
    """Warm after cold, cold again behind a changed beginning, and apart for each tenant."""
    shared, broken, tenants = snippets("docs/tutorial.md")[:3]
    names: dict[str, Any] = {}

    def pairs(code: str) -> list[tuple[int, int]]:
        lines = run(code, real.url, names)
        return [(int(a), int(b)) for a, b in (line.strip("()").split(", ") for line in lines)]

    first, second = pairs(shared)
    (clock,) = pairs(broken)
    cold, warm, other = pairs(tenants)
    names["client"].close()

    assert second[0] > 0.9 * second[1]
    assert first[1] == second[1] or first[0] <= second[0]
    assert clock[0] < 0.1 * clock[1]
    assert cold[0] == other[0] == 0
    assert warm[0] > 0.9 * warm[1]


def test_the_tutorials_index_example_prints_what_it_says() -> None:
    """Twelve blocks match, and their values are the first twelve."""
    code = snippets("docs/tutorial.md")[-1]

    lines = run(code, "", {})

    assert lines == ["Match(blocks=12, tokens=48, pinned=0)", str(list(range(12)))]
