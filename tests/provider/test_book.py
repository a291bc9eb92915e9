"""The book as a whole: prices by name, a user's files on top, age."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.provider.book import Book, load_book

BOOK = load_book()


def listed(provider: str, model: str, book: Book = BOOK) -> tuple[float, float | None] | None:
    """Input and output of the list."""
    price = book.price(provider, model)
    return None if price is None else (price.input_usd_per_mtok, price.output_usd_per_mtok)


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "claude-opus-5", (5.0, 25.0)),
        ("anthropic", "claude-opus-5-5", (4.0, 20.0)),
        ("anthropic", "claude-haiku-4-5-20251001", (1.0, 5.0)),
        ("anthropic", "claude-opus-4-8-20260701", (5.0, 25.0)),
        ("anthropic", "claude-opus-4-6[1m]", (5.0, 25.0)),
        ("anthropic", "claude-opus-4-20250514", (15.0, 75.0)),
        ("anthropic", "claude-3-5-haiku-20241022", (0.8, 4.0)),
        ("openai", "gpt-6.2-sol", (2.0, 10.0)),
        ("bedrock", "anthropic.claude-opus-4-1-20250805-v1:0", (15.0, 75.0)),
        ("bedrock", "us.anthropic.claude-sonnet-4-20250514-v1:0", (3.0, 15.0)),
        ("bedrock", "global.anthropic.claude-opus-5", (5.0, 25.0)),
        ("bedrock", "us.amazon.nova-pro-v1:0", (0.8, 3.2)),
        ("vertex", "claude-haiku-4-5@20251001", (1.0, 5.0)),
        ("vertex", "gemini-2.5-pro", (1.25, 10.0)),
        ("openai", "gpt-4o-2024-08-06", (2.5, 10.0)),
        ("openai", "gpt-5.5", (5.0, 30.0)),
        ("azure", "gpt-5.6-sol", (4.0, 20.0)),
        ("openrouter", "anthropic/claude-opus-4.5", (5.0, 25.0)),
        ("openrouter", "openai/gpt-5.5", (5.0, 30.0)),
        ("gemini", "models/gemini-3.8-flash", (0.75, 3.75)),
        ("deepseek", "deepseek-v4-pro", (1.32, 3.96)),
        ("xai", "grok-4.7", (2.0, 6.0)),
        ("moonshot", "kimi-k3", (3.0, 15.0)),
        ("qwen", "qwen3.7-max", (2.5, 7.5)),
        ("zhipu", "glm-5.3", (1.4, 4.4)),
        ("minimax", "MiniMax-M3", (0.3, 1.2)),
        # never a guess
        ("anthropic", "claude-opus-5-6", None),
        ("anthropic", "claude-opus", None),
        ("anthropic", "gpt-5.5", None),
        ("openai", "gpt-5.5-nano", None),
        ("openai", "ft:gpt-4o-2024-08-06:acme::x", None),
        ("bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12", None),
        ("vllm", "claude-opus-5", None),
        ("nobody", "claude-opus-5", None),
        ("anthropic", "", None),
    ],
)
def test_a_price_is_found_by_its_exact_name(
    provider: str, model: str, expected: tuple[float, float] | None
) -> None:
    """Dates, versions, vendors and paths are taken off; no other model's price is taken."""
    assert listed(provider, model) == expected


def test_a_geography_brings_its_factor() -> None:
    """The tenth on top holds for all rates, and is not put on again by the call's region."""
    price = BOOK.price("bedrock", "us.anthropic.claude-opus-5")
    assert price is not None
    assert price.input_usd_per_mtok == pytest.approx(5.5)
    assert price.read_usd_per_mtok == pytest.approx(0.55)
    assert dict(price.write_usd_per_mtok) == pytest.approx({"5m": 6.875, "1h": 11.0})
    again = price.at(region="us")
    assert again is not None
    assert again.input_usd_per_mtok == pytest.approx(5.5)


@pytest.mark.parametrize(
    ("provider", "model", "kwargs", "expected"),
    [
        ("anthropic", "claude-opus-5", {"tier": "batch"}, 2.5),
        ("anthropic", "claude-opus-5", {"tier": "fast"}, 10.0),
        ("anthropic", "claude-opus-5", {"tier": "priority"}, None),
        ("anthropic", "claude-opus-5", {"region": "us"}, 5.5),
        ("anthropic", "claude-opus-5", {"prompt_tokens": 900_000}, 5.0),
        ("openai", "gpt-5.5", {"tier": "priority"}, 12.5),
        ("openai", "gpt-5.4", {"prompt_tokens": 272_001}, 5.0),
        ("openai", "gpt-5.4", {"prompt_tokens": 272_000}, 2.5),
        ("openai", "gpt-6-sol", {"tier": "flex"}, None),
        ("openai", "gpt-5.5", {"tier": "flex"}, 2.5),
        ("azure", "gpt-5.5", {"tier": "flex"}, 2.5),
        ("anthropic", "claude-sonnet-4-5-20250929", {"prompt_tokens": 200_001}, 6.0),
        ("anthropic", "claude-sonnet-4-6", {"prompt_tokens": 200_001}, 3.0),
        ("gemini", "gemini-2.5-pro", {"prompt_tokens": 200_001}, 2.5),
        ("gemini", "gemini-2.5-pro", {"tier": "flex"}, 0.625),
        ("gemini", "gemini-2.5-pro", {"tier": "priority"}, None),
        ("vertex", "gemini-2.5-pro", {"prompt_tokens": 200_001}, 2.5),
        ("azure", "gpt-5.5", {"tier": "batch"}, None),
        ("bedrock", "anthropic.claude-opus-5", {"region": "us-east-1"}, 5.0),
    ],
)
def test_shipped_factors(
    provider: str, model: str, kwargs: dict[str, Any], expected: float | None
) -> None:
    """Tiers and regions are the seller's own, the step for long prompts comes with the list."""
    price = BOOK.price(provider, model)
    assert price is not None
    at = price.at(**kwargs)
    assert (None if at is None else at.input_usd_per_mtok) == expected


