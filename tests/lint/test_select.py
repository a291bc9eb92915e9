from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import pytest

from stemcache.errors import UsageError
from stemcache.lint import select as module
from stemcache.lint.options import Options
from stemcache.lint.select import check_selectors, selected, wanted
from tests.lint.reports import CLOCK, RULE, SIMPLE, finding

CODES = {"STM101": "clock-in-prefix", "STM102": "injected-id", "STM201": "tool-order"}


@pytest.fixture(autouse=True)
def three_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue of three."""
    three = tuple(replace(RULE, code=code, name=name) for code, name in CODES.items())
    monkeypatch.setattr(module, "rules", lambda: three)
    return iter(())


def shown(select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> list[str]:
    """Codes of the rules that are wanted."""
    return [
        code for code, name in CODES.items() if wanted(code, name, select=select, ignore=ignore)
    ]


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        ((), (), ["STM101", "STM102", "STM201"]),
        (("STM1",), (), ["STM101", "STM102"]),
        (("tool-order",), (), ["STM201"]),
        (("STM1", "tool-order"), ("STM102",), ["STM101", "STM201"]),
        (("STM101",), ("STM1",), ["STM101"]),
        (("clock-in-prefix",), ("STM1",), ["STM101"]),
        (("STM1",), ("STM1",), []),
        (("ALL",), ("STM",), []),
        (("ALL",), ("ALL",), []),
        ((), ("ALL",), []),
        (("STM201",), ("ALL",), ["STM201"]),
        ((), ("injected-id",), ["STM101", "STM201"]),
    ],
)
def test_what_is_named_more_exactly_wins(
    select: tuple[str, ...], ignore: tuple[str, ...], codes: list[str]
) -> None:
    """And ignoring wins between equals."""
    assert shown(select, ignore) == codes


def test_a_route_ignores_for_itself() -> None:
    """Other routes, and calls without one, are as they were."""
    routes = {"support-bot": ("STM1",)}
    options = Options(today=date(2026, 11, 30), route_ignores=routes)
    report = replace(SIMPLE, findings=(CLOCK, replace(CLOCK, route=None), finding()))
    left = selected(report, options)
    assert [(each.code, each.route) for each in left.findings] == [
        ("STM101", None),
        ("STM405", None),
    ]
    assert left.total == report.total


def test_selectors_are_written_in_any_case() -> None:
    """They come back as rules are named."""
    written = ("stm1", "Tool-Order", " all ", "STM101")
    assert check_selectors(written, source="--select") == ("STM1", "tool-order", "ALL", "STM101")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("STM110", "unknown rule 'STM110' from --select; did you mean 'STM102'? (STM101, "),
        ("tool-oder", "unknown rule 'tool-oder' from --select; did you mean 'tool-order'?"),
        ("S", "unknown rule 'S' from --select; (clock-in-prefix, injected-id, tool-order)"),
        ("", "unknown rule '' from --select;"),
    ],
)
def test_a_selector_that_no_rule_answers_to_is_refused(selector: str, message: str) -> None:
    """With the nearest one."""
    with pytest.raises(UsageError) as error:
        check_selectors([selector], source="--select")
    assert message in str(error.value)
