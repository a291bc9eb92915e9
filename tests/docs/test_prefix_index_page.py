"""The page on the prefix index: its example runs, and its tables are what was measured."""

import doctest
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stemcache.core.hash_index import HashIndex
from stemcache.core.radix_index import RadixIndex

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design" / "prefix_index.md"
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def text() -> str:
    """The page."""
    return PAGE.read_text(encoding="utf-8")


def report() -> dict[str, Any]:
    """The measurements that the page quotes."""
    path = ROOT / "benchmarks" / "index" / "results.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def table_module() -> ModuleType:
    """`benchmarks/index/table.py`, wherever tests are started from."""
    path = ROOT / "benchmarks" / "index" / "table.py"
    spec = importlib.util.spec_from_file_location("index_tables", path)
    assert spec and spec.loader, f"{path} cannot be loaded"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("form", [HashIndex, RadixIndex])
def test_the_worked_example_is_true_of_both_forms(form: type) -> None:
    """Every line of the example gives what the page says, in the order of the page."""
    blocks = BLOCK.findall(text())
    example = doctest.DocTestParser().get_doctest(
        "\n".join(blocks), {"form": form}, f"prefix_index.md with {form.__name__}", str(PAGE), 0
    )
    said: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(example, out=said.append)

    assert len(blocks) >= 6
    assert len(example.examples) == outcome.attempted >= 20
    assert "" == "".join(said)


def test_quoted_tables_are_those_of_the_last_measurement() -> None:
    """Renewing the page from results.json changes nothing."""
    made = table_module()

    assert text() == made.quote(text(), made.tables(report()))


def test_every_table_is_quoted() -> None:
    """What is measured is shown."""
    made = table_module()

    assert sorted(made.tables(report())) == sorted(
        found[2] for found in made.QUOTED.finditer(text())
    )


def test_a_hundred_thousand_tokens_are_keyed_in_ten_milliseconds() -> None:
    """The measurement that the page quotes keeps the bound that was set."""
    keying = report()["keying"]

    assert (100_000, 16) == (keying["tokens"], keying["block_size"])
    assert keying["timings"]["stem_keys"]["median_ms"] <= 10.0