def test_every_shipped_price_has_a_source() -> None:
    """With a date, and so has every factor."""
    for file in BOOK.files:
        for price in file.prices.values():
            assert price.sources
            assert all(source.seen == "2026-11-30" for source in price.sources)
            assert price.output_usd_per_mtok is not None
        for entry in file.factors:
            assert entry.factor.sources


def test_an_unknown_rule_is_an_error() -> None:
    """With the nearest name."""
    with pytest.raises(UsageError, match="unknown rule 'antropic' from the caller; did you mean"):
        BOOK.rule("antropic")


def test_a_users_figure_wins_also_over_a_models_own() -> None:
    """An override of a rule's minimum holds for all models, and the rest stays."""
    book = load_book(overrides=[{"rule": [{"name": "anthropic", "minimum": 3000}]}])
    found = book.rule("anthropic", "claude-opus-5")
    assert found.minimum_tokens.likely == 3000
    assert found.minimum_tokens.sources[0].text == "stated in override 1"
    assert found.look_back == 20
    assert book.rule("anthropic", "claude-opus-5-5").read_factor == 0.05
    assert book.rule("vertex-anthropic", "claude-opus-5").minimum_tokens.likely == 3000


def test_a_users_model_table_holds_for_that_model_alone() -> None:
    """Other models keep their figures."""
    override = {
        "rule": [{"name": "anthropic", "model": [{"models": ["claude-opus-5"], "minimum": 700}]}]
    }
    book = load_book(overrides=[override])
    assert book.rule("anthropic", "claude-opus-5").minimum_tokens.likely == 700
    assert book.rule("anthropic", "claude-haiku-5-5").minimum_tokens.likely == 512


def test_a_users_own_rule_is_like_another() -> None:
    """A name of one's own, a known rule below it, chosen for models that it names."""
    override = {"rule": [{"name": "our-vllm", "like": "vllm", "unit": 528, "models": ["jamba-*"]}]}
    book = load_book(overrides=[override])
    assert book.rule("our-vllm").unit_tokens == 528
    chosen = book.rule_for("vllm", "jamba-large", marked=False)
    assert chosen is not None
    assert chosen.name == "our-vllm"
    other = book.rule_for("vllm", "llama", marked=False)
    assert other is not None
    assert other.name == "vllm"


def test_a_file_of_prices_is_read(tmp_path: Path) -> None:
    """In the form of the shipped files; the last file wins."""
    path = tmp_path / "prices.toml"
    path.write_text(
        'seen = 2026-12-01\n[price.anthropic]\n"claude-opus-5" = { input = 1.0, output = 2.0 }\n'
        '[price.openai]\n"our-model" = { input = 3.0, read = 0.1, write = { "30m" = 4.0 } }\n'
        '[[factor]]\nprovider = "openai"\nkind = "tier"\nname = "flex"\ninput = 0.4\n'
        '[alias]\n"prod" = "our-model"\n'
    )
    last = {"price": {"anthropic": {"claude-opus-5": {"input": 9.0}}}}
    book = load_book(overrides=[path, last])
    assert listed("anthropic", "claude-opus-5", book) == (9.0, None)
    assert listed("openai", "prod", book) == (3.0, None)
    price = book.price("openai", "our-model")
    assert price is not None
    flex = price.at(tier="flex")
    assert flex is not None
    assert flex.input_usd_per_mtok == pytest.approx(1.2)
    assert price.paid_rate(written=True, ttl="30m") == 4.0


