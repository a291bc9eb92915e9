"""The page on providers says what the shipped data says."""

import math
from pathlib import Path

import pytest

from stemcache.provider.book import load_book
from stemcache.provider.rule import Rule, Ttl

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"
BOOK = load_book()


def row(rule: Rule) -> str:
    """One line of the page's table."""
    least = rule.minimum_tokens
    figures = {
        model: BOOK.rule(rule.name, model).minimum_tokens.likely for model in MODELS[rule.provider]
    }
    minimum = f"{least.low:,} to {least.high:,}" if least.contested else f"{least.low:,}"
    if len(set(figures.values())) > 1:
        minimum += ", by model"
    lives = ", ".join(lifetime(ttl) for ttl in rule.ttls) or "not stated"
    writes = ", ".join(
        f"{factor:g}" + (f" ({ttl})" if ttl else "") for ttl, factor in rule.write_factor.items()
    )
    promise = "yes" if rule.guaranteed else "no"
    return (
        f"| `{rule.name}` | {rule.kind} | {' → '.join(rule.order)} | {minimum} | {lives} "
        f"| {writes} | {rule.read_factor:g} | {promise} |"
    )


def lifetime(ttl: Ttl) -> str:
    """`5m`, or from when to when."""
    if ttl.low_s == ttl.high_s:
        return ttl.name or spelt(ttl.low_s)
    name = f"{ttl.name}: " if ttl.name else ""
    if ttl.high_s == math.inf:
        return f"{name}at least {spelt(ttl.low_s)}"
    return f"{name}{spelt(ttl.low_s)} to {spelt(ttl.high_s)}"


def spelt(seconds: float) -> str:
    """Minutes below an hour, hours below two days, days else."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length and (unit != "d" or seconds > 2 * length):
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g}"


MODELS: dict[str, tuple[str, ...]] = dict.fromkeys(BOOK.identities, ())
for provider in ("anthropic", "bedrock", "vertex", "azure", "openrouter"):
    MODELS[provider] = ("claude-opus-5", "claude-haiku-4-5")
MODELS["gemini"] = ("gemini-2.5-pro", "gemini-4-argon")


@pytest.mark.parametrize("name", sorted(BOOK.rules))
def test_the_page_has_the_figures_of_each_rule(name: str) -> None:
    """A changed figure changes the page, or this fails with the line that belongs there."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert row(BOOK.rules[name]) in lines


def test_the_page_names_every_source() -> None:
    """Whoever doubts a figure finds where it is from."""
    text = PAGE.read_text(encoding="utf-8")
    for file in BOOK.files:
        for source in file.sources:
            assert source.text in text, file.name


def test_the_page_says_what_is_contested() -> None:
    """Every note of a rule stands on it."""
    text = PAGE.read_text(encoding="utf-8")
    for rule in BOOK.rules.values():
        for note in rule.notes:
            assert note in text, rule.name
