"""The rules that are shipped: figures, sources, and what they say of models and parameters."""

import math
import tomllib
from datetime import date
from importlib import resources
from typing import Any, get_args

import pytest

from stemcache.provider.book import Book, load_book
from stemcache.provider.rule import Kind, Rule
from stemcache.wire.section import Section

PROVIDERS = {
    "anthropic", "azure", "bedrock", "cerebras", "deepseek", "fireworks", "gemini", "groq",
    "minimax", "mistral", "moonshot", "openai", "openrouter", "qwen", "sglang", "together",
    "vertex", "vllm", "xai", "zhipu",
}  # fmt: skip
TOOLS, SYSTEM, MESSAGES = Section.TOOLS, Section.SYSTEM, Section.MESSAGES
BOOK = load_book()
NAMES = sorted(BOOK.rules)


@pytest.fixture
def book() -> Book:
    """The shipped book."""
    return BOOK


def tables(folder: str) -> dict[str, dict[str, Any]]:
    """The shipped files as decoded TOML."""
    root = resources.files("stemcache.provider").joinpath(folder)
    return {
        entry.name: tomllib.loads(entry.read_text())
        for entry in root.iterdir()
        if entry.name.endswith(".toml")
    }


def keys(rule: Rule) -> dict[str, Section]:
    """Section from which each parameter counts."""
    return {key.name: key.section for key in rule.keys}


def test_every_provider_has_a_file() -> None:
    """Twenty providers, one file each, named as the provider."""
    assert {name.removesuffix(".toml") for name in tables("rules")} == PROVIDERS
    assert set(BOOK.identities) == PROVIDERS
    for name, table in tables("rules").items():
        assert table["provider"]["name"] == name.removesuffix(".toml")


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_is_whole_and_sourced(name: str) -> None:
    """Each has a kind, an order of all sections, sources with dates, and sane figures."""
    rule = BOOK.rules[name]
    assert rule.name == name
    assert rule.kind in get_args(Kind)
    assert sorted(rule.order) == sorted(Section)
    assert rule.sources
    assert rule.minimum_tokens.sources
    for source in rule.sources:
        assert len(source.text) > 10
        assert date(2026, 1, 1) <= date.fromisoformat(source.seen) <= date(2026, 12, 31)
    assert rule.write_factor
    assert all(1.0 <= factor <= 2.5 for factor in rule.write_factor.values())
    assert 0.0 <= rule.read_factor <= 1.0
    assert {ttl.name for ttl in rule.ttls} >= set(rule.write_factor) - {""}
    assert all(0 <= ttl.low_s <= ttl.high_s for ttl in rule.ttls)


@pytest.mark.parametrize("name", NAMES)
def test_contested_facts_are_noted(name: str) -> None:
    """A figure that sources differ on comes with a sentence that says so."""
    rule = BOOK.rules[name]
    if rule.minimum_tokens.contested:
        assert rule.notes
    assert all(note.endswith(".") for note in rule.notes)


@pytest.mark.parametrize("name", NAMES)
def test_pointers_are_of_one_or_two_levels(name: str) -> None:
    """Deeper parameters are not taken from requests, so a key there would never match."""
    for key in BOOK.rules[name].keys:
        assert all(1 <= pointer.count("/") <= 2 for pointer in key.pointers), key.name


def test_every_figure_in_the_files_names_a_source() -> None:
    """Wherever a figure stands in a rule, `src` stands beside it."""

    def check(where: str, value: object) -> None:
        if isinstance(value, dict):
            figures = [v for k, v in value.items() if isinstance(v, int | float) and k != "seen"]
            if any(not isinstance(figure, bool) for figure in figures):
                assert value.get("src"), where
            for key, inner in value.items():
                if key not in {"equal_to_absent", "src"}:
                    check(f"{where} {key}", inner)
        elif isinstance(value, list):
            for inner in value:
                check(where, inner)

    for name, table in tables("rules").items():
        check(name, table["rule"])


