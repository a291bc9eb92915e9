"""All rules, found where they are: each module of `rules/` that has a `RULE`."""

import pkgutil
from functools import cache
from importlib import import_module

from stemcache.errors import UsageError, unknown_choice
from stemcache.lint import rules as package
from stemcache.lint.rule import LintRule

__all__ = ["find", "rules"]


@cache
def rules() -> tuple[LintRule, ...]:
    """Sorted by code. The first call imports the modules of all rules."""
    found: list[LintRule] = []
    for module in pkgutil.iter_modules(package.__path__):
        rule = getattr(import_module(f"{package.__name__}.{module.name}"), "RULE", None)
        if isinstance(rule, LintRule):
            found.append(rule)
    found.sort(key=lambda rule: rule.code)
    for name, values in (
        ("code", [rule.code for rule in found]),
        ("name", [rule.name for rule in found]),
    ):
        assert len(set(values)) == len(values), f"two rules have one {name}: {sorted(values)}"
    return tuple(found)


def find(code_or_name: str, *, source: str = "the command line") -> LintRule:
    """The rule of that code or name, in any case. Raises UsageError with the nearest of them."""
    wanted = code_or_name.strip().lower()
    for rule in rules():
        if wanted in {rule.code.lower(), rule.name}:
            return rule
    coded = wanted.startswith("stm")
    choices = [rule.code if coded else rule.name for rule in rules()]
    raise UsageError(unknown_choice("rule", wanted.upper() if coded else wanted, source, choices))
