"""Arithmetic over usage, its traps, and junk."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.provider.usage import Usage
from stemcache.provider.usage_read import read_usage
from stemcache.wire.api import Api

KEYS = [
    "input_tokens", "output_tokens", "total_tokens", "prompt_tokens", "completion_tokens",
    "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "iterations",
    "prompt_tokens_details", "input_tokens_details", "input_token_details", "cached_tokens",
    "cache_write_tokens", "prompt_cache_hit_tokens", "prompt_cache_miss_tokens", "x_groq", "usage",
    "promptTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount", "inputTokens",
    "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "cacheDetails", "ttl",
    "inputTokenDetails", "noCacheTokens", "cacheReadTokens", "cachedInputTokens", "input", "output",
    "total", "input_cached_tokens", "gen_ai.usage.input_tokens", "llm.token_count.prompt",
    "gen_ai.usage.cache_read.input_tokens", "intValue", "type", "ephemeral_5m_input_tokens",
    "usage_metadata", "reasoning_tokens", "completion_tokens_details", "cache_read",
]  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.integers(0, 5000)
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["12", "compaction", "\ud800", "9" * 5000, "5m"])
)
JUNK = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=20,
)


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=8),
    st.sampled_from([None, *Api]),
    st.sampled_from([None, "anthropic", "openai", "gemini", "nobody"]),
)
def test_junk_never_raises_and_shares_never_exceed_the_prompt(
    reported: dict[str, Any], api: Api | None, provider: str | None
) -> None:
    """Whatever stands in the fields, tokens are counts, and read and written fit the prompt."""
    found = read_usage(reported, api=api, provider=provider)
    for tokens in (found.prompt_tokens, found.read_tokens, found.written_tokens):
        assert tokens is None or (type(tokens) is int and tokens >= 0)
    for sentence in found.odd:
        assert sentence.isascii()
        assert "9999" not in sentence


@pytest.mark.parametrize("junk", [[], "x", 7, None, True])
def test_what_is_no_object_is_no_usage(junk: Any) -> None:
    """A usage of another type gives nothing, and is not said to be odd."""
    assert read_usage(junk, api=None, provider=None) == Usage(prompt_tokens=None, read_tokens=None)


def test_an_object_without_known_fields_is_odd() -> None:
    """Something that is there and cannot be read is said."""
    found = read_usage({"tokens": 5}, api=None, provider=None)
    assert found.odd == ("the usage has no known field",)


@pytest.mark.parametrize("value", [-1, 1.5, "many", True, float("nan"), 10**30, [1]])
def test_a_figure_that_is_no_count_is_unknown(value: Any) -> None:
    """An odd value is None, named by its key and not quoted."""
    found = read_usage({"prompt_tokens": value, "completion_tokens": 2}, api=None, provider=None)
    assert found.prompt_tokens is None
    assert found.output_tokens == 2
    assert found.odd == ("prompt_tokens is no count of tokens",)


def test_anthropic_keys_beside_a_smaller_prompt_leave_reads_out() -> None:
    """A gateway that puts the uncached rest into prompt_tokens is understood by arithmetic."""
    found = read_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "cache_read_input_tokens": 20000,
            "cache_creation_input_tokens": 4000,
        },
        api=Api.CHAT,
        provider="anthropic",
    )
    assert found.prompt_tokens == 24100
    assert found.odd == ()


def test_both_vendors_prompt_figures_settle_it() -> None:
    """With input_tokens beside prompt_tokens, the sums say which of them includes reads."""
    found = read_usage(
        {
            "prompt_tokens": 24100,
            "input_tokens": 100,
            "cache_read_input_tokens": 20000,
            "cache_creation_input_tokens": 4000,
        },
        api=Api.CHAT,
        provider="anthropic",
    )
    assert found.prompt_tokens == 24100
    assert found.odd == ()


def test_the_total_shows_that_reads_were_left_out() -> None:
    """A total that counts reads beside the prompt says that the prompt has them not."""
    found = read_usage(
        {
            "prompt_tokens": 30000,
            "completion_tokens": 50,
            "total_tokens": 50050,
            "cache_read_input_tokens": 20000,
            "cache_creation_input_tokens": 0,
        },
        api=Api.CHAT,
        provider="anthropic",
    )
    assert found.prompt_tokens == 50000


def test_a_figure_that_allows_both_readings_is_said_to() -> None:
    """Where neither sums nor documentation decide, one reading is taken and named."""
    found = read_usage(
        {
            "prompt_tokens": 30000,
            "completion_tokens": 50,
            "total_tokens": 30050,
            "cache_read_input_tokens": 20000,
            "cache_creation_input_tokens": 0,
        },
        api=Api.CHAT,
        provider="anthropic",
    )
    assert found.prompt_tokens == 30000
    (sentence,) = found.odd
    assert sentence == (
        "the prompt's figure may include reads and writes or leave them out; it was taken to "
        "include them"
    )


def test_more_read_than_sent_is_odd() -> None:
    """OpenAI's own form includes reads, so a larger figure of them cannot be right."""
    found = read_usage(
        {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 500}},
        api=Api.CHAT,
        provider="openai",
    )
    assert found.prompt_tokens == 600
    assert found.odd == (
        "more was read and written than the prompt has; its figure was taken to leave them out",
    )


def test_parts_that_do_not_add_up_are_odd() -> None:
    """Stated parts that are not the whole are said."""
    found = read_usage(
        {
            "prompt_tokens": 24100,
            "input_tokens": 7,
            "cache_read_input_tokens": 20000,
            "cache_creation_input_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": 20000},
        },
        api=Api.CHAT,
        provider="anthropic",
    )
    assert found.odd == ("the parts of the prompt do not add up to its figure",)


def test_two_figures_of_reads_that_differ_are_odd() -> None:
    """The same tokens under two names are one figure, or it is said."""
    found = read_usage(
        {
            "prompt_tokens": 24100,
            "cache_read_input_tokens": 20000,
            "prompt_tokens_details": {"cached_tokens": 10000},
        },
        api=Api.CHAT,
        provider="openai",
    )
    assert found.read_tokens == 20000
    assert found.odd == ("cached_tokens and cache_read_input_tokens differ",)
