"""Model names, taken apart by stated steps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.provider.names import geography, model_names


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("claude-opus-5", "claude-opus-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("anthropic/claude-opus-5", "claude-opus-5"),
        ("openrouter/anthropic/claude-opus-4.5", "claude-opus-4-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("bedrock/us-east-1/anthropic.claude-opus-5", "claude-opus-5"),
        ("bedrock/converse/us.amazon.nova-pro-v1:0", "nova-pro"),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5",
            "claude-opus-5",
        ),
        ("vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("GPT-5.5", "gpt-5.5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("deepseek/deepseek-v3", "deepseek-v3"),
        ("gpt-5-mini", "gpt-5-mini"),
        ("grok-code-fast-1-0825", "grok-code-fast-1-0825"),
    ],
)
def test_the_bare_name_has_no_path_region_vendor_or_date(name: str, bare: str) -> None:
    """All that is known to be no part of the model is taken off, and nothing else."""
    assert model_names(name)[-1] == bare


def test_all_stages_are_kept_in_order() -> None:
    """The fullest name comes first, so that a list may name any stage."""
    assert model_names("us.anthropic.claude-haiku-4-5-20251001-v1:0") == (
        "us.anthropic.claude-haiku-4-5-20251001-v1:0",
        "anthropic.claude-haiku-4-5-20251001-v1:0",
        "anthropic.claude-haiku-4-5-20251001",
        "anthropic.claude-haiku-4-5",
        "claude-haiku-4-5-20251001-v1:0",
        "claude-haiku-4-5-20251001",
        "claude-haiku-4-5",
    )


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("us.anthropic.claude-opus-5", "us"),
        ("bedrock/eu.anthropic.claude-opus-5", "eu"),
        ("global.anthropic.claude-opus-5", "global"),
        ("anthropic.claude-opus-5", None),
        ("gpt-5.5", None),
        ("us.x", None),
    ],
)
def test_a_geography_stands_before_the_vendor(name: str, place: str | None) -> None:
    """Only the known geographies of inference profiles count."""
    assert geography(name) == place


def test_what_cannot_be_a_name_has_no_stages() -> None:
    """Empty and endless names are none."""
    assert model_names("  ") == ()
    assert model_names("x" * 301) == ()


@settings(max_examples=100)
@given(st.text(max_size=60))
def test_any_text_is_taken_apart_without_error(name: str) -> None:
    """Stages are not empty, are bounded, and do not repeat."""
    stages = model_names(name)
    assert len(stages) == len(set(stages)) < 20
    assert all(stages)
