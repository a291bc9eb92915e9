"""Usage as providers document it, one literal answer each."""

from typing import Any

import pytest

from stemcache.provider.book import load_book
from stemcache.provider.usage import Usage
from stemcache.provider.usage_read import read_usage
from stemcache.wire.api import Api

CASES: dict[str, tuple[Api | None, str | None, dict[str, Any], Usage]] = {
    "anthropic": (
        Api.MESSAGES,
        "anthropic",
        {
            "input_tokens": 100,
            "cache_creation_input_tokens": 4000,
            "cache_read_input_tokens": 20000,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 3000,
                "ephemeral_1h_input_tokens": 1000,
            },
            "output_tokens": 503,
            "service_tier": "standard",
        },
        Usage(
            prompt_tokens=24100,
            read_tokens=20000,
            written_tokens=4000,
            written_by_ttl=(("5m", 3000), ("1h", 1000)),
            output_tokens=503,
        ),
    ),
    "anthropic with compaction": (
        Api.MESSAGES,
        "anthropic",
        {
            "input_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 500,
            "output_tokens": 20,
            "iterations": [
                {
                    "type": "compaction",
                    "input_tokens": 9000,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 1000,
                    "output_tokens": 300,
                },
                {
                    "type": "message",
                    "input_tokens": 10,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 500,
                    "output_tokens": 20,
                },
            ],
        },
        Usage(prompt_tokens=10510, read_tokens=1500, written_tokens=0, output_tokens=320),
    ),
    "openai chat before 5.6": (
        Api.CHAT,
        "openai",
        {
            "prompt_tokens": 2006,
            "completion_tokens": 300,
            "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        Usage(prompt_tokens=2006, read_tokens=1920, written_tokens=0, output_tokens=300),
    ),
    "openai chat from 5.6": (
        Api.CHAT,
        "openai",
        {
            "prompt_tokens": 24100,
            "completion_tokens": 300,
            "total_tokens": 24400,
            "prompt_tokens_details": {"cached_tokens": 20000, "cache_write_tokens": 4000},
        },
        Usage(prompt_tokens=24100, read_tokens=20000, written_tokens=4000, output_tokens=300),
    ),
    "openai responses": (
        Api.RESPONSES,
        "openai",
        {
            "input_tokens": 24100,
            "input_tokens_details": {
                "cached_tokens": 20000,
                "cache_write_tokens": 4000,
                "cache_write_tokens_details": {"ttl_30m_tokens": 1000, "ttl_12h_tokens": 3000},
            },
            "output_tokens": 300,
            "output_tokens_details": {"reasoning_tokens": 256},
            "total_tokens": 24400,
        },
        Usage(
            prompt_tokens=24100,
            read_tokens=20000,
            written_tokens=4000,
            written_by_ttl=(("30m", 1000), ("12h", 3000)),
            output_tokens=300,
        ),
    ),
    "bedrock converse": (
        Api.CONVERSE,
        "bedrock",
        {
            "inputTokens": 9,
            "outputTokens": 234,
            "totalTokens": 3347,
            "cacheReadInputTokens": 1552,
            "cacheWriteInputTokens": 1552,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 1552}],
        },
        Usage(
            prompt_tokens=3113,
            read_tokens=1552,
            written_tokens=1552,
            written_by_ttl=(("1h", 1552),),
            output_tokens=234,
        ),
    ),
    "gemini hit": (
        Api.GENERATE,
        "gemini",
        {
            "promptTokenCount": 5000,
            "cachedContentTokenCount": 4096,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 80,
            "toolUsePromptTokenCount": 300,
            "totalTokenCount": 5400,
            "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 4096}],
        },
        Usage(prompt_tokens=5300, read_tokens=4096, written_tokens=0, output_tokens=100),
    ),
    "gemini miss, zero left out": (
        Api.GENERATE,
        "gemini",
        {"promptTokenCount": 5000, "candidatesTokenCount": 20, "totalTokenCount": 5020},
        Usage(prompt_tokens=5000, read_tokens=0, written_tokens=0, output_tokens=20),
    ),
    "gemini sdk": (
        Api.GENERATE,
        "gemini",
        {
            "prompt_token_count": 5000,
            "cached_content_token_count": None,
            "candidates_token_count": 20,
            "total_token_count": 5020,
        },
        Usage(prompt_tokens=5000, read_tokens=0, written_tokens=0, output_tokens=20),
    ),
    "gemini interactions": (
        None,
        "gemini",
        {
            "total_input_tokens": 900,
            "total_cached_tokens": 512,
            "total_output_tokens": 10,
            "total_thought_tokens": 5,
            "total_tokens": 915,
        },
        Usage(prompt_tokens=900, read_tokens=512, written_tokens=0, output_tokens=15),
    ),
    "deepseek": (
        Api.CHAT,
        "deepseek",
        {
            "prompt_tokens": 1000,
            "completion_tokens": 10,
            "total_tokens": 1010,
            "prompt_cache_hit_tokens": 832,
            "prompt_cache_miss_tokens": 168,
        },
        Usage(prompt_tokens=1000, read_tokens=832, written_tokens=0, output_tokens=10),
    ),
    "qwen explicit": (
        Api.CHAT,
        "qwen",
        {
            "prompt_tokens": 3019,
            "completion_tokens": 104,
            "total_tokens": 3123,
            "prompt_tokens_details": {
                "cached_tokens": 1000,
                "cache_creation_input_tokens": 2000,
                "cache_creation": {"ephemeral_5m_input_tokens": 2000},
                "cache_type": "ephemeral",
            },
        },
        Usage(
            prompt_tokens=3019,
            read_tokens=1000,
            written_tokens=2000,
            written_by_ttl=(("5m", 2000),),
            output_tokens=104,
        ),
    ),
    "xai, reasoning counted apart": (
        Api.CHAT,
        "xai",
        {
            "prompt_tokens": 199,
            "completion_tokens": 1,
            "total_tokens": 360,
            "prompt_tokens_details": {"text_tokens": 199, "cached_tokens": 128},
            "completion_tokens_details": {"reasoning_tokens": 160},
            "num_sources_used": 0,
        },
        Usage(prompt_tokens=199, read_tokens=128, written_tokens=0, output_tokens=161),
    ),
    "groq": (
        Api.CHAT,
        "groq",
        {
            "prompt_tokens": 4641,
            "completion_tokens": 1817,
            "total_tokens": 6458,
            "x_groq": {"usage": {"dram_cached_tokens": 4096, "sram_cached_tokens": 512}},
        },
        Usage(prompt_tokens=4641, read_tokens=4608, written_tokens=0, output_tokens=1817),
    ),
    "moonshot": (
        Api.CHAT,
        "moonshot",
        {
            "prompt_tokens": 800,
            "completion_tokens": 5,
            "total_tokens": 805,
            "cached_tokens": 768,
        },
        Usage(prompt_tokens=800, read_tokens=768, output_tokens=5),
    ),
    "openrouter": (
        Api.CHAT,
        "openrouter",
        {
            "prompt_tokens": 10339,
            "completion_tokens": 60,
            "total_tokens": 10399,
            "prompt_tokens_details": {"cached_tokens": 10318, "cache_write_tokens": 0},
            "cost": 0.0012,
        },
        Usage(prompt_tokens=10339, read_tokens=10318, written_tokens=0, output_tokens=60),
    ),
    "litellm, both vendors' keys at once": (
        Api.CHAT,
        "anthropic",
        {
            "prompt_tokens": 24100,
            "completion_tokens": 5,
            "total_tokens": 24105,
            "prompt_tokens_details": {"cached_tokens": 20000, "cache_creation_tokens": 4000},
            "cache_read_input_tokens": 20000,
            "cache_creation_input_tokens": 4000,
        },
        Usage(prompt_tokens=24100, read_tokens=20000, written_tokens=4000, output_tokens=5),
    ),
    "vllm without details": (
        Api.CHAT,
        "vllm",
        {
            "prompt_tokens": 64,
            "completion_tokens": 5,
            "total_tokens": 69,
            "prompt_tokens_details": None,
        },
        Usage(prompt_tokens=64, read_tokens=None, output_tokens=5),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_documented_answers_are_read(name: str) -> None:
    """The literal usage that a provider documents gives the tokens that it bills."""
    api, provider, reported, expected = CASES[name]
    assert read_usage(reported, api=api, provider=provider) == expected


@pytest.mark.parametrize(
    ("usage", "read", "written", "prompt"),
    [
        ({"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}, 0, 0, 5),
        ({"cache_read_input_tokens": None, "cache_creation_input_tokens": 7}, 0, 7, 12),
        ({"cache_read_input_tokens": 7, "cache_creation_input_tokens": None}, 7, 0, 12),
        ({"cache_read_input_tokens": None, "cache_creation_input_tokens": None}, None, None, None),
        ({"cache_read_input_tokens": 7}, 7, None, None),
        ({"cache_creation_input_tokens": 7}, None, 7, None),
        ({}, None, None, None),
    ],
)
def test_anthropic_absent_null_and_zero_are_told_apart(
    usage: dict[str, Any], read: int | None, written: int | None, prompt: int | None
) -> None:
    """Null beside a figure is none; a field that is absent leaves the prompt unknown."""
    found = read_usage(
        {"input_tokens": 5, "output_tokens": 1, **usage}, api=Api.MESSAGES, provider="anthropic"
    )
    assert (found.read_tokens, found.written_tokens, found.prompt_tokens) == (read, written, prompt)
    assert found.odd == ()


def test_written_tokens_are_the_sum_of_lifetimes_where_only_those_are_told() -> None:
    """A usage with `cache_creation` alone has its written tokens."""
    found = read_usage(
        {
            "input_tokens": 5,
            "output_tokens": 1,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        },
        api=Api.MESSAGES,
        provider="anthropic",
    )
    assert found.written_tokens == 30
    assert found.prompt_tokens == 35


def test_openai_responses_without_details_has_a_prompt_but_no_reads() -> None:
    """What includes reads is known without knowing them."""
    found = read_usage(
        {"input_tokens": 50, "output_tokens": 1, "total_tokens": 51},
        api=Api.RESPONSES,
        provider="openai",
    )
    assert found.prompt_tokens == 50
    assert found.read_tokens is None


def test_a_rule_says_whether_absent_writes_mean_none() -> None:
    """Without a figure of writes, they are 0 under a rule without surcharge and unknown else."""
    book = load_book()
    reported = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}

    def written(rule: str) -> int | None:
        found = read_usage(reported, api=Api.CHAT, provider="openai", rule=book.rule(rule))
        return found.written_tokens

    assert written("openai-pre-5.6") == 0
    assert written("openai-5.6") is None


def test_deepseek_parts_that_do_not_add_up_are_odd() -> None:
    """Hits and misses are all of the prompt, or it is said."""
    found = read_usage(
        {"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 64},
        api=Api.CHAT,
        provider="deepseek",
    )
    assert found.odd == ("prompt_cache_hit_tokens and prompt_cache_miss_tokens do not add up",)


def test_lifetimes_that_do_not_add_up_are_odd() -> None:
    """Written tokens by lifetime are all written tokens, or it is said."""
    found = read_usage(
        {
            "input_tokens": 1,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 100,
            "cache_creation": {"ephemeral_5m_input_tokens": 40},
        },
        api=Api.MESSAGES,
        provider="anthropic",
    )
    assert found.odd == ("written tokens by lifetime do not add up to their sum",)


def test_bedrock_stream_metrics_are_read() -> None:
    """The metrics that InvokeModel puts into its last event have names of their own."""
    found = read_usage(
        {
            "inputTokenCount": 9,
            "outputTokenCount": 3,
            "cacheReadInputTokenCount": 100,
            "cacheWriteInputTokenCount": 0,
        },
        api=Api.MESSAGES,
        provider="bedrock",
    )
    assert found == Usage(prompt_tokens=109, read_tokens=100, written_tokens=0, output_tokens=3)
