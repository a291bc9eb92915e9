"""Usage as traces and client libraries pass it on."""

from typing import Any

import pytest

from stemcache.provider.usage import Usage
from stemcache.provider.usage_read import read_usage
from stemcache.wire.api import Api

WHOLE = Usage(prompt_tokens=24100, read_tokens=20000, written_tokens=4000, output_tokens=50)
CASES: dict[str, tuple[str | None, dict[str, Any], Usage]] = {
    "langchain": (
        "anthropic",
        {
            "input_tokens": 24100,
            "output_tokens": 50,
            "total_tokens": 24150,
            "input_token_details": {"cache_read": 20000, "cache_creation": 4000},
        },
        WHOLE,
    ),
    "langchain with lifetimes": (
        "anthropic",
        {
            "input_tokens": 24100,
            "output_tokens": 50,
            "total_tokens": 24150,
            "input_token_details": {
                "cache_read": 20000,
                "cache_creation": 0,
                "ephemeral_5m_input_tokens": 4000,
                "ephemeral_1h_input_tokens": 0,
            },
        },
        Usage(
            prompt_tokens=24100,
            read_tokens=20000,
            written_tokens=4000,
            written_by_ttl=(("5m", 4000),),
            output_tokens=50,
        ),
    ),
    "ai sdk 5, openai": (
        "openai",
        {
            "inputTokens": 24100,
            "outputTokens": 50,
            "totalTokens": 24150,
            "cachedInputTokens": 20000,
        },
        Usage(prompt_tokens=24100, read_tokens=20000, written_tokens=0, output_tokens=50),
    ),
    "ai sdk 5, anthropic, less input than was read": (
        "anthropic",
        {"inputTokens": 100, "outputTokens": 50, "totalTokens": 150, "cachedInputTokens": 20000},
        Usage(prompt_tokens=20100, read_tokens=20000, written_tokens=None, output_tokens=50),
    ),
    "ai sdk 6": (
        "anthropic",
        {
            "inputTokens": 24100,
            "inputTokenDetails": {
                "noCacheTokens": 100,
                "cacheReadTokens": 20000,
                "cacheWriteTokens": 4000,
            },
            "outputTokens": 50,
            "totalTokens": 24150,
        },
        WHOLE,
    ),
    "ai sdk 6, as providers give it": (
        "anthropic",
        {
            "inputTokens": {"total": 24100, "noCache": 100, "cacheRead": 20000, "cacheWrite": 4000},
            "outputTokens": {"total": 50, "text": 40, "reasoning": 10},
        },
        WHOLE,
    ),
    "ai sdk 6, writes told by the rest": (
        "openai",
        {
            "inputTokens": 24100,
            "inputTokenDetails": {"noCacheTokens": 4100, "cacheReadTokens": 20000},
            "outputTokens": 50,
        },
        Usage(prompt_tokens=24100, read_tokens=20000, written_tokens=0, output_tokens=50),
    ),
    "langfuse, shares apart": (
        "anthropic",
        {
            "input": 100,
            "cache_read_input_tokens": 20000,
            "cache_creation_input_tokens": 4000,
            "output": 50,
            "total": 24150,
        },
        WHOLE,
    ),
    "langfuse, included after all": (
        "anthropic",
        {
            "input": 24100,
            "cache_read_input_tokens": 20000,
            "cache_creation_input_tokens": 4000,
            "output": 50,
            "total": 24150,
        },
        WHOLE,
    ),
    "langfuse, openai": (
        "openai",
        {"input": 4000, "input_cached_tokens": 20000, "input_audio_tokens": 100, "output": 50},
        Usage(prompt_tokens=24100, read_tokens=20000, written_tokens=0, output_tokens=50),
    ),
    "opentelemetry": (
        None,
        {
            "gen_ai.usage.input_tokens": 24100,
            "gen_ai.usage.output_tokens": "50",
            "gen_ai.usage.cache_read.input_tokens": {"intValue": "20000"},
            "gen_ai.usage.cache_creation.input_tokens": 4000,
        },
        WHOLE,
    ),
    "opentelemetry, older names, left out": (
        "anthropic",
        {
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 50,
            "gen_ai.usage.cache_read_input_tokens": 20000,
            "gen_ai.usage.cache_creation_input_tokens": 4000,
        },
        WHOLE,
    ),
    "openinference": (
        None,
        {
            "llm.token_count.prompt": 24100,
            "llm.token_count.completion": 50,
            "llm.token_count.total": 24150,
            "llm.token_count.prompt_details.cache_read": 20000,
            "llm.token_count.prompt_details.cache_write": 4000,
        },
        WHOLE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_copies_of_usage_are_read(name: str) -> None:
    """What a library makes of a vendor's usage gives the vendor's tokens again."""
    provider, reported, expected = CASES[name]
    assert read_usage(reported, api=None, provider=provider) == expected


def test_converse_and_the_ai_sdk_share_names_and_are_told_apart() -> None:
    """The API decides for camel case that both use."""
    both = {"inputTokens": 100, "outputTokens": 50, "totalTokens": 150}
    converse = read_usage(both, api=Api.CONVERSE, provider="bedrock")
    library = read_usage(both, api=None, provider="openai")
    assert converse.prompt_tokens is None, "what was read is left out and not told"
    assert library.prompt_tokens == 100


def test_a_wrapped_usage_is_found() -> None:
    """A log may keep the object that holds the usage."""
    found = read_usage(
        {"id": "x", "usage": {"prompt_tokens": 7, "completion_tokens": 1}},
        api=Api.CHAT,
        provider=None,
    )
    assert found.prompt_tokens == 7
