"""Which checkpoints are refused, and what limits a context."""

import pytest
import transformers

from stemcache.engine.torch.config import read_config
from stemcache.errors import ModelError


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (transformers.GPT2Config(), "model type 'gpt2' in there is not supported"),
        (transformers.MixtralConfig(), "use one of llama, mistral, qwen2, qwen3"),
        (transformers.LlamaConfig(hidden_act="gelu"), "activation 'gelu' in there"),
        (
            transformers.LlamaConfig(
                rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
            ),
            "rope type 'dynamic' in there is not supported; use one of default",
        ),
        (
            transformers.LlamaConfig(
                rope_parameters={
                    "rope_type": "default",
                    "rope_theta": 1e4,
                    "partial_rotary_factor": 0.5,
                }
            ),
            "partial rotary embedding in there",
        ),
        (
            transformers.LlamaConfig(num_attention_heads=8, num_key_value_heads=3),
            "8 query heads in there do not divide among 3 KV heads",
        ),
    ],
)
def test_what_is_not_computed_exactly_is_refused(
    config: transformers.PretrainedConfig, words: str
) -> None:
    """The message names the feature, where it was found and what to use instead."""
    with pytest.raises(ModelError, match=words):
        read_config(config, source="there")


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        (transformers.LlamaConfig(max_position_embeddings=700), 700),
        (transformers.MistralConfig(max_position_embeddings=700, sliding_window=300), 300),
        (transformers.MistralConfig(max_position_embeddings=700, sliding_window=None), 700),
        (transformers.Qwen2Config(max_position_embeddings=700, sliding_window=300), 700),
        (
            transformers.Qwen2Config(
                max_position_embeddings=700,
                use_sliding_window=True,
                sliding_window=300,
                max_window_layers=2,
            ),
            300,
        ),
    ],
)
def test_a_sliding_window_ends_the_context(
    config: transformers.PretrainedConfig, tokens: int
) -> None:
    """Up to the window attention is whole; beyond it nothing is served."""
    assert read_config(config, source="there").context_tokens == tokens