@pytest.mark.parametrize(
    ("rule", "model", "low", "likely", "high"),
    [
        ("anthropic", "claude-opus-5", 512, 512, 512),
        ("anthropic", "claude-opus-5-5", 512, 512, 512),
        ("anthropic", "claude-sonnet-5-5", 512, 512, 512),
        ("anthropic", "claude-haiku-5-5", 512, 512, 512),
        ("anthropic", "claude-fable-5-1", 512, 512, 512),
        ("anthropic", "claude-mythos-5", 512, 512, 512),
        ("anthropic", "claude-opus-4-8", 1024, 1024, 1024),
        ("anthropic", "claude-sonnet-5", 1024, 1024, 1024),
        ("anthropic", "claude-sonnet-4-6", 1024, 1024, 1024),
        ("anthropic", "claude-sonnet-4-5-20250929", 1024, 1024, 1024),
        ("anthropic", "claude-opus-4-1-20250805", 1024, 1024, 1024),
        ("anthropic", "claude-opus-4-20250514", 1024, 1024, 1024),
        ("anthropic", "claude-opus-4-7", 2048, 2048, 2048),
        ("anthropic", "claude-mythos-preview", 2048, 2048, 2048),
        ("anthropic", "claude-3-5-haiku-20241022", 2048, 2048, 2048),
        ("anthropic", "claude-opus-4-6", 4096, 4096, 4096),
        ("anthropic", "claude-opus-4-5-20251101", 4096, 4096, 4096),
        ("anthropic", "claude-haiku-4-5", 4096, 4096, 4096),
        ("anthropic", "claude-of-tomorrow-9", 512, 1024, 4096),
        ("bedrock", "us.anthropic.claude-opus-4-7", 2048, 4096, 4096),
        ("bedrock", "anthropic.claude-sonnet-4-6", 1024, 1024, 2048),
        ("bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", 4096, 4096, 4096),
        ("vertex-anthropic", "claude-haiku-4-5@20251001", 4096, 4096, 4096),
        ("azure-anthropic", "claude-opus-5", 512, 512, 512),
        ("openrouter-anthropic", "anthropic/claude-opus-4.6", 4096, 4096, 4096),
        ("openai-5.6", "gpt-6-sol", 1024, 1024, 1024),
        ("openai-pre-5.6", "gpt-5.5", 1024, 1024, 2048),
        ("gemini", "gemini-2.5-flash", 1024, 2048, 2048),
        ("gemini", "gemini-2.5-pro", 2048, 2048, 4096),
        ("gemini", "gemini-3.8-flash", 4096, 4096, 4096),
        ("gemini", "gemini-4-argon", 4096, 4096, 4096),
        ("gemini-explicit", "gemini-4-argon", 4096, 4096, 4096),
        ("qwen", "qwen3.7-max", 256, 1024, 1024),
        ("qwen-explicit", "qwen3.7-max", 1024, 1024, 1024),
        ("minimax", "MiniMax-M3", 512, 512, 512),
        ("vllm", "anything", 16, 16, 16),
    ],
)
def test_the_minimum_of_a_model(
    book: Book, rule: str, model: str, low: int, likely: int, high: int
) -> None:
    """Each model has the minimum that its provider documents, and a range where sources differ."""
    found = book.rule(rule, model).minimum_tokens
    assert (found.low, found.likely, found.high) == (low, likely, high)


@pytest.mark.parametrize(
    ("rule", "model", "read"),
    [
        ("anthropic", "claude-opus-5", 0.1),
        ("anthropic", "claude-opus-5-5", 0.05),
        ("anthropic", "claude-fable-5-1", 0.025),
        ("openai-5.6", "gpt-5.6", 0.1),
        ("openai-5.6", "gpt-6.1-sol", 0.05),
        ("openai-pre-5.6", "gpt-4o-2024-08-06", 0.5),
        ("openai-pre-5.6", "gpt-4.1-mini", 0.25),
        ("openai-pre-5.6", "o3-mini", 0.5),
        ("openai-pre-5.6", "o3-2025-04-16", 0.25),
        ("openai-pre-5.6", "gpt-5.5", 0.1),
        ("gemini", "gemini-4-argon", 0.05),
        ("deepseek", "deepseek-v4-pro", 0.033),
        ("xai", "grok-4.7", 0.25),
        ("xai", "grok-4.3-latest", 0.16),
        ("qwen", "qwen3.8-max", 0.2),
        ("qwen-explicit", "qwen3.8-max", 0.1),
        ("minimax", "MiniMax-M2.5", 0.1),
        ("minimax-explicit", "MiniMax-M2.7", 0.2),
        ("groq", "x", 0.5),
        ("moonshot", "kimi-k3", 0.1),
    ],
)
def test_the_price_of_reads_of_a_model(book: Book, rule: str, model: str, read: float) -> None:
    """Families have factors of their own."""
    assert book.rule(rule, model).read_factor == read


def test_anthropic_in_full(book: Book) -> None:
    """Markers, four at most, twenty positions with runs as one, two lifetimes, the longer first."""
    rule = book.rule("anthropic")
    assert (rule.kind, rule.order) == ("markers", (TOOLS, SYSTEM, MESSAGES))
    assert (rule.most_markers, rule.look_back, rule.runs_collapse) == (4, 20, True)
    assert (rule.ttl_order, rule.refreshed_by_reads) == (True, True)
    assert [(ttl.name, ttl.low_s, ttl.high_s) for ttl in rule.ttls] == [
        ("5m", 300, 300),
        ("1h", 3600, 3600),
    ]
    assert dict(rule.write_factor) == {"5m": 1.25, "1h": 2.0}
    assert rule.readable_after == "answer-begins"
    assert rule.isolation == "workspace"
    assert keys(rule) == {
        "model": TOOLS,
        "speed": SYSTEM,
        "tool_choice": MESSAGES,
        "thinking": MESSAGES,
        "effort": MESSAGES,
    }


