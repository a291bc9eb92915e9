"""Which findings are wanted: codes, beginnings of codes, and names.

```
--select STM1,tool-order --ignore STM104       STM101 … STM106 without STM104, and STM201
```
What is named more exactly wins: `--select STM101 --ignore STM1` keeps STM101. Between equals,
ignoring wins. A cause is looked for whether its rule is wanted or not, so that its tokens are not
charged to another.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from stemcache.errors import UsageError, unknown_choice
from stemcache.lint.catalogue import rules
from stemcache.lint.finding import Report
from stemcache.lint.options import Options

__all__ = ["check_selectors", "selected", "wanted"]

_ALL = "ALL"


def check_selectors(selectors: Iterable[str], *, source: str) -> tuple[str, ...]:
    """The selectors as rules are named: codes in upper case, names in lower.

    Raises UsageError for one that no rule answers to.
    """
    return tuple(_checked(selector.strip(), source) for selector in selectors)


def _checked(selector: str, source: str) -> str:
    code, name = selector.upper(), selector.lower()
    if code == _ALL:
        return _ALL
    known = rules()
    if any(rule.name == name for rule in known):
        return name
    if code.startswith("STM") and any(rule.code.startswith(code) for rule in known):
        return code
    choices = [rule.code if code.startswith("STM") else rule.name for rule in known]
    raise UsageError(unknown_choice("rule", selector, source, choices))


def wanted(
    code: str,
    name: str,
    *,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    route: str | None = None,
    route_ignores: Mapping[str, tuple[str, ...]] | None = None,
) -> bool:
    """Whether findings of a rule are to be shown, in calls of a route."""
    if route is not None and route_ignores:
        ignore = (*ignore, *route_ignores.get(route, ()))
    chosen = _reach(code, name, select) if select else 0
    ignored = _reach(code, name, ignore)
    return chosen is not None and (ignored is None or ignored < chosen)


def _reach(code: str, name: str, selectors: tuple[str, ...]) -> int | None:
    """How exactly the nearest selector names the rule, at least 0; None where none does."""
    found = [
        0 if selector == _ALL else len(code) if selector == name else len(selector)
        for selector in selectors
        if selector in {_ALL, name} or code.startswith(selector)
    ]
    return max(found, default=None)


def selected(report: Report, options: Options) -> Report:
    """The report with the wanted findings only. Totals stay those of the whole log."""
    kept = tuple(
        finding
        for finding in report.findings
        if wanted(
            finding.code,
            finding.name,
            select=options.select,
            ignore=options.ignore,
            route=finding.route,
            route_ignores=options.route_ignores,
        )
    )
    return replace(report, findings=kept)
