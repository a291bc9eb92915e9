"""Files of rules and prices: what junk in them does, and that the shipped ones are whole."""

import tomllib
from contextlib import suppress
from importlib import resources
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.errors import UsageError
from stemcache.provider.book import Book
from stemcache.provider.book_files import read_mapping, shipped_files

KEYS = [
    "rule", "price", "factor", "source", "alias", "provider", "seen", "name", "like", "kind",
    "order", "minimum", "unit", "ttl", "look_back", "write_factor", "read_factor", "key", "model",
    "models", "pointers", "section", "src", "value", "low", "high", "likely", "s", "low_s",
    "input", "output", "read", "write", "anthropic", "openai", "above_tokens", "text", "hosts",
    "notes", "equal_to_absent", "explicit", "keeps_answer", "price_src",
]  # fmt: skip
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.sampled_from(["tools", "system", "messages", "units", "tier", "anthropic", "/x", "", "5m"])
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=15,
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=4))
def test_junk_is_a_usage_error_or_is_taken(values: dict[str, Any]) -> None:
    """No table of a user's leads to another error than one that says what to mend."""
    with suppress(UsageError):
        Book((*SHIPPED, read_mapping(values, "mine.toml")))


SHIPPED = shipped_files()


def test_shipped_files_are_in_order_and_checked() -> None:
    """All of `rules/` by name, then all of `prices/`, each with the day it was checked."""
    names = [file.name for file in SHIPPED]
    assert names == sorted(names, key=lambda name: (not name.startswith("rules/"), name))
    assert len(names) == 30
    assert all(file.seen is not None for file in SHIPPED)
    assert all(file.sources for file in SHIPPED)


def test_every_source_that_is_given_is_used() -> None:
    """A source that no figure names is left over from something."""
    root = resources.files("stemcache.provider")
    for folder in ("rules", "prices"):
        for entry in root.joinpath(folder).iterdir():
            if not entry.name.endswith(".toml"):
                continue
            text = entry.read_text(encoding="utf-8")
            for name in tomllib.loads(text).get("source", {}):
                assert f'"{name}"' in text, f"{entry.name}: {name}"


def test_a_price_of_zero_for_writes_is_not_listed() -> None:
    """Maps write 0 where writes are billed as input; that is no free write."""
    for file in SHIPPED:
        for price in file.prices.values():
            assert all(
                usd >= price.input_usd_per_mtok for usd in price.write_usd_per_mtok.values()
            ), price.model
            read = price.read_usd_per_mtok
            assert read is None or read <= price.input_usd_per_mtok


@pytest.mark.parametrize(
    ("model", "input_usd", "read", "write", "output"),
    [
        ("claude-opus-5-5", 4.0, 0.2, {"5m": 5.0, "1h": 8.0}, 20.0),
        ("claude-fable-5-1", 10.0, 0.25, {"5m": 12.5, "1h": 20.0}, 50.0),
        ("gpt-6-astra", 10.0, 1.0, {"30m": 12.5, "12h": 25.0}, 50.0),
        ("gpt-5.5", 5.0, 0.5, {}, 30.0),
        ("gemini-4-argon", 2.0, 0.1, {}, 10.0),
        ("deepseek-v4-flash", 0.3, 0.006, {}, 1.2),
        ("kimi-k3.1-pro", 2.0, 0.2, {"5m": 2.0, "1h": 4.0}, 10.0),
        ("minimax-m2", 0.3, 0.03, {"": 0.375}, 1.2),
        ("glm-5.3", 1.4, 0.26, {}, 4.4),
    ],
)
def test_shipped_prices_are_those_of_the_sources(
    model: str, input_usd: float, read: float, write: dict[str, float], output: float
) -> None:
    """A sample of each provider's, all four figures."""
    (price,) = (
        price
        for file in SHIPPED
        for (provider, name), price in file.prices.items()
        if name == model and provider != "qwen"
    )
    assert price.input_usd_per_mtok == input_usd
    assert price.read_usd_per_mtok == read
    assert dict(price.write_usd_per_mtok) == write
    assert price.output_usd_per_mtok == output