def test_a_host_of_ones_own_is_added_to_a_provider() -> None:
    """A gateway's host is told as the provider behind it, and the provider's own still are."""
    book = load_book(
        overrides=[{"provider": {"name": "anthropic", "hosts": ["llm.acme.internal"]}}]
    )
    identity = book.identities["anthropic"]
    assert identity.is_host("llm.acme.internal")
    assert identity.is_host("api.anthropic.com")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"rul": []}, "unknown key 'rul' from override 1; did you mean 'rule'?"),
        (
            {"rule": [{"name": "anthropic", "minimun": 5}]},
            r"unknown key 'minimun' from override 1, rule 1 \(anthropic\); did you mean 'minimum'",
        ),
        ({"rule": [{"minimum": 5}]}, "name is missing from override 1, rule 1; add it"),
        (
            {"rule": [{"name": "anthropic", "minimum": {"low": 5, "high": 1, "likely": 2}}]},
            "is no figure; give value, or low <= likely <= high",
        ),
        (
            {"rule": [{"name": "anthropic", "minimum": True}]},
            "value in override 1, rule 1 .anthropic., minimum is true; give a whole number",
        ),
        (
            {"rule": [{"name": "anthropic", "look_back": 0}]},
            "look_back in override 1, rule 1 .anthropic. is no count from 1 on",
        ),
        (
            {"rule": [{"name": "anthropic", "order": ["tools"]}]},
            "order in .* is not each of tools, system, messages once; list all three",
        ),
        ({"rule": [{"name": "anthropic", "kind": "magic"}]}, "unknown kind 'magic'"),
        (
            {"rule": [{"name": "x", "like": "antropic"}]},
            "unknown rule 'antropic' from like in override 1, rule 1 .x.; did you mean 'anthropic'",
        ),
        (
            {"rule": [{"name": "a", "like": "b"}, {"name": "b", "like": "a"}]},
            "leads back to '[ab]'; break the ring",
        ),
        ({"rule": [{"name": "x"}]}, "provider is missing from override 1, rule 1 .x.; add it"),
        (
            {"rule": [{"name": "anthropic", "explicit": "nope"}]},
            "unknown explicit rule 'nope' from",
        ),
        (
            {"rule": [{"name": "anthropic", "src": ["paper"]}]},
            "src in .* names 'paper', which is no .source.",
        ),
        (
            {"rule": [{"name": "anthropic", "key": [{"name": "x", "pointers": ["x"]}]}]},
            "pointers in .* are no JSON pointers; give such as /model",
        ),
        (
            {"rule": [{"name": "anthropic", "ttl": [{"name": "5m"}]}]},
            "has no time; give s, or low_s and what high_s there is, in seconds",
        ),
        (
            {"rule": [{"name": "anthropic", "write_factor": {}}]},
            "write_factor in .* is empty; give a factor by TTL name",
        ),
        (
            {"rule": [{"name": "anthropic", "model": [{"minimum": 1}]}]},
            "models is missing from .*; list names or patterns",
        ),
        (
            {"price": {"antropic": {"x": {"input": 1.0}}}},
            "unknown provider 'antropic' from override 1; did you mean 'anthropic'",
        ),
        (
            {"price": {"anthropic": {"x": {"output": 1.0}}}},
            "input is missing from override 1, price, anthropic, x; give USD per million tokens",
        ),
        (
            {"price": {"anthropic": {"x": {"input": 1.0, "reads": 2}}}},
            "unknown key 'reads' from override 1, price, anthropic, x; did you mean 'read'",
        ),
        (
            {"price": {"anthropic": {"x": {"input": -1}}}},
            "input in override 1, price, anthropic, x is the whole number -1; give a number from 0",
        ),
        (
            {"factor": [{"provider": "anthropic", "kind": "tier", "input": 1}]},
            "says too little or too much",
        ),
        ({"factor": [{"provider": "anthropic"}]}, "kind is missing from"),
        ({"seen": "yesterday"}, "seen in override 1 is the text 'yesterday'; give an ISO date"),
        ({"source": {"A": {"text": "x"}}}, "seen is missing from override 1, source, A"),
        ({"alias": {"a": 5}}, "a in override 1, alias is the whole number 5; give a text"),
        ({"provider": {"hosts": []}}, "name is missing from override 1, provider; add it"),
    ],
)
def test_what_is_wrong_in_an_override_is_told(override: dict[str, Any], message: str) -> None:
    """Every mistake is an error that names the file and the key."""
    with pytest.raises(UsageError, match=message):
        load_book(overrides=[override])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"rule = [", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        (b"a = " + b"[" * 5000, "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, content: bytes, message: str) -> None:
    """With its name."""
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=f"mine.toml {message}"):
        load_book(overrides=[path])
    with pytest.raises(UsageError, match=r"cannot read .*absent.toml: FileNotFoundError"):
        load_book(overrides=[tmp_path / "absent.toml"])
    with pytest.raises(UsageError, match="cannot read"):
        load_book(overrides=[tmp_path])


def test_old_figures_are_warned_about() -> None:
    """Sixty days after they were checked, all of one date in one sentence."""
    assert BOOK.staleness(date(2027, 1, 29)) == ()
    (sentence,) = BOOK.staleness(date(2027, 1, 30))
    assert sentence == (
        "rules/anthropic.toml and 29 more files had their figures checked on 2026-11-30, "
        "61 days ago; prices and rules may have changed"
    )


def test_an_old_file_of_the_users_is_warned_about_by_name() -> None:
    """It has a sentence of its own."""
    book = load_book(overrides=[{"seen": "2026-01-01"}])
    (sentence,) = book.staleness(date(2026, 11, 30))
    assert sentence == (
        "override 1 had its figures checked on 2026-01-01, 333 days ago; "
        "prices and rules may have changed"
    )
