import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stemcache.errors import UsageError
from stemcache.lint import catalogue
from stemcache.lint import rules as package
from stemcache.lint.catalogue import find, rules
from stemcache.lint.rule import LintRule

MODULE = """
from stemcache.lint.rule import LintRule
RULE = LintRule(code="{code}", name="{name}", kind="k", summary="s", help="h", page="p")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of rules in a folder of its own."""
    before = set(sys.modules)
    monkeypatch.setattr(package, "__path__", [str(tmp_path)])
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
        vars(package).pop(name.rpartition(".")[2], None)


def collected() -> tuple[LintRule, ...]:
    """What is found in the folder, past what is remembered."""
    return catalogue.rules.__wrapped__()


def test_every_module_with_a_rule_is_found(folder: Path) -> None:
    """By code, whatever the modules are called; what has none is passed over."""
    (folder / "zz_first.py").write_text(MODULE.format(code="STM101", name="one"))
    (folder / "aa_second.py").write_text(MODULE.format(code="STM202", name="two"))
    (folder / "zz_helper.py").write_text("RULE = 3\n")
    assert [(rule.code, rule.name) for rule in collected()] == [
        ("STM101", "one"),
        ("STM202", "two"),
    ]


@pytest.mark.parametrize(
    ("code", "name", "message"),
    [("STM101", "two", "two rules have one code"), ("STM102", "one", "two rules have one name")],
)
def test_two_rules_are_told_apart(folder: Path, code: str, name: str, message: str) -> None:
    """By code and by name."""
    (folder / "zz_a.py").write_text(MODULE.format(code="STM101", name="one"))
    (folder / "zz_b.py").write_text(MODULE.format(code=code, name=name))
    with pytest.raises(AssertionError, match=message):
        collected()


def test_rules_are_in_order_and_complete() -> None:
    """Each has a summary on one line, a help and a page with a first sentence."""
    codes = [rule.code for rule in rules()]
    assert codes == sorted(codes)
    for rule in rules():
        assert "\n" not in rule.summary
        assert rule.help
        assert rule.page.strip()


def test_a_rule_is_found_by_code_and_name() -> None:
    """In any case."""
    assert find("stm101") is find("Clock-In-Prefix")
    assert find(" STM201 ").name == "tool-order"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("STM1011", "unknown rule 'STM1011' from the command line; did you mean 'STM101'? (STM1"),
        ("clock-in-prefx", "did you mean 'clock-in-prefix'? ("),
    ],
)
def test_a_rule_that_there_is_not_is_refused(wanted: str, message: str) -> None:
    """With the nearest, and with all of that kind."""
    with pytest.raises(UsageError) as error:
        find(wanted)
    assert message in str(error.value)