def test_bedrock_differs_from_anthropic(book: Book) -> None:
    """Runs count block by block, and thinking and effort lose everything."""
    rule = book.rule("bedrock")
    assert (rule.look_back, rule.runs_collapse, rule.isolation) == (22, False, "account")
    assert keys(rule) == {
        "model": TOOLS,
        "thinking": TOOLS,
        "effort": TOOLS,
        "output_format": SYSTEM,
        "tool_choice": MESSAGES,
    }


def test_openai_from_5_6_keys_everything(book: Book) -> None:
    """Settings stand before all content there."""
    rule = book.rule("openai-5.6")
    assert (rule.kind, rule.most_markers) == ("breakpoints", 4)
    assert set(keys(rule).values()) == {TOOLS}
    assert set(keys(rule)) == {
        "model",
        "service_tier",
        "parallel_tool_calls",
        "response_format",
        "effort",
        "verbosity",
    }
    assert dict(rule.write_factor) == {"30m": 1.25, "12h": 2.5}
    assert [(ttl.name, ttl.low_s, ttl.high_s) for ttl in rule.ttls] == [
        ("30m", 1800, math.inf),
        ("12h", 43200, math.inf),
    ], "lifetimes are minimums there"


def test_openai_before_5_6_keys_little(book: Book) -> None:
    """The model, and a schema, which is rendered before the system message; no tool_choice."""
    rule = book.rule("openai-pre-5.6")
    assert (rule.kind, rule.unit_tokens) == ("units", 128)
    assert keys(rule) == {"model": TOOLS, "response_format": SYSTEM}
    assert dict(rule.write_factor) == {"": 1.0}


@pytest.mark.parametrize(
    ("rule", "key", "value"),
    [
        ("anthropic", "tool_choice", {"type": "auto"}),
        ("anthropic", "thinking", {"type": "disabled"}),
        ("anthropic", "effort", "high"),
        ("bedrock", "tool_choice", {"auto": {}}),
        ("openai-5.6", "service_tier", "auto"),
        ("openai-5.6", "parallel_tool_calls", True),
        ("openai-5.6", "response_format", {"type": "text"}),
    ],
)
def test_defaults_say_what_absence_says(book: Book, rule: str, key: str, value: object) -> None:
    """Stating a default is no change."""
    found = next(one for one in book.rule(rule).keys if one.name == key)
    assert value in found.equal_to_absent


def test_families_inherit_with_their_own_provider(book: Book) -> None:
    """Azure and Vertex are as the vendor, isolated and priced as themselves."""
    azure = book.rule("azure-openai-5.6")
    assert (azure.kind, azure.provider, azure.isolation) == ("breakpoints", "azure", "subscription")
    vertex = book.rule("vertex-anthropic")
    assert (vertex.kind, vertex.provider, vertex.isolation) == ("markers", "vertex", "organisation")
    explicit = book.rule("gemini-explicit")
    assert (explicit.kind, explicit.guaranteed, explicit.refreshed_by_reads) == (
        "objects",
        True,
        False,
    )


@pytest.mark.parametrize(
    ("rule", "order"),
    [
        ("minimax", (SYSTEM, TOOLS, MESSAGES)),
        ("minimax-explicit", (TOOLS, SYSTEM, MESSAGES)),
        ("vllm", (SYSTEM, TOOLS, MESSAGES)),
        ("deepseek", (TOOLS, SYSTEM, MESSAGES)),
    ],
)
def test_keys_count_from_the_first_section_of_their_rule(
    book: Book, rule: str, order: tuple[Section, ...]
) -> None:
    """The model keys everything, whichever section is first."""
    found = book.rule(rule)
    assert found.order == order
    assert keys(found)["model"] == order[0]


def test_engines_keep_answers_and_promise_nothing(book: Book) -> None:
    """Blocks of 16 for vLLM, tokens for SGLang; both salted and evicted by memory."""
    for name, unit in (("vllm", 16), ("sglang", 1)):
        rule = book.rule(name)
        assert (rule.unit_tokens, rule.keeps_answer, rule.guaranteed) == (unit, True, False)
        assert rule.ttls == ()
        assert "cache_salt" in keys(rule)


def test_routing_fields_are_headers_or_pointers(book: Book) -> None:
    """What chooses a server stands in a header or in the body."""
    assert book.rule("xai").routing_fields == ("header:x-grok-conv-id", "/prompt_cache_key")
    for rule in book.rules.values():
        assert all(field.startswith(("header:", "/")) for field in rule.routing_fields)
