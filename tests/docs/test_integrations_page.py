"""What the page on integrations shows is what happens."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.integrations.asked import KEY
from tests.integrations.fake_models import fake_models
from tests.lint.logs import prose

PAGE = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
CALLS = """
for number in range(4):
    client.chat.completions.create(
        model="gpt-5.5",
        messages=[
            {"role": "system", "content": f"It is 2026-11-30T09:0{number}:07Z. {RULES}"},
            {"role": "user", "content": f"Question {number}"},
        ],
    )
"""


def blocks(kind: str) -> list[str]:
    """The page's blocks of a kind."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_example_prints_what_the_page_says(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its summary, line by line, and the warning that is logged."""
    code = blocks("python")[0].replace("...\n", CALLS)
    out = io.StringIO()
    with fake_models() as models:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{models.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        names = {"RULES": f"You are an assistant.\n{prose(3_000)}"}
        with contextlib.redirect_stdout(out):
            exec(code, names)
        names["watch"](names["client"]).unwatch()  # type: ignore[operator]
        names["client"].close()  # type: ignore[attr-defined]
    warning, summary, *_ = blocks("text")
    assert out.getvalue().split() == summary.split()
    (said,) = [one.getMessage() for one in caplog.records if one.name == "stemcache.live"]
    assert said.split() == warning.split()


def test_every_module_that_the_page_names_is_there() -> None:
    """And has the name that is imported from it."""
    root = Path(__file__).parents[2] / "src"
    for module, name in re.findall(r"from (stemcache\.[\w.]+) import (\w+)", PAGE):
        text = (root / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert f'"{name}"' in text
